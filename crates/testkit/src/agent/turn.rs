//! One turn, and what it looks like at a moment.

use std::time::Duration;

use ptyard_core::Moment;

use super::config::{Show, TurnConfig};

/// How long a flash of readiness in mid-turn lasts.
const FLASH: Duration = Duration::from_millis(30);

/// How often a spinner turns.
const SPIN: Duration = Duration::from_millis(100);

/// A message that is worked on.
#[derive(Debug)]
pub(super) struct Turn {
    /// Turns from 1.
    pub(super) number: usize,
    pub(super) text: String,
    pub(super) plan: TurnConfig,
    pub(super) began: Moment,
    pub(super) ends: Moment,
    pub(super) ask_at: Option<Moment>,
    /// When it says that it is over, if that is before its end.
    pub(super) done_at: Option<Moment>,
}

impl Turn {
    /// Whether it looks ready although it is not.
    pub(super) fn flashes(&self, now: Moment) -> bool {
        self.flash().is_some_and(|(from, to)| from <= now && now < to)
    }

    fn flash(&self) -> Option<(Moment, Moment)> {
        let from = self.began + Duration::from_millis(self.plan.flash_at_ms);
        (self.plan.flash_at_ms > 0).then_some((from, from + FLASH))
    }

    /// The next moment at which it looks different.
    pub(super) fn next_frame(&self, now: Moment) -> Option<Moment> {
        let spin = (self.plan.show == Show::Spinner).then_some(now + SPIN);
        let flash = self.flash().map(|(from, to)| [from, to]).into_iter().flatten().find(|at| *at > now);
        spin.into_iter().chain(flash).min()
    }

    /// The line that says that it works.
    pub(super) fn working(&self, now: Moment) -> String {
        let mark = match self.plan.show {
            Show::Spinner => {
                ['✶', '✻', '✽', '✢'][(now.since(self.began).as_millis() / SPIN.as_millis()) as usize % 4]
            }
            Show::Still | Show::Nothing => '✻',
        };
        format!("{mark} Working… (esc to interrupt)")
    }
}
