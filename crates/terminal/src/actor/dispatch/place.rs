//! What the place says of the agent.

use std::task::{Context, Poll};

use ptyard_core::Moment;
use ptyard_core::turn::Event;

use super::super::Actor;

impl Actor {
    /// Tells what the place says by itself, at once and in its order.
    pub(in super::super) fn poll_evidence(&mut self, cx: &mut Context<'_>, now: Moment) {
        while let Poll::Ready(evidence) = self.control.poll_evidence(cx) {
            self.place_said = Some(evidence);
            self.tell_place(now);
        }
    }

    /// Tells what it said last.
    pub(super) fn tell_place(&mut self, now: Moment) {
        if let Some(evidence) = self.place_said.clone() {
            self.step(vec![Event::Seen(evidence)], now);
        }
    }
}
