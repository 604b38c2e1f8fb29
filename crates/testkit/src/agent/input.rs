//! Bytes to keys, as an agent's own line editor reads them.

use std::mem;

const PASTE_START: &[u8] = b"\x1b[200~";
const PASTE_END: &[u8] = b"\x1b[201~";

/// Longest escape sequence that is waited for.
const LONGEST_SEQUENCE: usize = 4_096;

/// One key, or what counts as one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Input {
    /// A typed character.
    Text(char),
    /// A whole bracketed paste, line ends as line feeds.
    Paste(String),
    /// Carriage return.
    Enter,
    /// Line feed: a line break.
    LineBreak,
    /// Escape.
    Escape,
    /// Ctrl-C.
    Interrupt,
    /// Ctrl-D.
    EndOfInput,
    /// Ctrl-U.
    Clear,
    /// Backspace.
    Backspace,
    /// Arrow up.
    Up,
    /// Arrow down.
    Down,
    /// The terminal's answer to the question whether it knows OSC 7501.
    StatusAnswer,
    /// Any other control or sequence.
    Other(Vec<u8>),
}

/// Cuts bytes into [`Input`]s, however they came.
///
/// # Invariants
/// 1. What is held back is the beginning of one input.
#[derive(Debug, Default)]
pub struct Parser {
    held: Vec<u8>,
    pasting: bool,
}

/// What stands at the beginning of some bytes.
enum Step {
    /// This input, of this many bytes.
    Whole(Input, usize),
    /// A paste begins after this many bytes.
    PasteBegins(usize),
    /// The beginning of something.
    Partial,
}

impl Parser {
    /// A parser that holds nothing.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Whether something is held that a [`flush`](Self::flush) would give out: an ESC that may be a key or a beginning.
    #[must_use]
    pub fn waits(&self) -> bool {
        !self.pasting && !self.held.is_empty()
    }

    /// Takes the bytes of one read.
    pub fn feed(&mut self, bytes: &[u8]) -> Vec<Input> {
        self.held.extend_from_slice(bytes);
        self.cut()
    }

    /// Nothing came for a while: an ESC that was held was the key.
    pub fn flush(&mut self) -> Vec<Input> {
        if !self.waits() {
            return Vec::new();
        }
        let held = mem::take(&mut self.held);
        let mut inputs = vec![match held[0] {
            0x1B => Input::Escape,
            _ => Input::Text(char::REPLACEMENT_CHARACTER),
        }];
        inputs.extend(self.feed(&held[1..]));
        inputs
    }

    fn cut(&mut self) -> Vec<Input> {
        let mut inputs = Vec::new();
        let held = mem::take(&mut self.held);
        let mut rest = held.as_slice();
        loop {
            if self.pasting {
                let Some(end) = rest.windows(PASTE_END.len()).position(|window| window == PASTE_END) else {
                    break;
                };
                let text = String::from_utf8_lossy(&rest[..end]);
                inputs.push(Input::Paste(text.replace("\r\n", "\n").replace('\r', "\n")));
                rest = &rest[end + PASTE_END.len()..];
                self.pasting = false;
            }
            if rest.is_empty() {
                break;
            }
            match first(rest) {
                Step::Whole(input, len) => {
                    inputs.push(input);
                    rest = &rest[len..];
                }
                Step::PasteBegins(len) => {
                    self.pasting = true;
                    rest = &rest[len..];
                }
                Step::Partial => break,
            }
        }
        self.held = rest.to_vec();
        inputs
    }
}

fn first(bytes: &[u8]) -> Step {
    let one = |input| Step::Whole(input, 1);
    match bytes[0] {
        0x1B => escape(bytes),
        b'\r' => one(Input::Enter),
        b'\n' => one(Input::LineBreak),
        0x03 => one(Input::Interrupt),
        0x04 => one(Input::EndOfInput),
        0x15 => one(Input::Clear),
        0x7F | 0x08 => one(Input::Backspace),
        byte if byte < b' ' => one(Input::Other(vec![byte])),
        _ => character(bytes),
    }
}

