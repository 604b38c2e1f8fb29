//! Who is believed, and what is told.

use std::time::Duration;

use super::attempt::Epoch;
use super::event::{Effect, Foreground};
use super::evidence::{Position, Rule, Source};
use super::machine::{Life, Reported, TurnMachine};
use super::report::{StallReason, Stalled, StatusReport};
use super::stage::Stage;
use super::status::{BlockedOn, Status};
use super::track::Track;
use crate::Moment;

/// How long a source may say nothing while a less trusted one says otherwise, before that one is believed: 10 s. Reports
/// of states come within a second; a hook that was never called, or a report that an interrupt left out, never comes.
pub const SILENCE: Duration = Duration::from_secs(10);

/// When a write that was not taken, or not confirmed, is told as stalled: 5 s. Agents show what they were given within a
/// second or two; nothing is done at that moment but telling.
pub const STALLED_AFTER: Duration = Duration::from_secs(5);

/// Quiet after the last input by which a program has read what was typed: 1.5 s. Agents read their input all the time.
/// What is taken from a look after this long is only that a text that is *seen* in the composer was not submitted, that
/// a person's text that is not seen there was removed or is done with, and that what a lost server typed was read.
pub const SETTLED_AFTER: Duration = Duration::from_millis(1500);

/// What is believed, and why.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Decision {
    pub(super) status: Status,
    pub(super) source: Option<Source>,
    pub(super) rule: Option<Rule>,
    pub(super) position: Option<Position>,
}

impl Decision {
    fn by(source: Source, track: &Track) -> Option<Self> {
        let latest = track.latest.as_ref()?;
        Some(Self {
            status: latest.status,
            source: Some(source),
            rule: Some(latest.rule.clone()),
            position: Some(latest.position),
        })
    }

    const fn own(status: Status, rule: &'static str) -> Self {
        Self { status, source: None, rule: Some(Rule::named(rule)), position: None }
    }
}

impl TurnMachine {
    /// The source that is believed: the most trusted one that has spoken and has not fallen silent.
    pub(super) fn authority(&self) -> Option<(Source, &Track)> {
        self.observers().find(|(_, track)| {
            !track.is_silent && track.latest.as_ref().is_some_and(|latest| latest.status != Status::Unknown)
        })
    }

    /// The source that shows a question, whoever is believed otherwise: keys would answer it.
    fn dialog(&self) -> Option<(Source, &Track)> {
        self.observers().find(|(_, track)| {
            !track.is_silent
                && track.latest.as_ref().is_some_and(|latest| latest.status == Status::WaitingUserAnswer)
        })
    }

    pub(super) fn shows_dialog(&self) -> bool {
        self.dialog().is_some()
    }

    pub(super) fn decide(&self) -> Decision {
        if self.life != Life::Running {
            let rule = Some(Rule::named("program.ended"));
            return Decision { status: Status::Exited, source: Some(Source::Exit), rule, position: None };
        }
        if self.foreground == Foreground::Shell {
            return Decision::own(Status::Error, "foreground.shell");
        }
        if let Some(decision) = self.dialog().and_then(|(source, track)| Decision::by(source, track)) {
            return decision;
        }
        if self.stage.is_unconfirmed() {
            return Decision::own(Status::Processing, "turn.unconfirmed");
        }
        let Some((source, track)) = self.authority() else {
            let has_spoken = self.tracks.iter().any(|track| track.latest.is_some());
            return match self.open {
                Some(_) => Decision::own(Status::Processing, "turn.open"),
                None if has_spoken => Decision::own(Status::Unknown, "turn.nothing_known"),
                None => Decision::own(Status::Starting, "turn.nothing_seen"),
            };
        };
        match Decision::by(source, track) {
            // What it says may be older than the text that was taken.
            Some(decision) if self.open.is_some() && decision.status.is_ready() => {
                Decision::own(Status::Processing, "turn.open")
            }
            Some(decision) => decision,
            None => Decision::own(Status::Unknown, "turn.nothing_known"),
        }
    }

    /// Tells a change of the status and an opening of the gate.
    pub(super) fn tell(&mut self, now: Moment, effects: &mut Vec<Effect>) {
        let decision = self.decide();
        let is_ready = self.hold().is_none();
        let before = self.reported;
        let since = if before.status == decision.status { before.since } else { now };
        self.reported =
            Reported { status: decision.status, source: decision.source, epoch: self.epoch, is_ready, since };
        let is_another_question = self.question() != self.asks.as_ref();
        if is_another_question {
            self.asks = self.question().cloned();
        }
        let is_another =
            (before.status, before.source, before.epoch) != (decision.status, decision.source, self.epoch);
        if is_another || is_another_question {
            effects.push(Effect::Status);
        }
        if is_ready && !before.is_ready {
            effects.push(Effect::Ready);
        }
    }

