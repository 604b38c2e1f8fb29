//! What a tmux server says to a client in control mode (`tmux -C`).
//!
//! It speaks in lines. The answer to a command stands between `%begin` and `%end` or `%error`; everything else that
//! begins with `%` happened by itself. The bytes of a pane come with control characters and backslashes as three octal
//! digits, and all others as they are, whether they are text or not.

/// A line from the server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Line<'a> {
    /// An answer begins: to a command of ours, or to what the client was started with or a hook ran.
    Begin { ours: bool },
    /// It ends; the command was carried out.
    End,
    /// It ends; the command was refused.
    Error,
    /// A pane printed this.
    Output { pane: Pane, data: &'a [u8] },
    /// A pane is no longer told of, because we were too slow.
    Pause(Pane),
    /// A window was closed or took another layout, or a session came or went: a pane may be gone.
    Closed,
    /// The server lets us go.
    Exit(&'a [u8]),
    /// A line of an answer, or something that happened and does not matter here.
    Other(&'a [u8]),
}

/// A pane, by the number the server gave it: exact, and never given again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct Pane(pub(super) u32);

impl std::fmt::Display for Pane {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "%{}", self.0)
    }
}

impl Pane {
    pub(super) fn parse(text: &[u8]) -> Option<Self> {
        std::str::from_utf8(text).ok()?.strip_prefix('%')?.parse().ok().map(Self)
    }
}

/// Where in an answer the reader is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Within {
    Nothing,
    Answer,
}

impl<'a> Line<'a> {
    /// Takes a line, without its end, apart. In an answer everything but its end is the answer's.
    pub(super) fn parse(line: &'a [u8], within: Within) -> Self {
        let (word, rest) = split(line);
        match (word, within) {
            (b"%end", Within::Answer) => Self::End,
            (b"%error", Within::Answer) => Self::Error,
            (_, Within::Answer) => Self::Other(line),
            (b"%begin", Within::Nothing) => Self::Begin { ours: rest.ends_with(b" 1") },
            (b"%output", Within::Nothing) => {
                let (pane, data) = split(rest);
                Pane::parse(pane).map_or(Self::Other(line), |pane| Self::Output { pane, data })
            }
            (b"%extended-output", Within::Nothing) => {
                let (pane, more) = split(rest);
                let data = more.windows(3).position(|window| window == b" : ").map(|at| &more[at + 3..]);
                match (Pane::parse(pane), data) {
                    (Some(pane), Some(data)) => Self::Output { pane, data },
                    _ => Self::Other(line),
                }
            }
            (b"%pause", Within::Nothing) => Pane::parse(rest).map_or(Self::Other(line), Self::Pause),
            (
                b"%window-close" | b"%unlinked-window-close" | b"%layout-change" | b"%sessions-changed",
                Within::Nothing,
            ) => Self::Closed,
            (b"%exit", Within::Nothing) => Self::Exit(rest),
            _ => Self::Other(line),
        }
    }
}

fn split(line: &[u8]) -> (&[u8], &[u8]) {
    match line.iter().position(|&byte| byte == b' ') {
        Some(at) => (&line[..at], &line[at + 1..]),
        None => (line, b""),
    }
}

/// The bytes behind their octal form. A backslash that three octal digits do not follow stands for itself.
pub(super) fn unescaped(data: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(data.len());
    let mut at = 0;
    while at < data.len() {
        let octal = data.get(at + 1..at + 4).filter(|digits| {
            data[at] == b'\\' && digits.iter().all(|digit| (b'0'..=b'7').contains(digit)) && digits[0] <= b'3'
        });
        match octal {
            Some(digits) => {
                bytes.push(digits.iter().fold(0, |value, digit| (value << 3) | (digit - b'0')));
                at += 4;
            }
            None => {
                bytes.push(data[at]);
                at += 1;
            }
        }
    }
    bytes
}

/// Text as one argument of a tmux command. It must hold no line end.
pub(super) fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', r#"'"'"'"#))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// As the server does it.
    fn escaped(bytes: &[u8]) -> Vec<u8> {
        let mut out = Vec::new();
        for &byte in bytes {
            if byte < b' ' || byte == b'\\' {
                out.extend_from_slice(format!("\\{byte:03o}").as_bytes());
            } else {
                out.push(byte);
            }
        }
        out
    }

    proptest! {
        #[test]
        fn bytes_of_a_pane_come_back_as_they_were(bytes: Vec<u8>) {
            let line = [b"%output %7 ".as_slice(), &escaped(&bytes)].concat();
            prop_assert!(!line.contains(&b'\n'));
            let Line::Output { pane: Pane(7), data } = Line::parse(&line, Within::Nothing) else {
                return Err(TestCaseError::fail("no output"));
            };
            prop_assert_eq!(unescaped(data), bytes);
        }
    }

    #[test]
    fn an_answer_may_look_like_anything_but_its_end() {
        assert_eq!(Line::parse(b"%output %1 x", Within::Answer), Line::Other(b"%output %1 x"));
        assert_eq!(Line::parse(b"%end 1 2 0", Within::Answer), Line::End);
        assert_eq!(Line::parse(b"%error 1 2 0", Within::Answer), Line::Error);
    }

    #[test]
    fn both_forms_of_output_are_known() {
        let line = Line::parse(br"%extended-output %3 120 : a\012 : b", Within::Nothing);
        assert_eq!(line, Line::Output { pane: Pane(3), data: br"a\012 : b" });
        assert_eq!(Line::parse(b"%pause %3", Within::Nothing), Line::Pause(Pane(3)));
        assert_eq!(Line::parse(b"%unlinked-window-close @3", Within::Nothing), Line::Closed);
        assert_eq!(Line::parse(b"%exit too far behind", Within::Nothing), Line::Exit(b"too far behind"));
        assert_eq!(Line::parse(b"%output nonsense", Within::Nothing), Line::Other(b"%output nonsense"));
    }

    #[test]
    fn a_backslash_without_digits_stands_for_itself() {
        assert_eq!(unescaped(br"\\12\777\0"), br"\\12\777\0");
        assert_eq!(unescaped(br"\134012"), br"\012");
    }
}