fn character(bytes: &[u8]) -> Step {
    let head = &bytes[..bytes.len().min(4)];
    let valid = match std::str::from_utf8(head) {
        Ok(text) => text,
        Err(error) if error.valid_up_to() > 0 => {
            std::str::from_utf8(&head[..error.valid_up_to()]).unwrap_or_default()
        }
        Err(error) => {
            return match error.error_len() {
                None => Step::Partial,
                Some(len) => Step::Whole(Input::Text(char::REPLACEMENT_CHARACTER), len),
            };
        }
    };
    match valid.chars().next() {
        Some(c) => Step::Whole(Input::Text(c), c.len_utf8()),
        None => Step::Partial,
    }
}

fn escape(bytes: &[u8]) -> Step {
    let Some(&second) = bytes.get(1) else { return Step::Partial };
    let end = match second {
        b'[' => bytes[2..].iter().position(|byte| matches!(byte, 0x40..=0x7E)).map(|at| at + 3),
        b']' | b'P' | b'_' | b'^' | b'X' => string_end(bytes),
        b'O' => (bytes.len() > 2).then_some(3),
        0x1B => return Step::Whole(Input::Escape, 1),
        _ => Some(2),
    };
    match end {
        None if bytes.len() > LONGEST_SEQUENCE => Step::Whole(Input::Other(bytes.to_vec()), bytes.len()),
        None => Step::Partial,
        Some(len) if bytes.starts_with(PASTE_START) => Step::PasteBegins(len),
        Some(len) => Step::Whole(named(&bytes[..len]), len),
    }
}

fn string_end(bytes: &[u8]) -> Option<usize> {
    let bell = bytes.iter().position(|&byte| byte == 0x07).map(|at| at + 1);
    let st = bytes[1..].windows(2).position(|pair| pair == b"\x1b\\").map(|at| at + 3);
    bell.into_iter().chain(st).min()
}

fn named(sequence: &[u8]) -> Input {
    match sequence {
        b"\x1b[A" | b"\x1bOA" => Input::Up,
        b"\x1b[B" | b"\x1bOB" => Input::Down,
        b"\x1b]7501;?\x07" | b"\x1b]7501;?\x1b\\" => Input::StatusAnswer,
        other => Input::Other(other.to_vec()),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn keys_pastes_and_answers_are_told_apart() {
        let mut parser = Parser::new();
        let inputs =
            parser.feed("é\r\x1b[200~a\r\nb\rc\x1b[201~\x1b[B\x1b]7501;?\x1b\\\x03\x1b[1;5C".as_bytes());
        assert_eq!(
            inputs,
            [
                Input::Text('é'),
                Input::Enter,
                Input::Paste("a\nb\nc".to_owned()),
                Input::Down,
                Input::StatusAnswer,
                Input::Interrupt,
                Input::Other(b"\x1b[1;5C".to_vec()),
            ]
        );
    }

    #[test]
    fn a_lone_escape_is_a_key_once_nothing_follows() {
        let mut parser = Parser::new();
        assert_eq!(parser.feed(b"\x1b"), []);
        assert!(parser.waits());
        assert_eq!(parser.flush(), [Input::Escape]);
        assert_eq!(parser.feed(b"\x1b[20"), []);
        assert_eq!(parser.feed(b"0~x"), []);
        assert!(!parser.waits(), "a paste is waited for, however long it takes");
    }

    proptest! {
        #[test]
        fn cuts_make_no_difference(
            text in "([a-cé☃\r]|\x1b\\[200~|\x1b\\[201~|\x1b\\[A|\x1b\\]7501;\\?\x07){0,12}",
            cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..5),
        ) {
            let bytes = text.as_bytes();
            let mut cuts: Vec<usize> = cuts.iter().map(|cut| cut.index(bytes.len() + 1)).collect();
            cuts.extend([0, bytes.len()]);
            cuts.sort_unstable();
            let mut parser = Parser::new();
            let pieces: Vec<Input> =
                cuts.windows(2).flat_map(|pair| parser.feed(&bytes[pair[0]..pair[1]])).collect();
            prop_assert_eq!(pieces, Parser::new().feed(bytes));
        }
    }
}
