//! Stopping a turn for mail that does not wait for its end.

use super::event::{Effect, Foreground};
use super::evidence::Sight;
use super::machine::{Eager, Life, TurnMachine};
use super::stage::Stage;
use super::status::Status;

impl TurnMachine {
    /// Whether the turn that runs would be stopped now. Once for each turn, whatever comes of it: a program that goes on
    /// has a reason that the same keys again do not remove.
    ///
    /// What stops a turn dismisses a dialog, throws a draft away and takes back a text that was not submitted, so it
    /// waits for all of these; and only an agent that is seen at work is stopped. One that takes text at work gets it.
    #[must_use]
    pub fn would_interrupt(&self) -> bool {
        let works = || {
            let says = self.authority().and_then(|(_, track)| track.latest.as_ref());
            says.is_some_and(|latest| latest.status == Status::Processing)
        };
        let is_free_of_drafts = || {
            let sight = self.screen().latest.as_ref().map_or(Sight::Unseen, |latest| latest.sight);
            self.draft.is_none() && !matches!(sight, Sight::Draft | Sight::Ours(_))
        };
        self.hurry
            && self.life == Life::Running
            && self.foreground == Foreground::Agent
            && self.stage == Stage::Free
            && self.eager == Eager::Off
            && !self.is_unsettled
            && self.interrupted != Some(self.epoch)
            && !self.shows_dialog()
            && is_free_of_drafts()
            && works()
    }

    /// An earlier server has stopped the turn that runs.
    pub fn recover_interrupt(&mut self) {
        self.interrupted = Some(self.epoch);
    }

    pub(super) fn interrupt(&mut self, effects: &mut Vec<Effect>) {
        if self.would_interrupt() {
            self.interrupted = Some(self.epoch);
            effects.push(Effect::Interrupt { epoch: self.epoch });
        }
    }
}
