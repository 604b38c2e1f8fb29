//! The detach key: `C-\` and then `d` or `C-d`.

const PREFIX: u8 = 0x1c;
const CTRL_D: u8 = 0x04;

/// What came of some input.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Keys {
    /// What the program gets.
    pub(super) forward: Vec<u8>,
    /// The user wants to leave; what came after is not kept.
    pub(super) leave: bool,
}

/// Looks for the detach key in what is typed.
///
/// Programs can switch the terminal to kitty's key reports, so `C-\` is known in that form as well. A report is one
/// read of the terminal; one that was cut in two passes as it is.
#[derive(Debug, Default)]
pub(super) struct DetachKey {
    /// The prefix was pressed: as it came, to be passed on if another key follows.
    pressed: Option<Vec<u8>>,
}

/// A key that matters here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Key {
    Prefix,
    Detach,
    /// A key report that is no key press: a release, or a modifier of its own.
    Silent,
}

impl DetachKey {
    pub(super) fn feed(&mut self, input: &[u8]) -> Keys {
        let mut keys = Keys::default();
        let mut rest = input;
        while !rest.is_empty() {
            let (key, len) = read_key(rest);
            let (bytes, after) = rest.split_at(len);
            rest = after;
            match (key, self.pressed.take()) {
                (Some(Key::Prefix), None) => self.pressed = Some(bytes.to_vec()),
                (Some(Key::Prefix), Some(prefix)) => keys.forward.extend_from_slice(&prefix),
                (Some(Key::Detach), Some(_)) => {
                    keys.leave = true;
                    return keys;
                }
                (Some(Key::Silent), Some(prefix)) => self.pressed = Some(prefix),
                (_, prefix) => {
                    keys.forward.extend(prefix.into_iter().flatten());
                    keys.forward.extend_from_slice(bytes);
                }
            }
        }
        keys
    }
}

/// The key `input` begins with and its length; any other byte is a key of its own.
fn read_key(input: &[u8]) -> (Option<Key>, usize) {
    match input {
        [PREFIX, ..] => (Some(Key::Prefix), 1),
        [b'd' | CTRL_D, ..] => (Some(Key::Detach), 1),
        [0x1b, b'[', report @ ..] => read_report(report).map_or((None, 1), |(key, len)| (key, len + 2)),
        _ => (None, 1),
    }
}

/// `code[:shifted] ; modifiers[:event] [; text] u`, after `CSI`.
fn read_report(report: &[u8]) -> Option<(Option<Key>, usize)> {
    let end = report.iter().position(|byte| !matches!(byte, b'0'..=b';'))?;
    if report[end] != b'u' {
        return None;
    }
    let fields: Vec<&str> = std::str::from_utf8(&report[..end]).ok()?.split(';').collect();
    let sub =
        |field: usize, nth: usize| fields.get(field).and_then(|f| f.split(':').nth(nth)?.parse::<u32>().ok());
    let code = sub(0, 0)?;
    // Bits: shift 1, alt 2, ctrl 4; caps lock and num lock (64, 128) do not matter.
    let modifiers = (sub(1, 0).unwrap_or(1).saturating_sub(1)) & 0x3f;
    let is_release = sub(1, 1) == Some(3);
    let is_modifier_key = (57441..=57454).contains(&code);
    let key = match (code, modifiers) {
        _ if is_release || is_modifier_key => Some(Key::Silent),
        (92, 4) => Some(Key::Prefix),
        (100, 0 | 4) => Some(Key::Detach),
        _ => None,
    };
    Some((key, end + 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn feed(pieces: &[&str]) -> (String, bool) {
        let mut detach = DetachKey::default();
        let (mut all, mut leave) = (Vec::new(), false);
        for piece in pieces {
            let keys = detach.feed(piece.as_bytes());
            all.extend(keys.forward);
            leave |= keys.leave;
        }
        (String::from_utf8(all).unwrap(), leave)
    }

    #[test]
    fn the_prefix_and_d_leave_in_every_form() {
        for keys in [
            &["ls\x1cd"][..],
            &["ls\x1c", "\x04"],
            &["ls\x1b[92;5u\x1b[100u"],
            &["ls\x1b[92;5:1u\x1b[92;5:3u", "\x1b[100;5u"],
        ] {
            assert_eq!(feed(keys), ("ls".to_owned(), true), "{keys:?}");
        }
    }

    #[test]
    fn anything_else_reaches_the_program_unchanged() {
        for same in [
            "add\x04",
            "\x1cx",
            "\x1b[A\x1b[97u",
            "\x1b[92;5uq",
            "\x1b",
            "\x1b[",
            "é\x1b[<0;1;1M",
            "\x1b[100;5u",
        ] {
            assert_eq!(feed(&[same]), (same.to_owned(), false), "{same:?}");
        }
        assert_eq!(feed(&["\x1c\x1c"]), ("\x1c".to_owned(), false), "twice is once");
    }
}
