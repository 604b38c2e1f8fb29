//! One attempt, from the offer to the proof that it was taken.

use super::attempt::AttemptId;
use super::event::{Doubt, Effect, Foreground, Hold, Keys, Outcome, Proof, Taken};
use super::evidence::Sight;
use super::machine::{Draft, Eager, Life, MAX_ENTERS, OpenTurn, TurnMachine};
use super::stage::Stage;
use super::status::Status;
use super::track::{Text, Track, Write};
use crate::Moment;

impl TurnMachine {
    /// Why mail would not be handed over now; `None` when it would.
    #[must_use]
    pub fn hold(&self) -> Option<Hold> {
        match self.stage {
            _ if self.life != Life::Running => Some(Hold::Exited),
            Stage::Free => self.hold_beside_stage(),
            Stage::HumanWrote => Some(Hold::HumanTurn),
            _ => Some(Hold::Unconfirmed),
        }
    }

    fn hold_beside_stage(&self) -> Option<Hold> {
        if self.life != Life::Running {
            return Some(Hold::Exited);
        }
        if self.foreground == Foreground::Shell {
            return Some(Hold::ShellInForeground);
        }
        if self.is_unsettled {
            return Some(Hold::Starting);
        }
        if self.shows_dialog() {
            return Some(Hold::Dialog);
        }
        let sight = self.screen().latest.as_ref().map_or(Sight::Unseen, |latest| latest.sight);
        if self.draft.is_some() || sight == Sight::Draft {
            return Some(Hold::Draft);
        }
        if matches!(sight, Sight::Ours(_)) {
            return Some(Hold::TextInComposer);
        }
        match self.decide().status {
            Status::Idle | Status::Completed if self.open.is_none() => None,
            // Only a composer that is seen to be empty takes the next text while the agent works.
            Status::Processing if self.eager == Eager::WhileBusy && sight.is_clear() => None,
            Status::Processing | Status::Idle | Status::Completed => Some(Hold::Busy),
            Status::WaitingUserAnswer => Some(Hold::Dialog),
            Status::Starting => Some(Hold::Starting),
            Status::Error => Some(Hold::Error),
            Status::Exited => Some(Hold::Exited),
            Status::Unknown => Some(Hold::Unknown),
        }
    }

    pub(super) fn dispatch(&mut self, attempt: AttemptId, now: Moment, effects: &mut Vec<Effect>) {
        if let Some(hold) = self.hold() {
            effects.push(Effect::Outcome(attempt, Outcome::Refused(hold)));
            return;
        }
        self.enter(Stage::Noting(attempt), now);
        effects.push(Effect::Note { attempt, epoch: self.epoch.next() });
    }

    /// Much may have happened while the note was written, so the gate is looked at again: this is the write.
    pub(super) fn noted(&mut self, attempt: AttemptId, now: Moment, effects: &mut Vec<Effect>) {
        if self.stage != Stage::Noting(attempt) {
            return;
        }
        if let Some(hold) = self.hold_beside_stage() {
            self.refuse_noted(attempt, hold, now, effects);
            return;
        }
        let while_busy = self.decide().status == Status::Processing;
        self.epoch = self.epoch.next();
        self.begin_write(Write { while_busy, ..Write::new(Text::Ours(attempt)) });
        self.enter(Stage::Pasting(attempt), now);
        effects.push(Effect::Paste { attempt });
    }

    pub(super) fn refuse_noted(
        &mut self,
        attempt: AttemptId,
        hold: Hold,
        now: Moment,
        effects: &mut Vec<Effect>,
    ) {
        self.enter(Stage::Free, now);
        effects.push(Effect::EraseNote { attempt });
        effects.push(Effect::Outcome(attempt, Outcome::Refused(hold)));
    }

    /// The first Enter. A dialog that came up meanwhile would be answered by it, and what a person typed there would be
    /// submitted with it, so it waits for those to go.
    pub(super) fn press(&mut self, attempt: AttemptId, now: Moment, effects: &mut Vec<Effect>) {
        if self.foreground == Foreground::Shell {
            self.doubt(Doubt::ShellInForeground, now, effects);
        } else if !self.shows_dialog() && self.draft.is_none() {
            self.enter(Stage::Entering(attempt), now);
            effects.push(Effect::Enter { attempt });
        }
    }

