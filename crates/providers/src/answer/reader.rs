//! Draws a log again and finds the last answer in it.

use std::sync::Arc;

use ptyard_core::{Moment, Size};
use ptyard_screen::screen::MAX_SCROLLBACK_LINES;
use ptyard_screen::{Line, Screen, new_screen};

use super::stitch::Stitch;
use super::{extract, text};
use crate::manifest::Provider;
use crate::rules::anchor;

/// Bytes that are drawn between two looks at a full-screen program whose frames are not marked.
const PIECE: usize = 4096;

/// The end of a synchronized update.
const UPDATE_END: &[u8] = b"\x1b[?2026l";

/// An answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer {
    /// Its text, lines ended by line feeds but the last.
    pub text: String,
    /// Whether part of it is gone: its beginning scrolled out of what was kept.
    pub partial: bool,
}

/// A row of a transcript.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Row {
    pub(super) text: String,
    pub(super) wrapped: bool,
    pub(super) classes: u64,
}

/// Reads answers out of a log that is fed to it from its beginning, or from a later place.
pub struct Reader {
    provider: Arc<Provider>,
    screen: Box<dyn Screen>,
    stitch: Stitch,
    /// Bytes of an update's end that the last piece ended with.
    begun: usize,
}

impl Reader {
    /// A reader of the log of a terminal of `size`.
    #[must_use]
    pub fn new(provider: Arc<Provider>, size: Size) -> Self {
        Self { provider, screen: new_screen(size, MAX_SCROLLBACK_LINES), stitch: Stitch::default(), begun: 0 }
    }

    /// Draws more of the log. `now` matters only for updates that were never ended.
    pub fn feed(&mut self, bytes: &[u8], now: Moment) {
        let mut rest = bytes;
        while !rest.is_empty() {
            let (piece, after) = rest.split_at(self.piece(rest));
            self.screen.feed(piece, now);
            self.begun = begun(self.begun, piece);
            rest = after;
            if self.screen.modes().alt_screen {
                let frame = self.rows(0, now);
                let bottom = extract::bottom(&self.provider, &frame);
                self.stitch.frame(&frame[..bottom]);
            }
        }
    }

    /// How much is drawn before the next look: up to the end of an update, which may have begun in the last piece.
    fn piece(&self, rest: &[u8]) -> usize {
        if self.begun > 0 && rest.starts_with(&UPDATE_END[self.begun..]) {
            return UPDATE_END.len() - self.begun;
        }
        let rest = &rest[..rest.len().min(PIECE)];
        memchr::memmem::find(rest, UPDATE_END).map_or(rest.len(), |at| at + UPDATE_END.len())
    }

    /// The size changed.
    pub fn resize(&mut self, size: Size) {
        self.screen.resize(size);
        self.stitch = Stitch::default();
    }

    /// The last answer in what was drawn; `None` when there is none.
    #[must_use]
    pub fn answer(&mut self, now: Moment) -> Option<Answer> {
        let is_full = self.screen.modes().alt_screen;
        let mut rows = self.rows(if is_full { 0 } else { MAX_SCROLLBACK_LINES }, now);
        let bottom = extract::bottom(&self.provider, &rows);
        rows.truncate(bottom);
        let gap = if is_full { self.stitch.before(&mut rows) } else { rows.len() >= MAX_SCROLLBACK_LINES };
        let found = extract::last(&self.provider, &rows, gap)?;
        let width = usize::from(self.screen.size().cols());
        let text = text::of(&rows[found.rows], found.margin, width, self.provider.answer.as_ref()?);
        (!text.is_empty()).then_some(Answer { text, partial: found.partial })
    }

    fn rows(&mut self, scrollback: usize, now: Moment) -> Vec<Row> {
        let anchors = &self.provider.anchors;
        let row = |line: &Line| {
            let text = line.text.trim_end();
            let classes = anchor::classes(text, anchor::is_filled(line), anchors);
            Row { text: text.to_owned(), wrapped: line.wrapped, classes }
        };
        self.screen.view(scrollback, now).lines.iter().map(row).collect()
    }
}

/// Bytes of an update's end that a piece ends with, which followed `before` of them.
fn begun(before: usize, piece: &[u8]) -> usize {
    if before > 0 && UPDATE_END[before..].starts_with(piece) && before + piece.len() < UPDATE_END.len() {
        return before + piece.len();
    }
    (1..UPDATE_END.len()).rev().find(|&len| piece.ends_with(&UPDATE_END[..len])).unwrap_or(0)
}
