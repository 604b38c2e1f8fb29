//! Text as a terminal pastes it.

use ptyard_core::typed::{self, Cleaned, Removed};

/// Opens a bracketed paste.
pub const PASTE_START: &[u8] = b"\x1b[200~";

/// Closes a bracketed paste. Also to be sent when a paste was cut short: a program that waits for it takes
/// everything after for text.
pub const PASTE_END: &[u8] = b"\x1b[201~";

/// Whether the program asked for brackets around a paste (mode 2004).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Brackets {
    /// It did: the paste stands between [`PASTE_START`] and [`PASTE_END`], line ends stay line feeds.
    On,
    /// It did not: the text arrives as if typed, line ends as the Enter key's carriage return.
    Off,
}

/// A paste, ready to be written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Paste {
    /// The bytes, with their brackets.
    pub bytes: Vec<u8>,
    /// What the text lost on the way.
    pub removed: Removed,
}

/// Encodes `text` as a paste: [cleaned](typed::clean), so that nothing in it can end the paste, press a key or freeze
/// the program, and with the line ends the program expects.
#[must_use]
pub fn encode(text: &str, brackets: Brackets) -> Paste {
    let Cleaned { text, removed } = typed::clean(text);
    let bytes = match brackets {
        Brackets::On => [PASTE_START, text.as_bytes(), PASTE_END].concat(),
        Brackets::Off => text.replace('\n', "\r").into_bytes(),
    };
    Paste { bytes, removed }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use ptyard_core::typed::Kind;

    use super::*;

    fn bracketed(body: &str) -> Vec<u8> {
        [PASTE_START, body.as_bytes(), PASTE_END].concat()
    }

    #[test]
    fn case_b01_the_end_marker_inside_a_paste_ends_nothing() {
        let paste = encode("echo safe \x1b[201~\rtouch PWNED\r", Brackets::On);
        assert_eq!(paste.bytes, bracketed("echo safe \ntouch PWNED\n"));
        assert_eq!(paste.removed.of(Kind::PasteMarker), 1);
    }

    #[test]
    fn case_b03_nested_markers_do_not_close_up() {
        let paste = encode("\x1b[20\x1b[201~1~\rtouch PWNED\r", Brackets::On);
        assert_eq!(paste.bytes, bracketed("1~\ntouch PWNED\n"));
        assert_eq!(paste.removed.characters(), 10);
    }

    #[test]
    fn case_b05_controls_reach_no_line_discipline() {
        let paste = encode("a\x03b\x04\x04c\x13d\x7fe\u{9b}f", Brackets::Off);
        assert_eq!(paste.bytes, b"abcde");
        assert_eq!(paste.removed.characters(), 7);
    }

    #[test]
    fn case_w06_text_is_not_normalised() {
        let text = "naïve 中文 👩\u{200d}💻 e\u{301}";
        assert_eq!(encode(text, Brackets::On).bytes, bracketed(text));
        assert_eq!(encode(text, Brackets::Off).bytes, text.as_bytes());
    }

    #[test]
    fn case_p20_blanks_tabs_and_line_ends_stay() {
        assert_eq!(encode("  a\tb!!  \r\n\r\nc\rd\n", Brackets::On).bytes, bracketed("  a\tb!!  \n\nc\nd\n"));
        assert_eq!(encode("a\r\nb\nc\r", Brackets::Off).bytes, b"a\rb\rc\r");
    }

    #[test]
    fn an_empty_paste_is_its_brackets() {
        assert_eq!(encode("", Brackets::On).bytes, bracketed(""));
        assert_eq!(encode("", Brackets::Off).bytes, b"");
    }

    proptest! {
        #[test]
        fn only_the_brackets_hold_controls(text in "(\\PC|[\u{0}-\u{9f}]|\x1b\\[20[01]~){0,40}") {
            let paste = encode(&text, Brackets::On);
            let body = &paste.bytes[PASTE_START.len()..paste.bytes.len() - PASTE_END.len()];
            let body = std::str::from_utf8(body).unwrap();
            prop_assert!(body.chars().all(|c| !c.is_control() || c == '\t' || c == '\n'));
            let typed = encode(&text, Brackets::Off).bytes;
            let typed = std::str::from_utf8(&typed).unwrap();
            prop_assert_eq!(typed, body.replace('\n', "\r"));
        }
    }
}
