//! Text as a terminal pastes it.

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
    /// Control characters that were replaced.
    pub replaced: usize,
}

/// Encodes `text` as a paste.
///
/// Control characters could end the paste, interrupt the program or freeze its output. Each one (C0 except tab,
/// line feed and carriage return; DEL; C1) becomes one blank: replaced rather than removed, so that nothing
/// closes up to a new sequence. `CR LF` and a lone `CR` are line ends like `LF`. All other text keeps its bytes.
#[must_use]
pub fn encode(text: &str, brackets: Brackets) -> Paste {
    let mut bytes = Vec::with_capacity(text.len() + PASTE_START.len() + PASTE_END.len());
    let line_end = match brackets {
        Brackets::On => b'\n',
        Brackets::Off => b'\r',
    };
    if brackets == Brackets::On {
        bytes.extend_from_slice(PASTE_START);
    }
    let mut replaced = 0;
    let mut rest = text;
    while let Some(at) = rest.find(|c: char| c.is_control() && c != '\t') {
        bytes.extend_from_slice(&rest.as_bytes()[..at]);
        let mut after = rest[at..].chars();
        match after.next() {
            Some('\n') => bytes.push(line_end),
            Some('\r') => {
                bytes.push(line_end);
                if after.as_str().starts_with('\n') {
                    after.next();
                }
            }
            _ => {
                bytes.push(b' ');
                replaced += 1;
            }
        }
        rest = after.as_str();
    }
    bytes.extend_from_slice(rest.as_bytes());
    if brackets == Brackets::On {
        bytes.extend_from_slice(PASTE_END);
    }
    Paste { bytes, replaced }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn bracketed(body: &str) -> Vec<u8> {
        [PASTE_START, body.as_bytes(), PASTE_END].concat()
    }

    #[test]
    fn case_b01_the_end_marker_inside_a_paste_ends_nothing() {
        let paste = encode("echo safe \x1b[201~\rtouch PWNED\r", Brackets::On);
        assert_eq!(paste.bytes, bracketed("echo safe  [201~\ntouch PWNED\n"));
        assert_eq!(paste.replaced, 1);
    }

    #[test]
    fn case_b03_nested_markers_do_not_close_up() {
        let paste = encode("\x1b[20\x1b[201~1~\rtouch PWNED\r", Brackets::On);
        assert_eq!(paste.bytes, bracketed(" [20 [201~1~\ntouch PWNED\n"));
        assert_eq!(paste.replaced, 2);
    }

    #[test]
    fn case_b05_controls_reach_no_line_discipline() {
        let paste = encode("a\x03b\x04\x04c\x13d\x7fe\u{9b}f", Brackets::Off);
        assert_eq!(paste.bytes, b"a b  c d e f");
        assert_eq!(paste.replaced, 6);
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
            prop_assert_eq!(body.chars().count(), text.replace("\r\n", "\n").chars().count());
        }
    }
}
