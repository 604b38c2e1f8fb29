//! Output in its order, whatever came twice, late or not at all.
//!
//! # Invariants
//! 1. What is next continues exactly what was before it.
//! 2. What is held is at most what the carrier sends before it hears that something has arrived.

use std::collections::VecDeque;

use bytes::Bytes;
use ptyard_core::Exit;

use super::lines::Line;

/// What is passed on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Item {
    Output(Bytes),
    /// The program ended.
    Ended(Exit),
    /// The output is closed.
    Closed,
}

/// What a line comes to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Came {
    /// All is there so far.
    InOrder,
    /// Something before it is missing.
    Gap,
    /// So much of the input was taken, of so much that came; this is the answer to that question.
    Stands { taken: u64, came: u64, asked: u32 },
}

/// After so many pieces of the terminal with output the carrier is told that they have arrived. It goes on for four times as
/// many.
const ARRIVED_EVERY: usize = 12;

/// Output as it comes.
#[derive(Debug, Default)]
pub(super) struct Heard {
    /// Up to here it came.
    have: u64,
    /// Up to here it was passed on.
    passed: u64,
    /// In so many pieces of the terminal, since the carrier was told so.
    untold: usize,
    /// What is there, and in how many pieces it came.
    items: VecDeque<(Item, usize)>,
    has_ended: bool,
    is_closed: bool,
}

impl Heard {
    /// Output from this offset on.
    pub(super) fn from(offset: u64) -> Self {
        Self { have: offset, passed: offset, ..Self::default() }
    }

    pub(super) fn take(&mut self, line: Line) -> Came {
        match line {
            Line::Output { at, bytes, pieces } => {
                let Some(known) = self.have.checked_sub(at) else { return Came::Gap };
                let known = usize::try_from(known).unwrap_or(usize::MAX).min(bytes.len());
                let new = Bytes::from(bytes).slice(known..);
                if !new.is_empty() {
                    self.have += new.len() as u64;
                    self.items.push_back((Item::Output(new), pieces));
                }
                Came::InOrder
            }
            Line::Ended { at, .. } | Line::Closed { at } | Line::Stands { said: at, .. }
                if at > self.have =>
            {
                Came::Gap
            }
            Line::Ended { exit, .. } => {
                if !std::mem::replace(&mut self.has_ended, true) {
                    self.items.push_back((Item::Ended(exit), 0));
                }
                Came::InOrder
            }
            Line::Closed { .. } => {
                if !std::mem::replace(&mut self.is_closed, true) {
                    self.items.push_back((Item::Closed, 0));
                }
                Came::InOrder
            }
            Line::Stands { taken, came, asked, .. } => Came::Stands { taken, came, asked },
        }
    }

    pub(super) const fn has_ended(&self) -> bool {
        self.has_ended
    }

    /// Whether something is there to be passed on.
    pub(super) fn is_waiting(&self) -> bool {
        !self.items.is_empty()
    }

    /// What is passed on next.
    pub(super) fn pass(&mut self) -> Option<Item> {
        let (item, pieces) = self.items.pop_front()?;
        if let Item::Output(bytes) = &item {
            self.passed += bytes.len() as u64;
            self.untold += pieces;
        }
        Some(item)
    }

    /// What the carrier is to be told now, if anything.
    pub(super) fn arrived(&mut self) -> Option<u64> {
        (self.untold >= ARRIVED_EVERY).then(|| self.offsets().0)
    }

    /// Up to where it was passed on, which the carrier is told then, and up to where it came.
    pub(super) fn offsets(&mut self) -> (u64, u64) {
        self.untold = 0;
        (self.passed, self.have)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn output(at: u64, text: &str) -> Line {
        Line::Output { at, bytes: text.into(), pieces: 1 }
    }

    #[test]
    fn output_is_whole_whatever_comes_twice_or_is_missing() {
        let mut heard = Heard::from(3);
        let stands = |said| Line::Stands { said, taken: 0, came: 0, asked: 1 };
        assert_eq!(heard.take(output(0, "abc")), Came::InOrder, "known long since");
        assert_eq!(heard.take(output(3, "de")), Came::InOrder);
        assert_eq!(heard.take(output(3, "de")), Came::InOrder);
        assert_eq!(heard.take(output(6, "g")), Came::Gap);
        assert_eq!(heard.take(Line::Ended { at: 7, exit: Exit::exited(1) }), Came::Gap);
        assert_eq!(heard.take(stands(7)), Came::Gap, "something was printed that did not come");
        assert_eq!(heard.take(output(4, "efg")), Came::InOrder, "cut otherwise");
        assert_eq!(heard.take(Line::Closed { at: 7 }), Came::InOrder);
        for _again in 0..2 {
            assert_eq!(heard.take(Line::Ended { at: 7, exit: Exit::exited(1) }), Came::InOrder);
        }
        assert_eq!(heard.take(stands(7)), Came::Stands { taken: 0, came: 0, asked: 1 });
        let items: Vec<Item> = std::iter::from_fn(|| heard.pass()).collect();
        let bytes = |text: &'static str| Item::Output(Bytes::from_static(text.as_bytes()));
        assert_eq!(items, [bytes("de"), bytes("fg"), Item::Closed, Item::Ended(Exit::exited(1))]);
        assert_eq!(heard.offsets(), (7, 7));
    }

    #[test]
    fn only_what_was_passed_on_has_arrived() {
        let mut heard = Heard::default();
        let every = ARRIVED_EVERY as u64;
        for at in 0..every {
            heard.take(output(at, "x"));
        }
        // What came twice came in no piece that anybody waits for.
        heard.take(output(0, "x"));
        assert_eq!(heard.arrived(), None);
        for _ in 1..every {
            heard.pass();
            assert_eq!(heard.arrived(), None);
        }
        heard.pass();
        assert_eq!((heard.arrived(), heard.arrived()), (Some(every), None));
        heard.take(Line::Output { at: every, bytes: b"y".into(), pieces: ARRIVED_EVERY });
        heard.pass();
        assert_eq!(heard.arrived(), Some(every + 1), "a long line is many");
    }
}
