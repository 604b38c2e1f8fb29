//! Debounce: evidence counts once it has held for a while.

use std::time::Duration;

use ptyard_core::Moment;
use ptyard_core::turn::{Evidence, Source, Status};

use super::BLANK;
use crate::manifest::Ready;

/// A start of work that nobody asked for has to last so long: programs blink when they come up.
const BLIP: Duration = Duration::from_millis(60);

/// A question has to stand so long on the screen: it is drawn in several writes.
const DRAWN: Duration = Duration::from_millis(60);

/// Ready behind a question has to hold so long, once the program has come up.
const AFTER_QUESTION: Duration = Duration::from_millis(120);

/// So long a screen that says nothing is taken for a frame between two others.
const BETWEEN: Duration = Duration::from_millis(300);

/// So long an empty screen is taken for that: programs clear it before they start themselves again. Nothing is
/// handed over meanwhile, for no composer is to be seen.
const BLANK_BETWEEN: Duration = Duration::from_secs(2);

/// So long a program that was never ready and shows nothing known is taken to start: three times the slowest start in
/// the recordings. After that nobody knows what it does, which is not the same.
const START: Duration = Duration::from_secs(30);

/// Lets evidence through once it has held long enough. How long depends on what it would cost to be wrong:
/// nothing for work that was asked for, more for ready than for anything else.
#[derive(Debug)]
pub(crate) struct Steady {
    settle: Duration,
    first_settle: Duration,
    /// What counts.
    held: Evidence,
    /// What may come to count, and since when it was said without a break.
    coming: Option<(Evidence, Moment)>,
    was_ready: bool,
    /// Ready counted once.
    has_come_up: bool,
}

/// Whether a message was handed over that was not seen to be taken up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Asked {
    /// It was: work is expected.
    Yes,
    /// It was not.
    No,
}

impl Steady {
    /// Begins with `first`.
    pub(crate) fn new(ready: &Ready, first: Evidence) -> Self {
        Self {
            settle: Duration::from_millis(ready.settle_ms),
            first_settle: Duration::from_millis(ready.first_settle_ms),
            held: first,
            coming: None,
            was_ready: false,
            has_come_up: false,
        }
    }

    /// What holds from now on has to hold as long as this says.
    pub(crate) fn retime(&mut self, ready: &Ready) {
        self.settle = Duration::from_millis(ready.settle_ms);
        self.first_settle = Duration::from_millis(ready.first_settle_ms);
    }

    /// What counts.
    pub(crate) fn held(&self) -> &Evidence {
        &self.held
    }

    /// Takes what is said at `now`, and is so since `from`; returns what counts when it is something new.
    pub(crate) fn observe(
        &mut self,
        said: Evidence,
        asked: Asked,
        from: Moment,
        now: Moment,
    ) -> Option<&Evidence> {
        if class(said.status) == class(self.held.status) {
            self.coming = None;
            let is_new = said.status != self.held.status
                || said.rule != self.held.rule
                || said.blocked_on != self.held.blocked_on;
            self.held = said;
            return is_new.then_some(&self.held);
        }
        let since = match &self.coming {
            Some((coming, since)) if class(coming.status) == class(said.status) => *since,
            _ => from,
        };
        if now.since(since) < self.needed(&said, asked) {
            self.coming = Some((said, since));
            return None;
        }
        self.coming = None;
        self.has_come_up |= said.status.is_ready();
        self.was_ready |= said.status.is_ready() || said.status == Status::WaitingUserAnswer;
        self.held = said;
        Some(&self.held)
    }

    /// Another source was ready already.
    pub(crate) fn came_up(&mut self) {
        self.was_ready = true;
    }

    /// Whether ready, or a question, counted once.
    pub(crate) fn was_ready(&self) -> bool {
        self.was_ready
    }

    /// When what is coming will count, if it goes on to be said.
    pub(crate) fn deadline(&self, asked: Asked) -> Option<Moment> {
        self.coming.as_ref().map(|(coming, since)| *since + self.needed(coming, asked))
    }

    fn needed(&self, said: &Evidence, asked: Asked) -> Duration {
        let is_native = said.source == Source::Native;
        match said.status {
            Status::Idle | Status::Completed | Status::Error if !self.was_ready => self.first_settle,
            // At the start one dialog is often followed by another; later a question by the work that it was about.
            Status::Idle | Status::Completed if self.held.status == Status::WaitingUserAnswer => {
                if self.has_come_up { AFTER_QUESTION.max(self.settle) } else { self.first_settle }
            }
            Status::Idle | Status::Completed | Status::Error if is_native => Duration::ZERO,
            Status::Idle | Status::Completed | Status::Error => self.settle,
            Status::Processing if asked == Asked::No && self.held.status.is_ready() => BLIP,
            Status::WaitingUserAnswer if !is_native => DRAWN,
            Status::Unknown if self.held.status != Status::Starting && said.rule == BLANK => BLANK_BETWEEN,
            Status::Unknown if self.held.status != Status::Starting => BETWEEN,
            // Until it was ready for the first time, nothing known is just its start, for a while.
            Status::Unknown => START,
            _ => Duration::ZERO,
        }
    }
}

/// Ready is one thing here, whatever was answered before.
fn class(status: Status) -> Status {
    if status.is_ready() { Status::Idle } else { status }
}
