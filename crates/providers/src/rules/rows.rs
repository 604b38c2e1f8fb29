//! The rows of a frame with their classes, examined anew only where they changed.

use ptyard_screen::View;

use super::anchor::{self, Anchor};
use super::term::{AnchorIndex, Term, Within};

/// A row as rules see it.
#[derive(Debug, Clone, Default)]
struct Row {
    text: String,
    /// One bit for every class it is of.
    classes: u64,
    is_filled: bool,
    is_blank: bool,
}

/// The rows of the last frame.
#[derive(Debug, Clone, Default)]
pub(crate) struct Rows {
    rows: Vec<Row>,
    /// The row of the cursor, while it is shown.
    cursor: Option<usize>,
}

impl Rows {
    /// Takes over a frame. Returns whether a row changed.
    pub(crate) fn update(&mut self, view: &View, anchors: &[Anchor]) -> bool {
        let lines = view.screen_lines();
        self.cursor = view.cursor.visible.then(|| usize::from(view.cursor.row));
        let known = self.rows.len().min(lines.len());
        let mut changed = lines.len() != self.rows.len();
        self.rows.resize_with(lines.len(), Row::default);
        for (at, (row, line)) in self.rows.iter_mut().zip(lines).enumerate() {
            let text = line.text.trim_end();
            let is_filled = anchor::is_filled(line);
            if at < known && row.text == text && row.is_filled == is_filled {
                continue;
            }
            changed = true;
            row.text.clear();
            row.text.push_str(text);
            row.is_blank = text.is_empty();
            row.is_filled = is_filled;
            row.classes = anchor::classes(text, is_filled, anchors);
        }
        changed
    }

    /// Whether a term holds.
    pub(crate) fn holds(&self, term: &Term) -> bool {
        match *term {
            Term::Count { at_least, anchor, within } => self.count(anchor, within, at_least) >= at_least,
            Term::Under { limit, anchor, within } => self.count(anchor, within, limit) < limit,
            Term::CursorOn(anchor) => self.cursor.is_some_and(|row| self.is(row, anchor)),
            Term::CursorFrom(anchor) => {
                self.last(anchor).is_some_and(|last| self.cursor.is_some_and(|row| row >= last))
            }
            Term::Only { anchors, below } => self.last(below).is_some_and(|last| {
                self.rows[last + 1..].iter().all(|row| row.is_blank || row.classes & anchors != 0)
            }),
        }
    }

    /// The last row of a class.
    pub(crate) fn last(&self, anchor: AnchorIndex) -> Option<usize> {
        self.rows.iter().rposition(|row| row.classes & bit(anchor) != 0)
    }

    /// The last row of a class before row `before`.
    pub(crate) fn last_before(&self, anchor: AnchorIndex, before: usize) -> Option<usize> {
        self.rows[..before.min(self.rows.len())].iter().rposition(|row| row.classes & bit(anchor) != 0)
    }

    /// Whether a row is of a class.
    pub(crate) fn is(&self, at: usize, anchor: AnchorIndex) -> bool {
        self.rows.get(at).is_some_and(|row| row.classes & bit(anchor) != 0)
    }

    /// Whether a row is of one of some classes.
    pub(crate) fn is_any(&self, at: usize, classes: u64) -> bool {
        self.rows.get(at).is_some_and(|row| row.classes & classes != 0)
    }

    /// Rows of a class in a place, counted up to `enough`.
    fn count(&self, anchor: AnchorIndex, within: Within, enough: usize) -> usize {
        let rows = match within {
            Within::All => &self.rows[..],
            Within::Bottom(wanted) => &self.rows[self.bottom(wanted)..],
            Within::Top(wanted) => &self.rows[..self.top(wanted)],
            Within::Below(of) => match self.last(of) {
                Some(last) => &self.rows[last + 1..],
                None => return 0,
            },
            Within::After(of) => &self.rows[self.last(of).map_or(0, |last| last + 1)..],
            Within::Above(of) => match self.last(of) {
                Some(last) => &self.rows[..last],
                None => return 0,
            },
        };
        rows.iter().filter(|row| row.classes & bit(anchor) != 0).take(enough).count()
    }

    /// Where the last `wanted` rows begin that are not blank.
    fn bottom(&self, wanted: usize) -> usize {
        let mut used = self.rows.iter().enumerate().rev().filter(|(_, row)| !row.is_blank);
        used.nth(wanted.saturating_sub(1)).map_or(0, |(at, _)| at)
    }

    /// Where the first `wanted` rows end that are not blank.
    fn top(&self, wanted: usize) -> usize {
        let mut used = self.rows.iter().enumerate().filter(|(_, row)| !row.is_blank);
        used.nth(wanted.saturating_sub(1)).map_or(self.rows.len(), |(at, _)| at + 1)
    }

    /// Whether nothing stands on the screen.
    pub(crate) fn is_blank(&self) -> bool {
        self.rows.iter().all(|row| row.is_blank)
    }

    /// The text of a row.
    pub(crate) fn text(&self, at: usize) -> &str {
        self.rows.get(at).map_or("", |row| &row.text)
    }

    /// How many rows there are.
    pub(crate) fn len(&self) -> usize {
        self.rows.len()
    }
}

const fn bit(anchor: AnchorIndex) -> u64 {
    1 << anchor
}
