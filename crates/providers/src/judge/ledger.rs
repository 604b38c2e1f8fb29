//! Turns: what was handed over, and whether it was taken up.

use std::time::Duration;

use ptyard_core::Moment;
use ptyard_core::turn::{Evidence, Rule, Source, Status};

use super::Composer;
use super::steady::Asked;
use crate::manifest::Ready;

/// Holds ready back until a message that was handed over was taken up.
#[derive(Debug, Default)]
pub(crate) struct Ledger {
    turns: u64,
    open: Option<Open>,
}

#[derive(Debug)]
struct Open {
    /// Where the log ended when it was handed over.
    offset: u64,
    /// Work, a question or a failure was seen after it.
    taken_up: bool,
    /// Since when the screen looks ready without a sign of work.
    looks_ready: Option<Moment>,
}

impl Ledger {
    /// A ledger of so many turns, all of them over.
    pub(crate) fn after(turns: u64) -> Self {
        Self { turns, open: None }
    }

    /// A message was handed over; the log ended at `offset`.
    pub(crate) fn dispatched(&mut self, offset: u64) {
        self.turns += 1;
        self.open = Some(Open { offset, taken_up: false, looks_ready: None });
    }

    /// Whether a message was handed over that was not seen to be taken up.
    pub(crate) fn asked(&self) -> Asked {
        match &self.open {
            Some(open) if !open.taken_up => Asked::Yes,
            _ => Asked::No,
        }
    }

    /// What `said` means for the turn: ready from before the message, or before it was taken up, is none.
    pub(crate) fn weigh(
        &mut self,
        mut said: Evidence,
        composer: &Composer,
        ready: &Ready,
        now: Moment,
    ) -> (Evidence, Option<Moment>) {
        let Some(open) = &mut self.open else {
            return (self.name(said), None);
        };
        let is_after = said.position.offset().is_some_and(|offset| offset > open.offset);
        match said.status {
            Status::Processing | Status::WaitingUserAnswer | Status::Error if is_after => {
                open.taken_up = true;
                (said, None)
            }
            Status::Idle | Status::Completed if !open.taken_up => {
                let is_done = said.source == Source::Native && said.status == Status::Completed && is_after;
                // A text that stays in the composer was not submitted, and that is ready again, with a draft.
                let may_count = is_after || composer.has_text();
                let since = may_count.then(|| *open.looks_ready.get_or_insert(now));
                if !may_count {
                    open.looks_ready = None;
                }
                let from = since.map(|since| since + Duration::from_millis(ready.unseen_work_ms));
                if is_done || from.is_some_and(|from| now >= from) {
                    open.taken_up = true;
                    return (self.name(said), None);
                }
                said.status = Status::Processing;
                said.rule = Rule::named("dispatched");
                (said, from)
            }
            _ => (self.name(said), None),
        }
    }

    /// Ready after a turn is completed, unless its program says otherwise.
    fn name(&self, mut said: Evidence) -> Evidence {
        if said.status == Status::Idle && said.source != Source::Native && self.turns > 0 {
            said.status = Status::Completed;
        }
        said
    }
}
