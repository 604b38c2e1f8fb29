//! Text without its escape sequences.
//!
//! For looking at words: searching output, showing it where no terminal is. Cursor movement is dropped, not followed;
//! who needs what a person sees needs a screen.

/// Removes control sequences from text that comes in pieces.
///
/// Removed are CSI sequences with any parameters (colons and private ones too), OSC, DCS, APC, PM and SOS strings, other
/// escapes, and control characters but `\n`, `\r` and `\t`. U+0080..U+009F are removed and mean nothing, as on the screen:
/// with UTF-8 no program writes the one-character forms of sequences. An OSC ends at BEL or ST, the other strings at ST;
/// CAN and SUB abort anything, ESC begins anew. A string that is never ended hides
/// what follows, as it does in a terminal.
///
/// The state is one word, whatever the input; how the text was cut into pieces changes nothing.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Plain {
    state: State,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum State {
    /// Outside of any sequence.
    #[default]
    Ground,
    /// After ESC.
    Escape,
    /// After ESC and an intermediate: one final character ends it.
    EscapeIntermediate,
    /// Within a CSI sequence: a final character ends it.
    Csi,
    /// Within an OSC string.
    Osc,
    /// Within a DCS, APC, PM or SOS string.
    Text,
}

/// What becomes of a character.
#[derive(PartialEq, Eq)]
enum Fate {
    Shown,
    Removed,
}

impl Plain {
    /// A stripper outside of any sequence.
    #[must_use]
    pub const fn new() -> Self {
        Self { state: State::Ground }
    }

    /// Appends the visible part of `text` to `out`.
    pub fn feed(&mut self, text: &str, out: &mut String) {
        let mut rest = text;
        while !rest.is_empty() {
            if self.state == State::Ground {
                let (visible, after) = rest.split_at(visible_len(rest));
                out.push_str(visible);
                rest = after;
            }
            let mut chars = rest.chars();
            let Some(c) = chars.next() else { break };
            if self.step(c) == Fate::Shown {
                out.push(c);
            }
            rest = chars.as_str();
        }
    }

    /// Forgets any sequence that has begun: what follows is no continuation of it.
    pub fn reset(&mut self) {
        self.state = State::Ground;
    }

    fn step(&mut self, c: char) -> Fate {
        use State::{Csi, Escape, EscapeIntermediate, Ground, Osc, Text};
        let (state, fate) = match (self.state, c) {
            // Whatever the state.
            (_, '\u{1B}') => (Escape, Fate::Removed),
            (_, '\u{18}' | '\u{1A}') => (Ground, Fate::Removed),
            // As on the screen: in UTF-8 these begin and end nothing.
            (state, '\u{80}'..='\u{9F}') => (state, Fate::Removed),

            (Osc, '\u{07}') => (Ground, Fate::Removed),
            (Osc | Text, _) => (self.state, Fate::Removed),

            // A terminal obeys these even in the middle of a sequence.
            (state, '\n' | '\r' | '\t') => (state, Fate::Shown),
            (state, '\0'..='\u{1F}' | '\u{7F}') => (state, Fate::Removed),

            (Ground, _) => (Ground, Fate::Shown),
            (Escape, '[') => (Csi, Fate::Removed),
            (Escape, ']') => (Osc, Fate::Removed),
            (Escape, 'P' | 'X' | '^' | '_') => (Text, Fate::Removed),
            (Escape | EscapeIntermediate, ' '..='/') => (EscapeIntermediate, Fate::Removed),
            (Escape | EscapeIntermediate, '0'..='~') => (Ground, Fate::Removed),
            (Csi, ' '..='?') => (Csi, Fate::Removed),
            (Csi, '@'..='~') => (Ground, Fate::Removed),
            // No sequence has such a character: it was none.
            (Escape | EscapeIntermediate | Csi, _) => (Ground, Fate::Shown),
        };
        self.state = state;
        fate
    }
}

