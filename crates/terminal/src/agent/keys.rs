//! What typed bytes do to a composer, as far as the turn machine has to know.

use ptyard_core::turn::Keys;
use ptyard_screen::paste::{PASTE_END, PASTE_START};

/// What `bytes` do, in order: text that stands in the composer, keys that submit it, and keys that may take it away.
/// Answers and focus and mouse reports do none of it.
pub(crate) fn classify(bytes: &[u8]) -> Vec<Keys> {
    let mut keys = Vec::new();
    let mut say = |key| {
        if keys.last() != Some(&key) {
            keys.push(key);
        }
    };
    let mut rest = bytes;
    while let Some((&first, after)) = rest.split_first() {
        if let Some(pasted) = rest.strip_prefix(PASTE_START) {
            let end = find(pasted, PASTE_END);
            let (text, behind) =
                end.map_or((pasted, &b""[..]), |at| (&pasted[..at], &pasted[at + PASTE_END.len()..]));
            if !text.is_empty() {
                say(Keys::Text);
            }
            rest = behind;
        } else if first == 0x1b {
            let (sequence, behind) = rest.split_at(sequence_len(rest));
            // Enter in the protocol of kitty.
            if sequence.starts_with(b"\x1b[13") && sequence.ends_with(b"u") {
                say(Keys::Submit);
            }
            // Escape, and Up and Down, which bring back what was written before.
            if matches!(sequence, b"\x1b" | b"\x1b[A" | b"\x1b[B" | b"\x1bOA" | b"\x1bOB") {
                say(Keys::Edit);
            }
            rest = behind;
        } else {
            match first {
                b'\r' | b'\n' => say(Keys::Submit),
                b'\t' | 0x20..=0x7e | 0x80..=0xff => say(Keys::Text),
                _ => say(Keys::Edit),
            }
            rest = after;
        }
    }
    keys
}

fn find(text: &[u8], what: &[u8]) -> Option<usize> {
    text.windows(what.len()).position(|window| window == what)
}

/// Bytes of the escape sequence that `bytes` begin with.
fn sequence_len(bytes: &[u8]) -> usize {
    match bytes.get(1) {
        Some(b'[') if bytes.get(2) == Some(&b'M') => bytes.len().min(6),
        Some(b'[') => {
            let end = bytes[2..].iter().position(|byte| (0x40..=0x7e).contains(byte));
            end.map_or(bytes.len(), |at| at + 3)
        }
        Some(b']' | b'P' | b'_' | b'^') => {
            let end = bytes.iter().position(|byte| *byte == 0x07);
            let long = find(bytes, b"\x1b\\").map(|at| at + 1);
            end.into_iter().chain(long).min().map_or(bytes.len(), |at| at + 1)
        }
        Some(b'O') => bytes.len().min(3),
        Some(_) => 2,
        None => 1,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_and_enters_are_told_apart() {
        for (bytes, keys) in [
            (&b"hello"[..], vec![Keys::Text]),
            (b"hello\r", vec![Keys::Text, Keys::Submit]),
            (b"\r", vec![Keys::Submit]),
            (b"\rhello", vec![Keys::Submit, Keys::Text]),
            (b"\x1b[200~a\nb\x1b[201~", vec![Keys::Text]),
            (b"\x1b[200~a\nb\x1b[201~\r", vec![Keys::Text, Keys::Submit]),
            (b"\x1b[200~a\nb", vec![Keys::Text]),
            (b"\x1b[13u", vec![Keys::Submit]),
            (b"\x1b[C\x1b[D\x1bOP", vec![]),
            (b"\x1b[A", vec![Keys::Edit]),
            (b"\x15\x7f\x1b", vec![Keys::Edit]),
            (b"x\x03", vec![Keys::Text, Keys::Edit]),
            (b"\x1b[I\x1b[O\x1b[<0;10;5M\x1b[M abc", vec![Keys::Text]),
            (b"\x1b]11;rgb:0/0/0\x07\x1b]7501;?\x1b\\\x1b[?62c", vec![]),
        ] {
            assert_eq!(classify(bytes), keys, "{:?}", String::from_utf8_lossy(bytes));
        }
    }
}
