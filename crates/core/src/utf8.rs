//! Bytes to text, whatever the chunks.
//!
//! [`Decoder`] gives, chunk by chunk, exactly the text that [`String::from_utf8_lossy`] gives for the whole: one
//! U+FFFD for each maximal subpart that is not a character. Between two chunks it holds back only a prefix that can
//! still become a character, so at most three bytes, and nothing that is already known to be wrong.

use std::fmt;
use std::str;

/// Most bytes a decoder can hold back: a four-byte character without its last byte.
pub const MAX_HELD: usize = 3;

const REPLACEMENT: &str = "\u{FFFD}";

/// Where decoded text goes.
pub trait Sink {
    /// Takes the next piece of text. Pieces are whole characters; their boundaries mean nothing.
    fn text(&mut self, text: &str);
}

impl Sink for String {
    fn text(&mut self, text: &str) {
        self.push_str(text);
    }
}

/// How many bytes at the end of `bytes` are the beginning of a character that later bytes can still complete.
///
/// 0..=3. Bytes that no continuation can make valid (FF, C0, C1, F5.., ED A0, E0 80, F4 90, lone continuations) are
/// never counted.
#[must_use]
pub fn carry_len(bytes: &[u8]) -> usize {
    let longest = bytes.len().min(MAX_HELD);
    (1..=longest).find(|&len| is_open_prefix(&bytes[bytes.len() - len..])).unwrap_or(0)
}

/// Whether `bytes` is, as a whole, the beginning of one character.
fn is_open_prefix(bytes: &[u8]) -> bool {
    str::from_utf8(bytes).is_err_and(|error| error.valid_up_to() == 0 && error.error_len().is_none())
}

/// An incremental lossy UTF-8 decoder.
///
/// # Invariants
/// 1. The held bytes are empty or a prefix that can still become a character: there are at most [`MAX_HELD`].
/// 2. The text given so far, with one U+FFFD for held bytes, is the lossy decode of all bytes fed so far.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Decoder {
    held: [u8; MAX_HELD],
    held_len: usize,
}

impl Decoder {
    /// A decoder that holds nothing.
    #[must_use]
    pub const fn new() -> Self {
        Self { held: [0; MAX_HELD], held_len: 0 }
    }

    /// How many bytes are held back, 0..=3: they were fed and are not in the text yet.
    #[must_use]
    pub const fn held(&self) -> usize {
        self.held_len
    }

    /// Decodes the next `bytes` into `out`.
    pub fn feed(&mut self, bytes: &[u8], out: &mut impl Sink) {
        let mut rest = self.complete_held(bytes, out);
        while !rest.is_empty() {
            match str::from_utf8(rest) {
                Ok(text) => {
                    out.text(text);
                    break;
                }
                Err(error) => {
                    let (valid, after) = rest.split_at(error.valid_up_to());
                    if !valid.is_empty() {
                        out.text(str::from_utf8(valid).expect("invariant: valid up to here"));
                    }
                    if error.error_len().is_none() {
                        self.hold(after);
                        break;
                    }
                    rest = replace_block(after, out);
                }
            }
        }
    }

    /// Ends the stream, or a part of it that nothing can continue: a held prefix becomes one U+FFFD.
    ///
    /// The decoder is as new afterwards.
    pub fn finish(&mut self, out: &mut impl Sink) {
        if self.held_len > 0 {
            self.held_len = 0;
            out.text(REPLACEMENT);
        }
    }

    /// Continues the held prefix with the first of `bytes` and returns those it did not take.
    fn complete_held<'a>(&mut self, mut bytes: &'a [u8], out: &mut impl Sink) -> &'a [u8] {
        while self.held_len > 0 {
            let Some((&next, after)) = bytes.split_first() else { break };
            let mut candidate = [0; MAX_HELD + 1];
            candidate[..self.held_len].copy_from_slice(&self.held[..self.held_len]);
            candidate[self.held_len] = next;
            let candidate = &candidate[..=self.held_len];
            match str::from_utf8(candidate) {
                Ok(character) => {
                    out.text(character);
                    self.held_len = 0;
                    bytes = after;
                }
                Err(error) if error.error_len().is_none() => {
                    self.hold(candidate);
                    bytes = after;
                }
                // `next` does not continue the prefix; it may begin something of its own.
                Err(_) => self.finish(out),
            }
        }
        bytes
    }

    fn hold(&mut self, prefix: &[u8]) {
        debug_assert!(is_open_prefix(prefix), "invariant 1: {prefix:02x?}");
        self.held[..prefix.len()].copy_from_slice(prefix);
        self.held_len = prefix.len();
    }
}

