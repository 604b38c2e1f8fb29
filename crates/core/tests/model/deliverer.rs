//! Who decides what is sent: the product's machine, or a design to be compared with it.

use ptyard_core::Moment;
use ptyard_core::turn::{Effect, Epoch, Event, Recovered, TurnMachine};

use crate::world::NOW;

/// Who decides what is sent: the product's machine, or a published design.
pub(crate) trait Deliverer: Clone + std::hash::Hash {
    fn step(&mut self, event: Event) -> Vec<Effect>;

    /// Whether it would hand mail over now.
    fn is_open(&self) -> bool;

    /// Bookkeeping behind a write that a design does in a step of its own.
    fn book(&mut self) -> Vec<Effect> {
        Vec::new()
    }

    /// The same after a crash, from what was durable.
    fn recover(&self, epoch: Epoch, recovered: Recovered) -> Self;

    /// It was on record that the turn that runs was stopped.
    fn recover_interrupt(&mut self) {}

    /// Whether it tells that an attempt makes no progress.
    fn tells_stall(&self) -> bool;

    /// Whether it would stop the turn that runs.
    fn would_interrupt(&self) -> bool {
        false
    }

    /// What the store lets callers do for it.
    fn store(&self) -> Store {
        Store::OneAtATime
    }

    /// Whether "delivered" claims that the text was taken, rather than that it was written.
    fn claims_taken(&self) -> bool {
        true
    }
}

/// How callers get the messages that they send.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Store {
    /// They read them.
    Read,
    /// A message is claimed by one caller.
    Claim,
    /// A message is claimed by one caller, and none while another one of the same receiver is claimed.
    OneAtATime,
}

impl Deliverer for TurnMachine {
    fn step(&mut self, event: Event) -> Vec<Effect> {
        Self::step(self, event, NOW)
    }

    fn is_open(&self) -> bool {
        self.hold().is_none()
    }

    fn recover(&self, epoch: Epoch, recovered: Recovered) -> Self {
        Self::recover(self.eager(), epoch, recovered, NOW)
    }

    fn would_interrupt(&self) -> bool {
        Self::would_interrupt(self)
    }

    fn recover_interrupt(&mut self) {
        Self::recover_interrupt(self);
    }

    fn tells_stall(&self) -> bool {
        self.report(Moment::from_millis(3_600_000)).stalled.is_some()
    }
}