/// The visible part of a whole `text`.
#[must_use]
pub fn strip(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    Plain::new().feed(text, &mut out);
    out
}

/// Length of a prefix that certainly has no control in it but `\n`, `\r` and `\t`; what follows may be one.
fn visible_len(text: &str) -> usize {
    // Whole strides are judged without a branch, so as vector code; the last one byte by byte.
    let strides = text.as_bytes().chunks_exact(STRIDE_BYTES);
    let clear = strides.take_while(|stride| !stride.iter().fold(false, |any, &b| any | may_be_control(b)));
    let begin = clear.count() * STRIDE_BYTES;
    let rest = &text.as_bytes()[begin..];
    begin + rest.iter().position(|&byte| may_be_control(byte)).unwrap_or(rest.len())
}

const STRIDE_BYTES: usize = 32;

const fn may_be_control(byte: u8) -> bool {
    let c0 = (byte < b' ') & (byte != b'\n') & (byte != b'\r') & (byte != b'\t');
    // 0xC2 begins U+0080..U+00BF, the first half of which are controls.
    c0 | (byte == 0x7F) | (byte == 0xC2)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn case_a02_only_the_letters_remain() {
        let printed = "\x1b[38:2::255:0:0mX\x1b[0m\x1b[<1;2M\x1b]8;;http://example.invalid\x1b\\Y\x1b]8;;\x1b\\\
                       \x1bP+q544e\x1b\\\x1b_app\x1b\\\u{9b}3mZ\n";
        assert_eq!(strip(printed), "XY3mZ\n");
    }

    #[test]
    fn each_sequence_ends_where_a_terminal_ends_it() {
        let table = [
            ("a\x1b]0;title\x07b", "ab"),
            ("a\x1b]0;title\u{9c}b\x07c", "ac"),
            ("a\u{9d}0;title\x1b\\b", "a0;titleb"),
            ("a\x1bPq\x07still\x1b\\b", "ab"),
            ("a\x1b^pm\x1b\\b\x1bXsos\u{9c}c\x1b\\\u{90}dcs\u{9c}d", "abdcsd"),
            ("a\x1b(Bb\x1b#8c\x1b=d\x1b7e\x1bcf", "abcdef"),
            ("a\x1b[1 qb\x1b[!pc\x1b[?25;1$pd", "abcd"),
            ("a\x1b[3\x18b\x1b]x\x1ac", "abc"),
            ("a\x1b[1\x1b[2mb", "ab"),
            ("a\x1b]lost\x1b[31mb", "ab"),
            ("a\x1b[3\n1mb", "a\nb"),
            ("a\x1b[3éb\x1b☃", "aéb☃"),
            ("\u{7}\u{8}a\u{0}\u{7f}\tb\r\n\u{85}c", "a\tb\r\nc"),
            ("é\u{a0}\u{bf}☃𝄞", "é\u{a0}\u{bf}☃𝄞"),
        ];
        for (printed, visible) in table {
            assert_eq!(strip(printed), visible, "{printed:?}");
        }
    }

    #[test]
    fn a_reset_forgets_an_open_string() {
        let (mut plain, mut out) = (Plain::new(), String::new());
        plain.feed("a\x1b]title", &mut out);
        plain.reset();
        plain.feed("b", &mut out);
        assert_eq!(out, "ab");
    }

    proptest! {
        #[test]
        fn pieces_equal_the_whole(
            pieces in prop::collection::vec(
                "[\x1b\x07\x18\u{9b}\u{9c}\u{9d}\u{90}\\[\\]\\\\P;:?0-9 mhq\n\ré☃\u{a0}]{0,8}", 0..12),
        ) {
            let (mut plain, mut out) = (Plain::new(), String::new());
            pieces.iter().for_each(|piece| plain.feed(piece, &mut out));
            prop_assert_eq!(&out, &strip(&pieces.concat()));
            prop_assert!(out.chars().all(|c| !c.is_control() || matches!(c, '\n' | '\r' | '\t')));
        }
    }
}
