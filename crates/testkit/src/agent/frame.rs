//! What is on the screen, and the bytes that draw it.

use std::fmt::Write as _;
use std::mem;

/// A screen: lines from the top, and the cursor.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Frame {
    /// The lines.
    pub lines: Vec<String>,
    /// Row and column of the cursor, from 0.
    pub cursor: (usize, usize),
}

impl Frame {
    /// The bytes that draw it on a terminal of `rows` rows, whatever is there now. The last rows win where not all fit.
    #[must_use]
    pub fn draw(&self, rows: usize) -> Vec<u8> {
        let hidden = self.lines.len().saturating_sub(rows);
        let mut out = String::from("\x1b[?2026h\x1b[H");
        for (row, line) in self.lines[hidden..].iter().enumerate() {
            let end = if row == 0 { "" } else { "\r\n" };
            let _infallible = write!(out, "{end}{line}\x1b[K");
        }
        let (row, column) = self.cursor;
        let _infallible =
            write!(out, "\x1b[J\x1b[{};{}H\x1b[?2026l", row.saturating_sub(hidden) + 1, column + 1);
        out.into_bytes()
    }
}

/// Lines, wrapped at the right edge.
#[derive(Debug)]
pub(super) struct Page {
    columns: usize,
    frame: Frame,
}

impl Page {
    pub(super) fn new(columns: usize) -> Self {
        Self { columns, frame: Frame::default() }
    }

    /// Adds a line, and puts the cursor at its end.
    pub(super) fn line(&mut self, text: &str) {
        let mut line = String::new();
        let mut used = 0;
        for c in text.chars() {
            // A tab and other controls have no cell of their own; a blank keeps the columns.
            let c = if c.is_control() { ' ' } else { c };
            let width = unicode_width::UnicodeWidthChar::width(c).unwrap_or(0);
            if used + width > self.columns {
                self.frame.lines.push(mem::take(&mut line));
                used = 0;
            }
            line.push(c);
            used += width;
        }
        self.frame.cursor = (self.frame.lines.len(), used.min(self.columns - 1));
        self.frame.lines.push(line);
    }

    /// Adds a line below the cursor.
    pub(super) fn footer(&mut self, text: &str) {
        self.frame.lines.push(text.to_owned());
    }

    pub(super) fn into_frame(self) -> Frame {
        self.frame
    }
}
