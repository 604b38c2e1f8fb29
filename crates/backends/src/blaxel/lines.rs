//! Lines between us and the carrier of a program, over a terminal that passes on text, and of that not everything: pieces
//! of what it prints may come twice, and be missing.
//!
//! From the carrier come lines `~SUM WORDS`, where the sum is the Adler-32 of the words in eight hexadecimal digits. What
//! is no such line is noise. To the carrier go lines ` : WORDS`, which do nothing to a shell that may stand in its place.
//! Offsets and lengths are in bytes; output and input are in base64. Output that gets shorter by it is packed before (RFC
//! 1950), each line by itself, so that one that is missing takes no other one along.
//!
//! | from the carrier | means |
//! |---|---|
//! | `o AT BYTES` | output from this offset on |
//! | `z AT BYTES` | likewise, packed |
//! | `x AT c CODE`, `x AT k SIGNAL` | the program ended, behind so much output |
//! | `f AT` | the output is closed, behind so much of it |
//! | `s SAID TAKEN CAME N` | so much of the output was said, so much of the input that came was taken by the program, and N was asked last |
//!
//! | to the carrier | means |
//! |---|---|
//! | `a HAVE` | output has arrived up to here, and is needed no more |
//! | `r HAVE FROM` | likewise; go on from here on |
//! | `q N` | say how it stands, and the ends again; N tells the answer from older ones |
//! | `i AT BYTES` | input from this offset on |
//! | `e AT` | the input ends here |
//! | `w COLS ROWS` | the size of the tty |
//! | `z 0` | leave |

use std::io::Read;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use flate2::bufread::ZlibDecoder;
use ptyard_core::{Exit, Size};

/// Longest line, in bytes. What is longer is noise.
const MOST_LINE: usize = 20 << 10;

/// Most output in one line, in bytes.
const MOST_OUTPUT: usize = 16 << 10;

/// The terminal is read in pieces of at most so many bytes.
const READ: usize = 4096;

/// Most input in one line, in bytes.
const PIECE: usize = 3000;

/// What the carrier says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Line {
    /// In a line that took so many pieces of the terminal.
    Output {
        at: u64,
        bytes: Vec<u8>,
        pieces: usize,
    },
    Ended {
        at: u64,
        exit: Exit,
    },
    Closed {
        at: u64,
    },
    Stands {
        said: u64,
        taken: u64,
        came: u64,
        asked: u32,
    },
}

/// Takes text as it comes, and gives lines.
#[derive(Debug, Default)]
pub(super) struct Lines {
    held: Vec<u8>,
}

impl Lines {
    /// The lines that this text completes.
    pub(super) fn take(&mut self, text: &[u8]) -> Vec<Line> {
        let mut lines = Vec::new();
        let mut pieces = text.split(|&byte| byte == b'\n');
        // There is always a last piece, which no line break follows.
        let unfinished = pieces.next_back().unwrap_or_default();
        for piece in pieces {
            self.held.extend_from_slice(piece);
            lines.extend(parsed(&self.held));
            self.held.clear();
        }
        self.held.extend_from_slice(unfinished);
        if self.held.len() > MOST_LINE {
            self.held.clear();
        }
        lines
    }
}

fn parsed(line: &[u8]) -> Option<Line> {
    // What stands before it is the end of something that was cut.
    let begin = line.iter().rposition(|&byte| byte == b'~')?;
    let line = std::str::from_utf8(&line[begin + 1..]).ok()?.trim_end_matches('\r');
    let (sum, said) = line.split_once(' ')?;
    if u32::from_str_radix(sum, 16) != Ok(adler32(said.as_bytes())) {
        return None;
    }
    let mut words = said.split(' ');
    let kind = words.next()?;
    let at = words.next()?.parse().ok()?;
    match kind {
        "o" | "z" => {
            let said = STANDARD.decode(words.next()?).ok()?;
            let bytes = if kind == "z" { unpacked(&said)? } else { said };
            // Counted as the carrier does: with the mark before it and the line break behind it.
            Some(Line::Output { at, bytes, pieces: (line.len() + 2) / READ + 1 })
        }
        "f" => Some(Line::Closed { at }),
        "x" => {
            let (how, number) = (words.next()?, words.next()?.parse().ok()?);
            let exit = if how == "k" { Exit::signaled(number) } else { Exit::exited(number) };
            Some(Line::Ended { at, exit })
        }
        "s" => {
            let (taken, came) = (words.next()?.parse().ok()?, words.next()?.parse().ok()?);
            Some(Line::Stands { said: at, taken, came, asked: words.next()?.parse().ok()? })
        }
        _ => None,
    }
}

/// What was packed; nothing when it is more than one line says.
fn unpacked(packed: &[u8]) -> Option<Vec<u8>> {
    let mut bytes = Vec::with_capacity(MOST_OUTPUT);
    let most = MOST_OUTPUT as u64 + 1;
    ZlibDecoder::new(packed).take(most).read_to_end(&mut bytes).ok()?;
    (bytes.len() <= MOST_OUTPUT).then_some(bytes)
}

/// As RFC 1950 has it.
fn adler32(bytes: &[u8]) -> u32 {
    const PRIME: u32 = 65_521;
    /// Of so many bytes the sums fit in 32 bits.
    const AT_ONCE: usize = 5552;
    let (mut low, mut high) = (1_u32, 0_u32);
    for some in bytes.chunks(AT_ONCE) {
        for &byte in some {
            low += u32::from(byte);
            high += low;
        }
        (low, high) = (low % PRIME, high % PRIME);
    }
    high << 16 | low
}

