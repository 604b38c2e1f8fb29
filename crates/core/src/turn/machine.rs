//! The turn machine: one terminal's turns, `(state, event) -> effects`.

use super::attempt::{AttemptId, Epoch};
use super::event::{Doubt, Effect, Event, Foreground, Hold};
use super::evidence::{Evidence, Position, Sight, Source};
use super::stage::Stage;
use super::status::{BlockedOn, Status};
use super::track::{Track, Write};
use crate::Moment;

/// Most Enters pressed for one attempt: the first, and two more while the text is seen to stand in the composer. A
/// program that ignored three has a reason that a fourth does not remove.
pub const MAX_ENTERS: u8 = 3;

/// Whether mail may be handed over while the agent works.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Eager {
    /// Never: one message per ready cycle.
    #[default]
    Off,
    /// Into its composer while it works, one at a time: the next goes when the one before was seen to leave the composer.
    WhileBusy,
}

/// The machine.
///
/// # Invariants
/// 1. At most one attempt is under way: it alone may write, and only its own events move it.
/// 2. A paste begins only in `Stage::Noting`, with a note that is durable and a gate that is open at that moment.
/// 3. A turn that was begun is closed only by evidence that covers its write.
/// 4. The epoch never goes back.
/// 5. Once removed, it never changes.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct TurnMachine {
    pub(super) eager: Eager,
    pub(super) epoch: Epoch,
    pub(super) life: Life,
    pub(super) tracks: [Track; OBSERVERS.len()],
    pub(super) stage: Stage,
    /// Since when the stage is this one.
    pub(super) stage_since: Moment,
    /// The turn that runs: a text was taken, and the agent is not ready again.
    pub(super) open: Option<OpenTurn>,
    /// The last write, while evidence has to cover it.
    pub(super) write: Option<Write>,
    /// A person's text that was typed and not submitted.
    pub(super) draft: Option<Draft>,
    /// Who reads what is typed, as far as was looked.
    pub(super) foreground: Foreground,
    /// An earlier server may have typed, or let type, what the program has not read yet: nothing is ready before a look
    /// that is late enough.
    pub(super) is_unsettled: bool,
    /// Evidence from before this offset is not looked at: the program or the person's word is newer.
    pub(super) floor: u64,
    /// Mail waits that does not wait for the end of a turn.
    pub(super) hurry: bool,
    /// The turn that was stopped last.
    pub(super) interrupted: Option<Epoch>,
    /// What was reported last.
    pub(super) reported: Reported,
    /// The question that was reported last: another one is news, also where the status stays.
    pub(super) asks: Option<BlockedOn>,
}

/// Where a program is in its life.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Life {
    Running,
    Exited,
    Removed,
}

/// A turn that runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct OpenTurn {
    /// The attempt that began it; `None` when it was somebody else's input.
    pub(super) attempt: Option<AttemptId>,
}

/// A person's text in the composer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Draft {
    /// The end of the log right before it was typed, or typed on.
    pub(super) typed_at: u64,
    /// Where it was seen.
    pub(super) seen_at: Option<Position>,
}

/// What was reported last.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Reported {
    pub(super) status: Status,
    pub(super) source: Option<Source>,
    pub(super) epoch: Epoch,
    pub(super) is_ready: bool,
    /// Since when the status is this one.
    pub(super) since: Moment,
}

/// The sources that observe, the most trusted first. The end of the program is an event of its own.
pub(super) const OBSERVERS: [Source; 4] = [Source::Native, Source::Hook, Source::Title, Source::Screen];

const fn index(source: Source) -> Option<usize> {
    match source {
        Source::Exit => None,
        Source::Native => Some(0),
        Source::Hook => Some(1),
        Source::Title => Some(2),
        Source::Screen => Some(3),
    }
}

impl TurnMachine {
    /// The machine of a program that starts now.
    #[must_use]
    pub fn new(eager: Eager, now: Moment) -> Self {
        Self {
            eager,
            epoch: Epoch::default(),
            life: Life::Running,
            tracks: Default::default(),
            stage: Stage::Free,
            stage_since: now,
            open: None,
            write: None,
            draft: None,
            foreground: Foreground::Agent,
            is_unsettled: false,
            floor: 0,
            hurry: false,
            interrupted: None,
            asks: None,
            reported: Reported {
                status: Status::Starting,
                source: None,
                epoch: Epoch::default(),
                is_ready: false,
                since: now,
            },
        }
    }

    /// Whether it hands mail over while the agent works.
    #[must_use]
    pub fn eager(&self) -> Eager {
        self.eager
    }

    /// The turn.
    #[must_use]
    pub fn epoch(&self) -> Epoch {
        self.epoch
    }

    /// The attempt of ours of which it is not known yet that it was taken.
    #[must_use]
    pub fn under_way(&self) -> Option<AttemptId> {
        self.stage.attempt()
    }

