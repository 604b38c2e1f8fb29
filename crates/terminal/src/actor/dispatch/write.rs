//! Writing: the note, the paste, the pause, the Enter, and the moments that are waited for.

use std::time::Duration;

use ptyard_core::Moment;
use ptyard_core::turn::{AttemptId, Epoch, Event, Foreground, Keys, SETTLED_AFTER};
use ptyard_screen::paste::{self, PASTE_END};

use super::super::Actor;
use super::super::input::Job;
use super::super::mail::{MailJob, Mailed};
use super::Clocks;
use crate::agent::sight::Pasted;
use crate::agent::{Before, Brackets, Note, note};

/// How long the Enter waits for the text to be seen in the composer, counted from the paste: 1.5 s. Most agents draw it
/// within 50 ms; one that cannot be seen to, or shows no composer, gets its Enter then.
const ECHO_WAIT: Duration = Duration::from_millis(1500);

/// So long after the last input, or the last look of this kind, a program that never rests is looked at: 3 s. Output is
/// waited out so that its picture is whole; that the input was read by then is certain long before.
const RESTLESS: Duration = SETTLED_AFTER.saturating_mul(2);

impl Actor {
    /// Takes the dispatch that waits, when the input is free: the screen is judged as it is now, the foreground looked
    /// at, and the machine asked. If it agrees, the first byte is written in this very step.
    pub(super) fn take_offer(&mut self, now: Moment) {
        let is_free = self.queue.is_empty();
        let Some(attended) = &mut self.attended else { return };
        attended.offer = attended.offer.take().filter(|(_, asker)| !asker.is_closed());
        // What holds mail back will not go by the input becoming free.
        if !is_free && attended.machine.hold().is_none() {
            return;
        }
        if self.paste_at().is_some_and(|at| at > now) {
            return;
        }
        let Some(attended) = &mut self.attended else { return };
        let Some((mail, asker)) = attended.offer.take() else { return };
        let attempt = mail.attempt;
        self.look_now(now);
        let foreground = self.foreground();
        if let Some(attended) = &mut self.attended {
            attended.mail = Some(mail);
            attended.asker = Some(asker);
        }
        self.step(vec![Event::Foreground(foreground), Event::Dispatch { attempt }], now);
    }

    /// Writes the note and says so; when it cannot be written, nothing is typed.
    pub(super) fn write_note(
        &mut self,
        attempt: AttemptId,
        epoch: Epoch,
        foreground: Foreground,
    ) -> Vec<Event> {
        let brackets = self.brackets();
        let before = self.attended.as_ref().map_or_else(Before::default, |attended| {
            let text = attended.mail.as_ref().map(|mail| mail.text.as_str());
            let view = attended.seen.view.as_ref();
            let before = text.map_or_else(Before::default, |text| Pasted::new(attempt, text).before(view));
            let is_clear = attended.seen.told.iter().any(|said| said.sight.is_clear());
            Before { folds: is_clear && brackets == paste::Brackets::On, ..before }
        });
        let note = Note { attempt, epoch, from: self.now.end, before };
        match note::write(self.reader.dir(), note) {
            Ok(()) => vec![Event::Foreground(foreground), Event::Noted { attempt }],
            Err(error) => {
                tracing::warn!(%error, "nothing is typed: that it was could not be written down");
                vec![Event::Withdraw { attempt }]
            }
        }
    }

    /// Whether a paste stands in brackets now.
    fn brackets(&mut self) -> paste::Brackets {
        let asked = self.modes().bracketed_paste;
        match self.attended.as_ref().map_or(Brackets::Never, |attended| attended.recipe.brackets) {
            Brackets::AsAsked if asked => paste::Brackets::On,
            Brackets::Always => paste::Brackets::On,
            Brackets::AsAsked | Brackets::Never => paste::Brackets::Off,
        }
    }

    pub(super) fn erase_note(&self) {
        if let Err(error) = note::erase(self.reader.dir()) {
            tracing::warn!(%error, "a note of something that was not typed stays");
        }
    }

    pub(super) fn begin_paste(&mut self, attempt: AttemptId) {
        let brackets = self.brackets();
        let Some(attended) = &mut self.attended else { return };
        let Some(mail) = attended.mail.take() else { return };
        let if_cut = if brackets == paste::Brackets::On { PASTE_END } else { b"" };
        let mut pasted = Pasted::new(attempt, &mail.text);
        pasted.begins(attended.seen.view.as_ref());
        attended.pasted = Some(pasted);
        attended.clocks = Clocks { verdict: attended.clocks.verdict, ..Clocks::default() };
        if let Some(asker) = attended.asker.take() {
            let _gone = asker.send(Ok(()));
        }
        let bytes = paste::encode(&mail.text, brackets).bytes;
        let enter = attended.recipe.enter.clone();
        self.queue.push(Job::Mail(MailJob::paste(attempt, bytes, if_cut, enter)));
    }

