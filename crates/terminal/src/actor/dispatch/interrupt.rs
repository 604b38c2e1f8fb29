//! Stopping a turn for mail that does not wait for its end.

use ptyard_core::Moment;
use ptyard_core::turn::{Epoch, Event};
use ptyard_screen::keys;

use super::super::Actor;
use super::super::input::Job;
use crate::agent::{Haste, note};

impl Actor {
    /// Whether mail waits for the end of a turn.
    pub(in super::super) fn hurry(&mut self, haste: Haste, now: Moment) {
        let event = match haste {
            Haste::StopsTheTurn => Event::Hurry,
            Haste::None => Event::Calm,
        };
        self.step(vec![event], now);
    }

    /// Stops the turn, if that is wanted and the screen as it is now allows it.
    pub(super) fn interrupt_if_due(&mut self, now: Moment) {
        let is_wanted = self.attended.as_ref().is_some_and(|attended| {
            attended.machine.would_interrupt() && !attended.recipe.interrupt.is_empty()
        });
        if !is_wanted || !self.queue.is_empty() {
            return;
        }
        self.look_now(now);
        let foreground = self.foreground();
        self.step(vec![Event::Foreground(foreground), Event::InterruptDue], now);
    }

    /// Presses the keys.
    pub(super) fn press_interrupt(&mut self, epoch: Epoch, now: Moment) {
        // Before the first key: after a crash in between the turn runs to its end, which is well, and is not stopped twice.
        if let Err(error) = note::write_stopped(self.reader.dir()) {
            tracing::warn!(%error, "a turn is stopped without a note of it");
        }
        let modes = self.modes();
        let Some(attended) = &mut self.attended else { return };
        tracing::info!(%epoch, "a turn is stopped for urgent mail");
        let interrupt = &attended.recipe.interrupt;
        let bytes = interrupt.iter().flat_map(|key| keys::encode(key, &modes)).collect();
        attended.clocks.input = Some(now);
        attended.clocks.settled = false;
        attended.clocks.interrupted_at = Some(now);
        self.queue.push(Job::own(bytes));
    }

    /// When a paste can follow an interrupt: read at once with what follows it, an ESC is the beginning of something else.
    pub(super) fn paste_at(&self) -> Option<Moment> {
        let attended = self.attended.as_ref()?;
        attended.clocks.interrupted_at.map(|at| at + attended.recipe.pause)
    }
}