/// Output up to `have` has arrived.
pub(super) fn arrived(have: u64) -> String {
    format!(" : a {have}\n")
}

/// Go on from `from` on; up to `have` it has arrived. A line that broke off ends before.
pub(super) fn again(have: u64, from: u64) -> String {
    format!("\n : r {have} {from}\n")
}

/// Say how it stands.
pub(super) fn question(number: u32) -> String {
    format!(" : q {number}\n")
}

/// Input from `at` on.
pub(super) fn input(at: u64, bytes: &[u8]) -> String {
    let mut at = at;
    let mut lines = String::new();
    for piece in bytes.chunks(PIECE) {
        lines += &format!(" : i {at} {}\n", STANDARD.encode(piece));
        at += piece.len() as u64;
    }
    lines
}

/// The input ends at `at`.
pub(super) fn end(at: u64) -> String {
    format!(" : e {at}\n")
}

/// The tty has this size.
pub(super) fn size(size: Size) -> String {
    format!(" : w {} {}\n", size.cols(), size.rows())
}

/// Nobody needs the carrier any more. Should a shell stand in its place, it leaves too.
pub(super) fn leave() -> String {
    "\n : z 0\nexit\n".to_owned()
}

#[cfg(test)]
mod tests {
    use flate2::Compression;
    use flate2::bufread::ZlibEncoder;

    use super::*;

    fn line(said: &str) -> String {
        format!("~{:08x} {said}\n", adler32(said.as_bytes()))
    }

    #[test]
    fn the_sum_is_the_one_that_everybody_means() {
        assert_eq!(adler32(b""), 1);
        assert_eq!(adler32(b"Wikipedia"), 0x11E6_0398);
    }

    #[test]
    fn lines_are_the_same_however_they_were_cut() {
        let wire = [
            "\x1b[0m$ noise\n",
            &line("o 7 aMOp"),
            &line("s 10 2 7 5"),
            &line("x 10 c 3"),
            &line("x 10 k 9"),
            &line("f 10"),
        ]
        .concat();
        let want = [
            Line::Output { at: 7, bytes: "h\u{e9}".into(), pieces: 1 },
            Line::Stands { said: 10, taken: 2, came: 7, asked: 5 },
            Line::Ended { at: 10, exit: Exit::exited(3) },
            Line::Ended { at: 10, exit: Exit::signaled(9) },
            Line::Closed { at: 10 },
        ];
        for piece in 1..wire.len() {
            let mut lines = Lines::default();
            let got: Vec<Line> = wire.as_bytes().chunks(piece).flat_map(|piece| lines.take(piece)).collect();
            assert_eq!(got, want, "{piece}");
        }
    }

    fn packed(bytes: &[u8]) -> String {
        let mut packed = Vec::new();
        ZlibEncoder::new(bytes, Compression::fast()).read_to_end(&mut packed).unwrap();
        STANDARD.encode(packed)
    }

    #[test]
    fn packed_output_is_unpacked_and_never_more_than_a_line_says() {
        let bytes: Vec<u8> = (0..=255).cycle().take(MOST_OUTPUT).collect();
        let said = line(&format!("z 7 {}", packed(&bytes)));
        let want = Line::Output { at: 7, bytes: bytes.clone(), pieces: said.len() / READ + 1 };
        assert_eq!(Lines::default().take(said.as_bytes()), [want]);
        let damaged = packed(&bytes);
        for bad in
            [packed(&[bytes.as_slice(), b"x"].concat()).as_str(), &damaged[..damaged.len() - 4], "aMOp"]
        {
            assert_eq!(Lines::default().take(line(&format!("z 7 {bad}")).as_bytes()), [], "{bad}");
        }
    }

    #[test]
    fn lines_are_counted_by_the_pieces_of_the_terminal() {
        // Besides four bytes of base64 for each group there are 15.
        for (groups, want) in [(1, 1), (1020, 1), (1021, 2), (2044, 2), (2045, 3)] {
            let lines = Lines::default().take(line(&format!("o 7 {}", "AAAA".repeat(groups))).as_bytes());
            assert!(matches!(lines[..], [Line::Output { pieces, .. }] if pieces == want), "{groups}");
        }
    }

    #[test]
    fn what_came_twice_or_in_part_is_no_line() {
        let wire = line("o 7 aMOp");
        let (begin, end) = wire.split_at(12);
        for damaged in [
            [begin, begin, end, end].concat(),
            [&begin[..9], end].concat(),
            wire.replace("aMOp", "aMOq"),
            wire.replace('\n', "x\n"),
        ] {
            let got = Lines::default().take(damaged.as_bytes());
            // One that came whole behind a piece of itself is whole.
            let whole = damaged.contains(&wire);
            assert_eq!(got.len(), usize::from(whole), "{damaged:?}: {got:?}");
        }
        let mut lines = Lines::default();
        assert_eq!(lines.take(&vec![b'x'; 2 * MOST_LINE]), []);
        assert_eq!(lines.take(wire.as_bytes()).len(), 1);
    }

    #[test]
    fn input_goes_in_lines_that_a_tty_takes_and_a_shell_ignores() {
        let bytes: Vec<u8> = (0..=255).cycle().take(7000).collect();
        let lines = input(5, &bytes);
        let (mut at, mut all) = (5, Vec::new());
        for line in lines.lines() {
            let words: Vec<&str> = line.split(' ').collect();
            assert_eq!(words[..3], ["", ":", "i"]);
            assert_eq!(words[3], at.to_string());
            assert!(line.len() <= 4095);
            all.extend(STANDARD.decode(words[4]).unwrap());
            at = 5 + all.len();
        }
        assert_eq!(all, bytes);
    }
}