    pub(super) fn press_enter(&mut self, attempt: AttemptId) {
        let Some(attended) = &self.attended else { return };
        if self.queue.is_empty() {
            self.queue.push(Job::Mail(MailJob::enter(attempt, attended.recipe.enter.clone())));
        } else {
            self.queue.press_enter(attempt);
        }
    }

    /// Tells what was written since the last turn.
    pub(in super::super) fn tell_written(&mut self, now: Moment) {
        let mut events = Vec::new();
        for (keys, mark) in self.queue.take_typed() {
            self.judge_typed(keys);
            events.push(Event::Typed { keys, mark });
        }
        for mailed in self.queue.take_mailed() {
            events.push(match mailed {
                Mailed::Pasted(attempt) => {
                    if let Some(attended) = &mut self.attended {
                        attended.clocks.pasted_at = Some(now);
                    }
                    Event::Pasted { attempt }
                }
                Mailed::Entered(attempt, mark) => {
                    self.judge_typed(Keys::Submit);
                    Event::Entered { attempt, mark }
                }
                Mailed::NotTaken(attempt, taken) => Event::NotTaken { attempt, taken },
            });
        }
        if events.is_empty() {
            return;
        }
        if let Some(attended) = &mut self.attended {
            attended.clocks.input = Some(now);
            attended.clocks.settled = false;
        }
        self.step(events, now);
    }

    fn judge_typed(&mut self, keys: Keys) {
        if let Some(attended) = &mut self.attended {
            attended.judge.typed(keys);
        }
    }

    /// When the Enter is to be pressed: after the pause, counted from when the text was seen in the composer.
    pub(super) fn press_at(&self) -> Option<Moment> {
        let attended = self.attended.as_ref()?;
        attended.machine.pausing()?;
        let pasted_at = attended.clocks.pasted_at?;
        let latest = pasted_at + ECHO_WAIT.max(attended.recipe.pause);
        Some(
            attended
                .clocks
                .echoed_at
                .map_or(latest, |at| (at.max(pasted_at) + attended.recipe.pause).min(latest)),
        )
    }

    /// When the program has read what was typed, if that is waited for.
    pub(super) fn settled_at(&self) -> Option<Moment> {
        let attended = self.attended.as_ref()?;
        if !attended.machine.waits_for_a_look() || !self.queue.is_empty() {
            return None;
        }
        let clocks = &attended.clocks;
        if clocks.settled {
            // No event tells that a shell has become another program. Each wait is as long as all before it.
            let (began, looked_at) = clocks.began.zip(clocks.looked_at)?;
            let may_become = attended.machine.shell_may_become_the_agent();
            return may_become.then(|| looked_at + looked_at.since(began).max(RESTLESS));
        }
        let rested = clocks.input.max(self.now.last_output).map(|at| at + SETTLED_AFTER);
        let restless = clocks.input.max(clocks.looked_at).map(|at| at + RESTLESS);
        rested.into_iter().chain(restless).min()
    }

    /// Tells the moments that have come.
    pub(super) fn tell_moments(&mut self, now: Moment) {
        let pausing = self.attended.as_ref().and_then(|attended| attended.machine.pausing());
        if self.press_at().is_some_and(|at| at <= now)
            && let Some(attempt) = pausing.filter(|attempt| self.queue.is_free_for(*attempt))
        {
            self.look_now(now);
            let foreground = self.foreground();
            self.step(vec![Event::Foreground(foreground), Event::PauseOver { attempt }], now);
            if let Some(attended) = &mut self.attended {
                attended.clocks.pasted_at = None;
                if attended.machine.pausing().is_some() {
                    // A dialog holds the Enter back, and somebody has to be able to answer it: the input is given free.
                    // The next change of the screen starts the pause again.
                    self.queue.take_back_mail(attempt);
                }
            }
        }
        if self.settled_at().is_some_and(|at| at <= now) {
            if let Some(attended) = &mut self.attended {
                attended.clocks.settled = true;
                attended.clocks.looked_at = Some(now);
            }
            self.look_now(now);
            let foreground = self.foreground();
            self.step(vec![Event::Foreground(foreground), Event::LookedAgain], now);
        }
        if let Some(attended) = &self.attended
            && let Some((source, at)) = attended.machine.silent_authority()
            && at <= now
        {
            self.step(vec![Event::FellSilent(source)], now);
        }
        let stalls = self.attended.as_ref().and_then(|attended| attended.clocks.stall);
        if stalls.is_some_and(|at| at <= now) {
            self.publish_status(now);
        }
    }
}
