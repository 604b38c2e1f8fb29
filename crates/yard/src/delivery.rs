//! A window on its way to its caller.

use std::sync::Arc;

use ptyard_core::Moment;
use ptyard_terminal::{Handover, Ready, Written};

use crate::entry::Entry;
use crate::ids;
use crate::position::Position;
use crate::spec::{Naming, Window};
use crate::yard::Yard;

/// A window that is ready and not yet handed over. Dropped, it has cost nothing; [`Delivery::commit`] moves the cursor
/// in the same step that hands the window over.
pub struct Delivery {
    handover: Handover,
    entry: Arc<Entry>,
    window: Window,
    now: Moment,
}

/// What came of the input before the window.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct InputOutcome {
    pub(crate) written: Option<Written>,
    pub(crate) removed: Option<u64>,
    /// Whether it stopped the output, for a program that has flow control on.
    pub(crate) stopped_output: bool,
}

impl Delivery {
    pub(crate) fn new(
        yard: &Yard,
        entry: Arc<Entry>,
        ready: Ready,
        started: Moment,
        input: InputOutcome,
        warnings: Vec<String>,
        naming: Naming,
    ) -> Self {
        let (collected, handover) = ready.into_parts();
        let now = yard.inner.clock.now();
        let is_told = collected.exit.is_none() && naming == Naming::Any;
        let session_id = is_told.then(|| entry.tell_short());
        let window = Window {
            id: entry.id(),
            session_id,
            output: collected.text,
            exit: collected.exit,
            original_token_count: collected.original_token_count,
            from: collected.from,
            next: collected.next,
            evicted: collected.evicted,
            ended_by: collected.ended_by.as_str(),
            wall: now.since(started),
            chunk_id: ids::chunk_id(),
            written: input.written.map(|written| written.taken as u64),
            unwritten: input.written.map(|written| written.taken_back as u64).filter(|bytes| *bytes > 0),
            removed: input.removed,
            warnings,
        };
        Self { handover, entry, window, now }
    }

    /// The window.
    #[must_use]
    pub fn window(&self) -> &Window {
        &self.window
    }

    /// Hands it over: the cursor moves now.
    #[must_use]
    pub fn commit(self) -> Window {
        let is_shared = self.handover.is_shared();
        let position = Position { offset: self.window.next, end: self.window.exit.is_some() };
        if is_shared {
            // Before the turn ends with the commit, so that nobody who comes later is overwritten.
            self.entry.note_position(position);
        }
        self.handover.commit();
        if is_shared && position.end {
            self.entry.end_delivered();
        }
        self.entry.used(self.now);
        self.window
    }
}