    pub(super) fn entered(&mut self, attempt: AttemptId, mark: u64, now: Moment) {
        if self.stage != Stage::Entering(attempt) {
            return;
        }
        if let Some(write) = &mut self.write {
            if write.mark.is_none() {
                self.tracks.iter_mut().for_each(Track::enter_was_written);
            }
            // What came after the first Enter is confirmation enough, also when a second one followed.
            write.mark.get_or_insert(mark);
            write.enters += 1;
        }
        self.enter(Stage::Written(attempt), now);
    }

    pub(super) fn not_taken(
        &mut self,
        attempt: AttemptId,
        taken: Taken,
        now: Moment,
        effects: &mut Vec<Effect>,
    ) {
        match (self.stage, taken) {
            (Stage::Pasting(this), Taken::Nothing) if this == attempt => {
                // A turn that ran beside it is covered by what comes from now on: it had begun before.
                let seen = self.screen().latest.as_ref().and_then(|latest| latest.position.offset());
                self.write = self.open.map(|open| Write {
                    taken_at: Some(seen.unwrap_or(self.floor)),
                    ..Write::new(open.attempt.map_or(Text::Human, Text::Ours))
                });
                self.refuse_noted(attempt, Hold::InputNotTaken, now, effects);
            }
            (Stage::Pasting(this) | Stage::Pausing(this) | Stage::Entering(this), _) if this == attempt => {
                self.doubt(Doubt::PartlyWritten, now, effects);
            }
            _ => {}
        }
    }

    /// Reports that the attempt under way is uncertain. It stays under way: nothing else is sent before evidence or a
    /// person ends it.
    fn doubt(&mut self, doubt: Doubt, now: Moment, effects: &mut Vec<Effect>) {
        let Some(attempt) = self.stage.attempt() else { return };
        if let Some(write) = &mut self.write {
            write.doubt = Some(doubt);
        }
        self.enter(Stage::Written(attempt), now);
        effects.push(Effect::Outcome(attempt, Outcome::Uncertain(doubt)));
    }

    /// The screen was judged anew after a while without input. Text that still stands in the composer gets another Enter,
    /// never another paste; that is authorised by what is seen, not by the time that passed.
    pub(super) fn look_again(&mut self, now: Moment, effects: &mut Vec<Effect>) {
        self.is_unsettled = false;
        let screen = self.screen().latest.as_ref().filter(|latest| latest.sight.is_clear());
        if let Some(seen_at) = screen.and_then(|latest| latest.sight_at.offset()) {
            // A person's text that nobody saw was removed again, or submitted and done with.
            self.draft = self.draft.filter(|draft| draft.typed_at >= seen_at);
            if let Some(write) = self.write.as_mut().filter(|_| self.stage == Stage::HumanWrote)
                && write.mark.is_some_and(|mark| mark < seen_at)
            {
                write.taken_at = Some(seen_at);
            }
        }
        let (Stage::Written(attempt), Some(write)) = (self.stage, self.write) else { return };
        let can_press = self.screen().shows(attempt)
            && self.foreground == Foreground::Agent
            && !self.shows_dialog()
            && !write.meddled
            && write.enters < MAX_ENTERS
            && matches!(write.doubt, None | Some(Doubt::ServerLost));
        if can_press {
            self.enter(Stage::Entering(attempt), now);
            effects.push(Effect::Enter { attempt });
        } else if write.recovered && write.doubt.is_none() && !self.screen().shows(attempt) {
            self.doubt(Doubt::ServerLost, now, effects);
        }
    }

