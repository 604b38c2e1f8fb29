//! Puts a transcript together from the frames of a program that scrolls by itself.

use super::reader::Row;

/// Rows that have to be the same in two frames for one to be the other, scrolled.
const LEAST_COMMON: usize = 3;

/// Most rows that are kept.
const MOST: usize = 100_000;

/// What scrolled out of a program's own viewport.
///
/// # Invariants
///
/// 1. `gone` followed by `last` is what would be seen on an endless screen, if `is_whole`.
#[derive(Debug, Default)]
pub(super) struct Stitch {
    gone: Vec<Row>,
    last: Vec<Row>,
    /// Frames could not be put together: what was before `gone` is not known.
    has_gap: bool,
}

impl Stitch {
    /// Takes the next frame of the viewport.
    pub(super) fn frame(&mut self, frame: &[Row]) {
        if let Some(scrolled) = self.scrolled(frame) {
            let at = scrolled.min(self.last.len());
            self.gone.extend(self.last.drain(..at));
        } else if !is_blank(frame) && !is_blank(&self.last) {
            self.gone.clear();
            self.has_gap = true;
        }
        if self.gone.len() > MOST {
            self.gone.drain(..self.gone.len() - MOST);
            self.has_gap = true;
        }
        self.last.clear();
        self.last.extend_from_slice(frame);
    }

    /// Puts what scrolled away before `rows`. Returns whether something is missing before it.
    pub(super) fn before(&self, rows: &mut Vec<Row>) -> bool {
        rows.splice(0..0, self.gone.iter().cloned());
        self.has_gap
    }

    /// By how many rows the last frame has to be scrolled up to become this one; `None` when by none.
    fn scrolled(&self, frame: &[Row]) -> Option<usize> {
        let last = &self.last;
        (0..last.len().max(1)).find(|&by| {
            let common = frame.iter().zip(&last[by.min(last.len())..]);
            // What is written at the moment is at the end, so the beginning has to be the same.
            let same = common.take_while(|(new, old)| new.text == old.text);
            let same = same.filter(|(new, _)| !new.text.trim().is_empty()).count();
            let expected =
                last[by.min(last.len())..].iter().filter(|row| !row.text.trim().is_empty()).count();
            same >= LEAST_COMMON.min(expected) && same * 2 >= expected
        })
    }
}

fn is_blank(rows: &[Row]) -> bool {
    rows.iter().all(|row| row.text.trim().is_empty())
}
