//! The screen: output as a person would see it.

mod ansi;
mod dispatch;
mod emulator;
mod extract;
mod glyph;
mod hold;
mod set_modes;
mod sgr;
mod style;
mod view;

use ptyard_core::{Moment, Size};

use crate::modes::Modes;
use emulator::Emulator;
pub use hold::SYNC_TIMEOUT;
pub use style::{Colour, Style, Underline};
pub use view::{Cursor, Line, View};

/// Scrollback of a screen nobody gave a number: a thousand lines of 80 columns cost about 2 MB when they are
/// full. Older text is in the log.
pub const DEFAULT_SCROLLBACK_LINES: usize = 1_000;

/// Most lines of scrollback; a larger number is clamped. 1,000 columns of 10,000 lines are 240 MB.
pub const MAX_SCROLLBACK_LINES: usize = 10_000;

/// A terminal's screen, drawn from its output.
///
/// Feeding is a pure function of the bytes and of the offsets of the resizes between them: however they were cut,
/// the same screen comes out. No bytes make it panic or loop, and its memory is bounded by its size.
pub trait Screen: Send {
    /// Draws `bytes`. What belongs to a synchronized update (mode 2026) is held back until the update ends, or is
    /// older than [`SYNC_TIMEOUT`] at some `now`.
    fn feed(&mut self, bytes: &[u8], now: Moment);

    /// Changes the size. Lines of the normal screen are wrapped anew.
    fn resize(&mut self, size: Size);

    /// The size.
    fn size(&self) -> Size;

    /// Where the cursor is in the frame that is shown.
    fn cursor(&self) -> Cursor;

    /// The window's title; empty when none was set.
    fn title(&self) -> &str;

    /// The modes in force in the frame that is shown.
    fn modes(&self) -> &Modes;

    /// What is shown, with at most `scrollback` lines before it. Looking never changes what later bytes do.
    fn view(&mut self, scrollback: usize, now: Moment) -> View;

    /// When a synchronized update that is going on will be shown unfinished; `None` when there is none.
    fn deadline(&self) -> Option<Moment>;

    /// Bytes fed that are held back by a synchronized update: the frame shown is that of so many bytes ago.
    fn held(&self) -> usize;

    /// Whether a plain run from here on may be jumped over, see [`catch_up`](crate::catch_up): the normal screen
    /// without margins, in its usual modes, between two sequences.
    fn can_skip(&self) -> bool;
}

/// An empty screen of `size` that keeps `scrollback_lines` lines that scrolled away.
#[must_use]
pub fn new_screen(size: Size, scrollback_lines: usize) -> Box<dyn Screen> {
    Box::new(Emulator::new(size, scrollback_lines.min(MAX_SCROLLBACK_LINES)))
}