    /// What the agent asks, as far as that is known.
    fn question(&self) -> Option<&BlockedOn> {
        self.dialog().and_then(|(_, track)| track.latest.as_ref()?.blocked_on.as_ref())
    }

    /// The status, at `now`.
    #[must_use]
    pub fn report(&self, now: Moment) -> StatusReport {
        let decision = self.decide();
        StatusReport {
            status: decision.status,
            since: self.reported.since,
            epoch: self.epoch,
            source: decision.source,
            rule: decision.rule,
            position: decision.position,
            blocked_on: self.question().cloned(),
            stalled: self.stalled(now),
        }
    }

    /// When [`StatusReport::stalled`] begins to say something, if nothing happens.
    #[must_use]
    pub fn stalls_at(&self) -> Option<Moment> {
        (self.stage.is_unconfirmed() && self.stage != Stage::HumanWrote)
            .then(|| self.stage_since + STALLED_AFTER)
    }

    /// Whether a look after a while without input may change something, see [`Event::LookedAgain`](super::Event::LookedAgain).
    #[must_use]
    pub fn waits_for_a_look(&self) -> bool {
        matches!(self.stage, Stage::Written(_) | Stage::HumanWrote)
            || self.draft.is_some()
            || self.is_unsettled
            || self.shell_may_become_the_agent()
    }

    /// Whether the shell in the foreground may be one that starts the agent and becomes it: no turn has been yet. Later it is
    /// what is left of an agent that is gone, and what comes after it is somebody else's.
    #[must_use]
    pub fn shell_may_become_the_agent(&self) -> bool {
        self.life == Life::Running && self.foreground == Foreground::Shell && self.epoch == Epoch::default()
    }

    /// The attempt whose paste was taken and whose Enter waits for the pause.
    #[must_use]
    pub fn pausing(&self) -> Option<super::AttemptId> {
        match self.stage {
            Stage::Pausing(attempt) => Some(attempt),
            _ => None,
        }
    }

    /// Whether a paste is being written, or was, and no Enter: nothing of it can have been submitted.
    #[must_use]
    pub fn waits_for_enter(&self) -> bool {
        matches!(self.stage, Stage::Pasting(_) | Stage::Pausing(_))
    }

    fn stalled(&self, now: Moment) -> Option<Stalled> {
        let (attempt, reason) = match self.stage {
            Stage::Pasting(attempt) | Stage::Entering(attempt) => (attempt, StallReason::InputNotTaken),
            Stage::Pausing(attempt) => (attempt, StallReason::NotSubmitted),
            Stage::Written(attempt) if self.screen().shows(attempt) => (attempt, StallReason::NotSubmitted),
            Stage::Written(attempt) => (attempt, StallReason::NoEvidence),
            Stage::Free | Stage::Noting(_) | Stage::HumanWrote => return None,
        };
        let age = now.since(self.stage_since);
        (age >= STALLED_AFTER).then_some(Stalled { attempt, reason, age })
    }

    /// The source that is believed and has said nothing for [`SILENCE`] while a less trusted one says otherwise, and when
    /// that is the case. The driver says [`FellSilent`](super::Event::FellSilent) then. Whoever is believed after that
    /// has to cover the last write by itself, so this decides who is asked and never lets anything through.
    #[must_use]
    pub fn silent_authority(&self) -> Option<(Source, Moment)> {
        let (source, track) = self.authority()?;
        let says = track.latest.as_ref()?.status;
        let is_stale = |status: Status| match self.write {
            // It has to say something new.
            Some(write) => track.cover(source, write).is_none() || status == Status::Processing,
            None => status == Status::Processing,
        };
        if !is_stale(says) {
            return None;
        }
        let other = self.observers().skip_while(|(other, _)| *other <= source).find(|(other, track)| {
            let is_ready = track.latest.as_ref().is_some_and(|latest| latest.status.is_ready());
            is_ready && self.write.is_none_or(|write| track.cover(*other, write).is_some())
        })?;
        Some((source, track.since.max(other.1.since) + SILENCE))
    }
}
