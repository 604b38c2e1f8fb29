//! Lines of a stream of text.

/// Counts lines as Python's `splitlines` splits them.
///
/// A line ends with LF, CR, CR LF (one end), VT, FF, FS, GS, RS, U+0085, U+2028 or U+2029. What follows the last end
/// counts as a line when there is any of it. So each bare CR of a progress bar counts one.
#[derive(Debug, Clone, Default)]
pub struct LineCounter {
    ends: u64,
    /// Text after the last end.
    open: bool,
    /// The last byte was CR: an LF right after it is the same end.
    after_cr: bool,
}

/// Positions summed in a byte before they are added up: the most that cannot overflow it.
const STRIDE: usize = 255;

impl LineCounter {
    /// Adds the next piece of text.
    pub fn push(&mut self, text: &str) {
        let bytes = text.as_bytes();
        let Some(&last) = bytes.last() else { return };

        // No character crosses the boundary of a piece, so the bytes before this piece matter for CR LF only.
        let before = if self.after_cr { b'\r' } else { 0 };
        self.ends += u64::from(ends_line(0, before, bytes[0]));
        if bytes.len() > 1 {
            self.ends += u64::from(ends_line(0, bytes[0], bytes[1]));
        }
        self.ends += inner_ends(bytes);

        self.after_cr = last == b'\r';
        self.open = match bytes {
            [.., first, second] if !last.is_ascii() => {
                let third_last = bytes.len().checked_sub(3).map_or(0, |at| bytes[at]);
                ends_line(third_last, *first, *second) == 0
            }
            _ => ends_line(0, 0, last) == 0,
        };
    }

    /// Lines so far.
    #[must_use]
    pub const fn count(&self) -> u64 {
        self.ends + self.open as u64
    }
}

/// Line ends at the third byte and later.
fn inner_ends(bytes: &[u8]) -> u64 {
    let Some(third_on) = bytes.get(2..) else { return 0 };
    // Branch-free sums over short strides: the compiler makes vector code of this, several bytes per cycle, which
    // matters when a program floods megabytes into one window.
    bytes
        .chunks(STRIDE)
        .zip(bytes[1..].chunks(STRIDE))
        .zip(third_on.chunks(STRIDE))
        .map(|((a, b), c)| {
            let ends: u8 = a.iter().zip(b).zip(c).map(|((&a, &b), &c)| ends_line(a, b, c)).sum();
            u64::from(ends)
        })
        .sum()
}

/// 1 when a line ends with byte `c`, of which `a` and `b` are the two before, else 0.
#[inline]
fn ends_line(a: u8, b: u8, c: u8) -> u8 {
    // LF, VT, FF, CR; FS, GS, RS.
    let single = (c.wrapping_sub(0x0A) < 4) | (c.wrapping_sub(0x1C) < 3);
    let second_of_crlf = (b == b'\r') & (c == b'\n');
    let next_line = (b == 0xC2) & (c == 0x85);
    let separator = (a == 0xE2) & (b == 0x80) & (c & 0xFE == 0xA8);
    u8::from(single & !second_of_crlf) | u8::from(next_line) | u8::from(separator)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn count(pieces: &[&str]) -> u64 {
        let mut lines = LineCounter::default();
        pieces.iter().for_each(|piece| lines.push(piece));
        lines.count()
    }

    /// The definition, character by character.
    fn reference(text: &str) -> u64 {
        let (mut ends, mut open, mut chars) = (0, false, text.chars().peekable());
        while let Some(c) = chars.next() {
            open = !matches!(
                c,
                '\n' | '\r'
                    | '\u{B}'
                    | '\u{C}'
                    | '\u{1C}'
                    | '\u{1D}'
                    | '\u{1E}'
                    | '\u{85}'
                    | '\u{2028}'
                    | '\u{2029}'
            );
            if c == '\r' {
                chars.next_if_eq(&'\n');
            }
            ends += u64::from(!open);
        }
        ends + u64::from(open)
    }

    #[test]
    fn every_terminator_ends_one_line() {
        assert_eq!(count(&[]), 0);
        assert_eq!(count(&["a"]), 1);
        assert_eq!(count(&["a\nb"]), 2);
        for end in [
            "\n", "\r", "\r\n", "\u{B}", "\u{C}", "\u{1C}", "\u{1D}", "\u{1E}", "\u{85}", "\u{2028}",
            "\u{2029}",
        ] {
            assert_eq!(count(&["a", end]), 1, "{end:?}");
            assert_eq!(count(&["a", end, "b"]), 2, "{end:?}");
        }
        for not_an_end in ["\u{84}", "\u{1F}", "\u{9}", "\u{1B}", "\u{2027}", "\u{202A}", "\u{FFFD}"] {
            assert_eq!(count(&["a", not_an_end, "b"]), 1, "{not_an_end:?}");
        }
    }

    #[test]
    fn a_crlf_split_between_pieces_is_one_end() {
        assert_eq!(count(&["a\r", "\nb"]), 2);
        assert_eq!(count(&["a\r", "", "\nb"]), 2);
        assert_eq!(count(&["a\r", "\r\n"]), 2);
        assert_eq!(count(&["a\n", "\rb"]), 3);
    }

    #[test]
    fn long_runs_of_ends_do_not_overflow_a_stride() {
        assert_eq!(count(&["\n".repeat(10_000).as_str()]), 10_000);
    }

    proptest! {
        #[test]
        fn equals_the_definition_for_every_split(
            pieces in prop::collection::vec("[\r\na\u{B}-\u{1E}\u{85}\u{2027}-\u{202A}é☃]{0,6}", 0..8),
            long in "[\r\na\u{85}\u{2028}☃]{0,700}",
        ) {
            let mut pieces: Vec<&str> = pieces.iter().map(String::as_str).collect();
            pieces.push(&long);
            prop_assert_eq!(count(&pieces), reference(&pieces.concat()));
        }
    }
}
