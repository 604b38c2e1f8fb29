//! A picture of a screen.

use ptyard_core::Size;

use super::ansi;
use super::style::Style;
use crate::modes::Modes;

/// Where the cursor is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Cursor {
    /// The row on the visible screen, from 0.
    pub row: u16,
    /// The column, from 0.
    pub col: u16,
    /// Whether it is shown.
    pub visible: bool,
}

/// One row of a view.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Line {
    /// The text without the blanks at its end; of a wrapped row, all of it.
    pub text: String,
    /// Whether the next row goes on with this one's line.
    pub wrapped: bool,
    pub(super) runs: Vec<Run>,
}

/// A stretch of cells drawn alike. The runs of a line follow each other in its text and then in blanks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Run {
    /// The column of the first cell.
    pub(super) col: u16,
    /// Cells.
    pub(super) cols: u16,
    /// Bytes of text, the blanks cut off at the line's end included.
    pub(super) bytes: u32,
    pub(super) style: Style,
    /// Whether the next run has to be addressed: terminals may disagree about the width of this one.
    pub(super) is_vague: bool,
}

/// What a screen showed at one moment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct View {
    /// The size.
    pub size: Size,
    /// The cursor.
    pub cursor: Cursor,
    /// The title.
    pub title: String,
    /// The modes.
    pub modes: Modes,
    /// The rows, [`Self::scrollback`] of them that scrolled away first.
    pub lines: Vec<Line>,
    /// How many rows of [`Self::lines`] scrolled away. The alternate screen has none.
    pub scrollback: usize,
    /// A synchronized update is going on: this is the frame before it.
    pub frame_incomplete: bool,
    pub(super) state: DrawingState,
}

/// What is not seen and decides what the next bytes do.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct DrawingState {
    pub(super) pen: Style,
    /// The cursor stands on a full row, the next character wraps.
    pub(super) wrap_pending: bool,
    /// The margins, from 0, both inside; `None` when they are the whole screen.
    pub(super) margins: Option<(u16, u16)>,
    /// Which of G0 to G3 are the line drawing set.
    pub(super) line_drawing: [bool; 4],
    /// G1 is in use.
    pub(super) shifted: bool,
    /// The cursor saved by DECSC, with its pen.
    pub(super) saved: (u16, u16, Style),
}

impl Line {
    /// The text in stretches drawn alike, in order.
    pub fn segments(&self) -> impl Iterator<Item = (&str, Style)> {
        let mut rest = &self.text[..];
        self.runs.iter().map_while(move |run| {
            // The last run may count blanks that the text does not hold.
            let (segment, after) = rest.split_at_checked(run.bytes as usize).unwrap_or((rest, ""));
            rest = after;
            (!segment.is_empty()).then_some((segment, run.style))
        })
    }
}

impl View {
    /// The rows on the screen, without those that scrolled away.
    #[must_use]
    pub fn screen_lines(&self) -> &[Line] {
        &self.lines[self.scrollback.min(self.lines.len())..]
    }

    /// The text: rows as lines, a wrapped line in one, without the blank rows at the end.
    #[must_use]
    pub fn to_text(&self) -> String {
        let mut text = String::new();
        let used = self.lines.iter().rposition(|line| !line.text.is_empty()).map_or(0, |last| last + 1);
        for line in &self.lines[..used] {
            text.push_str(&line.text);
            if !line.wrapped {
                text.push('\n');
            }
        }
        text
    }

    /// Bytes that draw this view on a fresh terminal of the same size: text, colours, cursor, modes and title,
    /// with the scrollback scrolled away.
    ///
    /// They begin with `CAN` and `ST`, so they may follow a sequence that was cut, and put every mode to a known
    /// state, without clearing the scrollback. What follows [`Screen::held`](crate::Screen::held) bytes before
    /// the view's end goes on from there. Not carried: tab stops, links, the main screen
    /// behind an alternate one, the mark that a row wrapped where nothing that follows would show it, and the colour of
    /// a cell that a wide character left free at a row's end because it did not fit.
    #[must_use]
    pub fn to_ansi(&self) -> Vec<u8> {
        ansi::draw(self)
    }
}