    /// Somebody else typed. What they type is theirs: it is never mixed with mail.
    pub(super) fn typed(&mut self, keys: Keys, mark: u64, now: Moment) {
        if self.life != Life::Running {
            return;
        }
        let is_written = matches!(self.stage, Stage::Written(_));
        if let Some(write) = self.write.as_mut().filter(|_| is_written) {
            write.meddled = true;
        }
        let screen = self.screen().latest.as_ref();
        let seen = screen.filter(|latest| latest.sight == Sight::Draft).map(|latest| latest.sight_at);
        match keys {
            Keys::Edit => {
                let in_dialog = self.shows_dialog();
                if let Some(write) = self.write.as_mut().filter(|_| is_written && !in_dialog) {
                    write.edited = true;
                }
            }
            // A dialog has it, and is seen to close: a draft that no composer ever shows would hold mail for good.
            Keys::Text if self.shows_dialog() => {}
            Keys::Text => {
                let seen_at = self.draft.and_then(|draft| draft.seen_at);
                self.draft = Some(Draft { typed_at: mark, seen_at });
            }
            // With nothing in the composer Enter does nothing, or answers a dialog, which is seen to close.
            Keys::Submit if self.draft.is_none() && seen.is_none() => {}
            // The agent may queue it or leave it standing: the composer will tell.
            Keys::Submit if self.stage != Stage::Free || self.open.is_some() => {}
            Keys::Submit => {
                let echo = self.draft.and_then(|draft| draft.seen_at).or(seen);
                self.draft = None;
                self.begin_write(Write { mark: Some(mark), ..Write::new(Text::Human) });
                if let Some(echo) = echo {
                    self.tracks[3].echoed(echo);
                }
                self.enter(Stage::HumanWrote, now);
            }
        }
    }

    /// The attempt under way ends without evidence: its program is gone, or a person says so.
    pub(super) fn drop_attempt(&mut self, hold: Hold, doubt: Doubt, now: Moment, effects: &mut Vec<Effect>) {
        match self.stage {
            Stage::Free | Stage::HumanWrote => {}
            Stage::Noting(attempt) => self.refuse_noted(attempt, hold, now, effects),
            Stage::Pasting(attempt) | Stage::Pausing(attempt) | Stage::Entering(attempt) => {
                effects.push(Effect::TakeBack { attempt });
                effects.push(Effect::Outcome(attempt, Outcome::Uncertain(doubt)));
            }
            Stage::Written(attempt) => {
                if self.write.is_none_or(|write| write.doubt.is_none()) {
                    effects.push(Effect::Outcome(attempt, Outcome::Uncertain(doubt)));
                }
            }
        }
        self.enter(Stage::Free, now);
        self.write = None;
        if let Some(open) = self.open.take() {
            effects.push(Effect::TurnEnded { epoch: self.epoch, attempt: open.attempt });
        }
    }

    /// Draws the conclusions: what is confirmed, and what is over.
    pub(super) fn settle(&mut self, now: Moment, effects: &mut Vec<Effect>) {
        let Some(write) = self.write else { return };
        if self.stage.is_unconfirmed()
            && let Some(proof) = self.proof(write)
        {
            match self.stage {
                Stage::Written(attempt) | Stage::Pausing(attempt) => {
                    effects.push(Effect::Outcome(attempt, Outcome::Delivered(proof)));
                    self.open = Some(OpenTurn { attempt: Some(attempt) });
                    self.enter(Stage::Free, now);
                }
                Stage::HumanWrote => {
                    self.epoch = self.epoch.next();
                    self.open = Some(OpenTurn { attempt: None });
                    self.enter(Stage::Free, now);
                }
                // The write itself is not over: its own event comes.
                _ => {}
            }
        }
        if self.stage.is_unconfirmed() {
            return;
        }
        if let Some(open) = self.open
            && self.authority().is_some_and(|(source, track)| {
                let Some(latest) = &track.latest else { return false };
                let is_over = latest.status.is_ready() || latest.status == Status::Error;
                // What it says may be older than what shows that the text was taken.
                is_over && track.cover(source, write).is_some_and(|cover| !cover.is_after(latest.position))
            })
        {
            self.open = None;
            self.write = None;
            effects.push(Effect::TurnEnded { epoch: self.epoch, attempt: open.attempt });
        }
    }

    fn proof(&self, write: Write) -> Option<Proof> {
        self.observers().find_map(|(source, track)| {
            let position = track.cover(source, write)?;
            let rule = track.latest.as_ref()?.rule.clone();
            Some(Proof { source, rule, position })
        })
    }
}