/// Decodes a short block with replacements in it, in one piece, and returns the bytes after it.
///
/// Where one byte is wrong more usually are (a binary printed to a terminal), and a call for each would cost more than
/// the decoding.
fn replace_block<'a>(bytes: &'a [u8], out: &mut impl Sink) -> &'a [u8] {
    let block = &bytes[..bytes.len().min(BLOCK_BYTES)];
    let (block, rest) = bytes.split_at(block.len() - carry_len(block));

    // Each wrong byte makes at most one replacement.
    let mut text = [0; BLOCK_BYTES * REPLACEMENT.len()];
    let mut len = 0;
    let mut push = |piece: &str| {
        text[len..len + piece.len()].copy_from_slice(piece.as_bytes());
        len += piece.len();
    };
    for chunk in block.utf8_chunks() {
        push(chunk.valid());
        if !chunk.invalid().is_empty() {
            push(REPLACEMENT);
        }
    }
    out.text(str::from_utf8(&text[..len]).expect("invariant: made of text"));
    rest
}

const BLOCK_BYTES: usize = 256;

impl fmt::Debug for Decoder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Decoder {{ held: {:02x?} }}", &self.held[..self.held_len])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decode(chunks: &[&[u8]]) -> (String, usize) {
        let (mut decoder, mut out) = (Decoder::new(), String::new());
        for chunk in chunks {
            decoder.feed(chunk, &mut out);
        }
        (out, decoder.held())
    }

    #[test]
    fn r01_a_character_split_at_any_byte_is_whole_afterwards() {
        let whole = "aé☃𝄞b".as_bytes();
        for at in 0..=whole.len() {
            assert_eq!(decode(&[&whole[..at], &whole[at..]]), ("aé☃𝄞b".to_owned(), 0), "split at {at}");
        }
    }

    #[test]
    fn r02_bytes_that_begin_nothing_are_shown_at_once() {
        for lead in (0x80..=0xC1).chain(0xF5..=0xFF) {
            assert_eq!(decode(&[b"x", &[lead]]), ("x\u{FFFD}".to_owned(), 0), "{lead:02x}");
        }
    }

    #[test]
    fn r03_the_carry_table() {
        let table: &[(&[u8], usize)] = &[
            (b"", 0),
            (b"abc", 0),
            (b"\xC3", 1),
            (b"\xE2\x82", 2),
            (b"\xF0\x9F\x98", 3),
            (b"\xE0\x80", 0),
            (b"\xE0\xA0", 2),
            (b"\xED\xA0", 0),
            (b"\xED\x9F", 2),
            (b"\xF0\x80", 0),
            (b"\xF0\x90", 2),
            (b"\xF4\x90", 0),
            (b"\xF4\x8F", 2),
            (b"\x80\x80\x80", 0),
        ];
        for (bytes, carry) in table {
            assert_eq!(carry_len(bytes), *carry, "carry_len {bytes:02x?}");
            assert_eq!(decode(&[bytes]).1, *carry, "in one piece {bytes:02x?}");
            let single: Vec<&[u8]> = bytes.chunks(1).collect();
            assert_eq!(decode(&single).1, *carry, "byte by byte {bytes:02x?}");
        }
    }

    #[test]
    fn r03_no_surrogate_prefix_is_held() {
        for second in 0x80..=0xBF {
            let (text, held) = decode(&[&[0xED, second]]);
            if second < 0xA0 {
                assert_eq!((text.as_str(), held), ("", 2), "ed {second:02x}");
            } else {
                assert_eq!((text.as_str(), held), ("\u{FFFD}\u{FFFD}", 0), "ed {second:02x}");
            }
        }
    }

    #[test]
    fn r03_replacements_are_counted_by_maximal_subparts() {
        let table: &[(&[u8], usize)] = &[
            (b"\xFF", 1),
            (b"\xC0", 1),
            (b"\xED\xA0", 2),
            (b"\xE2\x98", 1),
            (b"\xF0\x9D\x84", 1),
            (b"\xF4\x90", 2),
            (b"\xE0\x80", 2),
        ];
        for (bytes, count) in table {
            let (mut decoder, mut out) = (Decoder::new(), String::new());
            decoder.feed(bytes, &mut out);
            decoder.finish(&mut out);
            assert_eq!(out, REPLACEMENT.repeat(*count), "{bytes:02x?}");
            assert_eq!(decoder.held(), 0);
        }
    }

    #[test]
    fn case_u02_letters_around_impossible_sequences_arrive() {
        let (text, held) = decode(&[b"a\xED\xA0\x80b\xF0\x80\x80\x80c\xF4\x90\x80\x80d\xFEe\n"]);
        assert_eq!(held, 0);
        assert_eq!(text.replace('\u{FFFD}', ""), "abcde\n");
    }
}