    /// One event, at `now`, and what is to be done about it, in order.
    pub fn step(&mut self, event: Event, now: Moment) -> Vec<Effect> {
        let mut effects = Vec::new();
        if self.life == Life::Removed {
            return effects;
        }
        let epoch = self.epoch;
        self.take(event, now, &mut effects);
        self.settle(now, &mut effects);
        self.tell(now, &mut effects);
        debug_assert!(self.epoch >= epoch, "invariant 4: the epoch never goes back");
        debug_assert!(
            self.write.is_some() || !(self.stage.is_unconfirmed() || self.open.is_some()),
            "invariant 3: a turn that runs has a write to cover"
        );
        effects
    }

    fn take(&mut self, event: Event, now: Moment, effects: &mut Vec<Effect>) {
        match event {
            Event::Seen(evidence) => self.see(evidence, now),
            Event::FellSilent(source) => {
                // The screen is judged whenever it is looked at: it cannot fall silent.
                if let Some(track) = index(source).filter(|_| source != Source::Screen) {
                    self.tracks[track].is_silent = true;
                }
            }
            Event::Foreground(foreground) => self.foreground = foreground,
            Event::Dispatch { attempt } => self.dispatch(attempt, now, effects),
            Event::Noted { attempt } => self.noted(attempt, now, effects),
            Event::Pasted { attempt } if self.stage == Stage::Pasting(attempt) => {
                self.enter(Stage::Pausing(attempt), now);
            }
            Event::PauseOver { attempt } if self.stage == Stage::Pausing(attempt) => {
                self.press(attempt, now, effects);
            }
            Event::Entered { attempt, mark } => self.entered(attempt, mark, now),
            Event::NotTaken { attempt, taken } => self.not_taken(attempt, taken, now, effects),
            Event::LookedAgain => self.look_again(now, effects),
            Event::Hurry => self.hurry = true,
            Event::Calm => self.hurry = false,
            Event::InterruptDue => self.interrupt(effects),
            Event::Withdraw { attempt } if self.stage == Stage::Noting(attempt) => {
                self.refuse_noted(attempt, Hold::Withdrawn, now, effects);
            }
            // Not theirs, or too late.
            Event::Pasted { .. } | Event::PauseOver { .. } | Event::Withdraw { .. } => {}
            Event::Typed { keys, mark } => self.typed(keys, mark, now),
            Event::Reset { at } => {
                self.drop_attempt(Hold::Reset, Doubt::Reset, now, effects);
                self.forget(at, now);
            }
            Event::Exited => {
                self.drop_attempt(Hold::Exited, Doubt::Exited, now, effects);
                self.life = Life::Exited;
            }
            Event::Restarted { at } => {
                self.drop_attempt(Hold::Exited, Doubt::Exited, now, effects);
                self.forget(at, now);
                self.epoch = self.epoch.next();
                self.life = Life::Running;
            }
            Event::Removed => {
                self.drop_attempt(Hold::Exited, Doubt::Exited, now, effects);
                self.life = Life::Removed;
            }
        }
    }

    fn see(&mut self, evidence: Evidence, now: Moment) {
        let Some(track) = index(evidence.source) else { return };
        let is_older = evidence.position.offset().is_some_and(|offset| offset < self.floor);
        if is_older || self.life != Life::Running || !self.tracks[track].takes(&evidence) {
            return;
        }
        if evidence.source == Source::Screen {
            self.draft = self.draft.and_then(|draft| draft.after(evidence.sight, evidence.sight_at));
        }
        self.tracks[track].hear(evidence, self.write, now);
    }

    /// Forgets what was seen, and what runs.
    fn forget(&mut self, at: u64, now: Moment) {
        self.is_unsettled = false;
        self.foreground = Foreground::Agent;
        self.tracks = Default::default();
        self.floor = at;
        self.draft = None;
        self.open = None;
        self.write = None;
        self.enter(Stage::Free, now);
    }

    pub(super) fn enter(&mut self, stage: Stage, now: Moment) {
        self.stage = stage;
        self.stage_since = now;
    }

    /// A write begins: what was seen so far does not cover it.
    pub(super) fn begin_write(&mut self, write: Write) {
        self.write = Some(write);
        for track in &mut self.tracks {
            track.begin_write(write.mark);
        }
    }

    pub(super) fn screen(&self) -> &Track {
        &self.tracks[3]
    }

    /// The sources with what they said, the most trusted first.
    pub(super) fn observers(&self) -> impl Iterator<Item = (Source, &Track)> {
        OBSERVERS.into_iter().zip(&self.tracks)
    }
}

impl Draft {
    /// What is left of it after `sight` was seen on the screen: it has to be seen before its absence means anything.
    fn after(mut self, sight: Sight, at: Position) -> Option<Self> {
        let is_later = at.is_after(Position::Offset(self.typed_at));
        match (sight, self.seen_at) {
            (Sight::Draft, _) if is_later => self.seen_at = Some(at),
            (_, Some(seen_at)) if sight.is_clear() && is_later && at.is_after(seen_at) => return None,
            _ => {}
        }
        Some(self)
    }
}
