//! A window on its way to its caller.

use std::io::ErrorKind;
use std::sync::Arc;

use ptyard_core::Moment;
use ptyard_terminal::{Ready, Written};

use crate::entry::Entry;
use crate::ids;
use crate::position::Position;
use crate::spec::Window;
use crate::yard::Yard;

/// A window that is ready and not yet handed over. Dropped, it has cost nothing; [`Delivery::commit`] moves the cursor
/// in the same step that hands the window over.
pub struct Delivery {
    ready: Ready,
    entry: Arc<Entry>,
    window: Window,
    now: Moment,
}

/// What came of the input before the window.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct InputOutcome {
    pub(crate) written: Option<Written>,
    pub(crate) removed: Option<u64>,
}

impl Delivery {
    pub(crate) fn new(
        yard: &Yard,
        entry: Arc<Entry>,
        ready: Ready,
        started: Moment,
        input: InputOutcome,
        warnings: Vec<String>,
    ) -> Self {
        let collected = ready.collected();
        let now = yard.inner.clock.now();
        let session_id = if collected.exit.is_some() { None } else { Some(entry.tell_short()) };
        let window = Window {
            id: entry.id(),
            session_id,
            output: collected.text.clone(),
            exit: collected.exit.clone(),
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
        Self { ready, entry, window, now }
    }

    /// The window.
    #[must_use]
    pub fn window(&self) -> &Window {
        &self.window
    }

    /// Hands it over: the cursor moves now.
    #[must_use]
    pub fn commit(self) -> Window {
        let shared = self.ready.is_shared();
        if shared {
            // Before the turn ends with the commit, so that nobody who comes later is overwritten.
            let collected = self.ready.collected();
            let position = Position { offset: collected.next, end: collected.exit.is_some() };
            if let Err(error) = position.write(self.entry.terminal.log().dir())
                && error.kind() != ErrorKind::NotFound
            {
                tracing::warn!(%error, "the cursor is not written down: a restart would show this window again");
            }
        }
        let collected = self.ready.commit();
        if shared && collected.exit.is_some() {
            self.entry.end_delivered();
        }
        self.entry.used(self.now);
        self.window
    }
}
