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

/// After so much output the carrier is told that it has arrived, in bytes. It goes on for six times as much.
const ARRIVED_EVERY: u64 = 16 << 10;

/// Output as it comes.
#[derive(Debug, Default)]
pub(super) struct Heard {
    /// Up to here it came.
    have: u64,
    /// Up to here it was passed on.
    passed: u64,
    /// Up to here the carrier was told so.
    told: u64,
    items: VecDeque<Item>,
    has_ended: bool,
    is_closed: bool,
}

impl Heard {
    /// Output from this offset on.
    pub(super) fn from(offset: u64) -> Self {
        Self { have: offset, passed: offset, told: offset, ..Self::default() }
    }

    pub(super) fn take(&mut self, line: Line) -> Came {
        match line {
            Line::Output { at, bytes } => {
                let Some(known) = self.have.checked_sub(at) else { return Came::Gap };
                let known = usize::try_from(known).unwrap_or(usize::MAX);
                if let Some(new @ [_, ..]) = bytes.get(known..) {
                    self.have += new.len() as u64;
                    self.items.push_back(Item::Output(Bytes::copy_from_slice(new)));
                }
                Came::InOrder
            }
            Line::Ended { at, .. } | Line::Closed { at } | Line::Stands { end: at, .. } if at > self.have => {
                Came::Gap
            }
            Line::Ended { exit, .. } => {
                if !std::mem::replace(&mut self.has_ended, true) {
                    self.items.push_back(Item::Ended(exit));
                }
                Came::InOrder
            }
            Line::Closed { .. } => {
                if !std::mem::replace(&mut self.is_closed, true) {
                    self.items.push_back(Item::Closed);
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
        let item = self.items.pop_front();
        if let Some(Item::Output(bytes)) = &item {
            self.passed += bytes.len() as u64;
        }
        item
    }

    /// What the carrier is to be told now, if anything.
    pub(super) fn arrived(&mut self) -> Option<u64> {
        (self.passed - self.told >= ARRIVED_EVERY).then(|| {
            self.told = self.passed;
            self.passed
        })
    }

    /// Up to where it was passed on, and up to where it came.
    pub(super) fn offsets(&mut self) -> (u64, u64) {
        self.told = self.passed;
        (self.passed, self.have)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn output(at: u64, text: &str) -> Line {
        Line::Output { at, bytes: text.into() }
    }

    #[test]
    fn output_is_whole_whatever_comes_twice_or_is_missing() {
        let mut heard = Heard::from(3);
        let stands = |end| Line::Stands { end, taken: 0, came: 0, asked: 1 };
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
        for at in 0..20 {
            heard.take(output(at * 1000, &"x".repeat(1000)));
        }
        assert_eq!(heard.arrived(), None);
        while heard.pass().is_some() {}
        assert_eq!((heard.arrived(), heard.arrived()), (Some(20_000), None));
    }
}
