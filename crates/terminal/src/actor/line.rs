//! Lines that a line discipline would cut without a word.

use crate::backend::TtyState;

/// A write that was refused whole: the line discipline would drop the end of a line this long.
#[derive(Debug)]
pub(crate) struct LineTooLong {
    /// Bytes of the line, its end not counted.
    pub(crate) bytes: usize,
}

/// What a tty in line mode takes of one line, its newline not counted: the kernel drops the rest without a word.
const LINE_BYTES: usize = 4_095;

/// The line that was typed so far.
///
/// It is looked at in the turn that queues the write, so that nobody can change the line discipline between the look
/// and the answer.
#[derive(Debug, Default)]
pub(super) struct Line {
    /// Bytes typed since the last line was handed over.
    begun: usize,
}

impl Line {
    /// Refuses what the line discipline would cut if it was typed now.
    pub(super) fn check(&mut self, tty: Option<&TtyState>, typed: &[u8]) -> Result<(), LineTooLong> {
        if !tty.is_some_and(|tty| tty.line_mode) {
            self.begun = 0;
            return Ok(());
        }
        let mut lines = typed.split(|byte| ends_line(*byte)).map(<[u8]>::len);
        let first = self.begun + lines.next().unwrap_or(0);
        let longest = lines.max().unwrap_or(0).max(first);
        if longest > LINE_BYTES { Err(LineTooLong { bytes: longest }) } else { Ok(()) }
    }

    /// Counts what the terminal took.
    pub(super) fn taken(&mut self, bytes: &[u8]) {
        match bytes.iter().rposition(|byte| ends_line(*byte)) {
            Some(end) => self.begun = bytes.len() - end - 1,
            None => self.begun += bytes.len(),
        }
    }
}

/// Whether a line discipline in its usual setting hands its line over (CR, LF, C-d) or throws it away (C-c, C-u, C-z,
/// C-\\) when it reads this.
const fn ends_line(byte: u8) -> bool {
    matches!(byte, b'\n' | b'\r' | 0x03 | 0x04 | 0x15 | 0x1a | 0x1c)
}

#[cfg(test)]
mod tests {
    use super::*;

    const COOKED: TtyState = TtyState {
        line_mode: true,
        echo: true,
        line_editor: false,
        flow_control: false,
        program_in_foreground: true,
        foreground_group: None,
    };

    fn refused(line: &mut Line, tty: Option<&TtyState>, bytes: usize) -> Option<usize> {
        line.check(tty, &vec![b'x'; bytes]).err().map(|refused| refused.bytes)
    }

    #[test]
    fn a_line_is_counted_over_writes_until_it_is_handed_over() {
        let mut line = Line::default();
        assert_eq!(refused(&mut line, Some(&COOKED), 4_095), None);
        assert_eq!(refused(&mut line, Some(&COOKED), 4_096), Some(4_096));
        line.taken(&[b'x'; 4_000]);
        assert_eq!(refused(&mut line, Some(&COOKED), 100), Some(4_100));
        line.taken(b"\rxx");
        assert_eq!(refused(&mut line, Some(&COOKED), 4_093), None);
        assert_eq!(refused(&mut line, Some(&COOKED), 4_094), Some(4_096));
    }

    #[test]
    fn what_was_typed_without_line_mode_is_no_line() {
        let mut line = Line::default();
        line.taken(&[b'x'; 9_000]);
        let raw = TtyState { line_mode: false, ..COOKED };
        assert_eq!(refused(&mut line, Some(&raw), 9_000), None);
        assert_eq!(refused(&mut line, Some(&COOKED), 4_095), None);
        line.taken(&[b'x'; 9_000]);
        assert_eq!(refused(&mut line, None, 1), None, "a pipe has no lines");
    }
}
