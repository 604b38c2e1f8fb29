//! The judge and the turn machine together, as they work on a live terminal.

use std::sync::Arc;

use ptyard_core::turn::{
    AttemptId, Eager, Effect, Event, Evidence, Keys, Outcome, Position, Sight, Source, TurnMachine,
};
use ptyard_core::{Moment, Size};
use ptyard_providers::{Change, Composer, Judge, Provider};
use ptyard_screen::frames::{Frame, Frames};
use ptyard_screen::{Scanner, Screen, View, new_screen};

use crate::letters;

/// A terminal whose agent is told everything that was typed in a recording as messages.
pub(crate) struct Terminal {
    scanner: Scanner,
    screen: Box<dyn Screen>,
    judge: Judge,
    machine: TurnMachine,
    offset: u64,
    frames: Frames,
    until: Option<Moment>,
    view: Option<View>,
    /// The offset that the last look showed.
    looked: u64,
    typed: String,
    attempt: Option<Attempt>,
    told: Vec<Evidence>,
    pub(crate) delivered: usize,
    pub(crate) written: usize,
    pub(crate) changes: Vec<Change>,
}

struct Attempt {
    id: AttemptId,
    probe: String,
    before: usize,
}

impl Terminal {
    pub(crate) fn new(provider: &Arc<Provider>, size: Size) -> Self {
        Self {
            scanner: Scanner::new(),
            screen: new_screen(size, 0),
            judge: Judge::new(Arc::clone(provider)),
            machine: TurnMachine::new(Eager::Off, Moment::EPOCH),
            offset: 0,
            frames: Frames::default(),
            until: None,
            view: None,
            looked: 0,
            typed: String::new(),
            attempt: None,
            told: Vec::new(),
            delivered: 0,
            written: 0,
            changes: Vec::new(),
        }
    }

    pub(crate) fn output(&mut self, bytes: &[u8], now: Moment) {
        self.advance(now);
        let mut signals = Vec::new();
        self.scanner.scan(self.offset, bytes, &mut |signal| signals.push(signal));
        self.screen.feed(bytes, now);
        self.offset += bytes.len() as u64;
        self.judge.output(self.offset, now);
        for signal in signals {
            if self.judge.signal(&signal, now) {
                self.tell(now);
            }
        }
        let is_whole = self.scanner.update_ended_at() == self.offset;
        self.frames.changed(if is_whole { Frame::Whole } else { Frame::Open }, now);
    }

    /// Something was typed. While a question is open it is an answer to it.
    pub(crate) fn typed(&mut self, text: &str, now: Moment) {
        self.advance(now);
        self.look(now);
        self.judge.typed(match text {
            "\r" => Keys::Submit,
            _ if text.starts_with("\x1b[200~") => Keys::Text,
            _ if text.starts_with(char::is_control) => Keys::Edit,
            _ => Keys::Text,
        });
        if self.machine.report(now).status == ptyard_core::turn::Status::WaitingUserAnswer {
            self.typed.clear();
        } else if text == "\r" {
            self.enter(now);
        } else if !text.starts_with('\x1b') || text.starts_with("\x1b[200~") {
            self.typed.push_str(&text.replace("\x1b[200~", "").replace("\x1b[201~", ""));
        }
    }

    fn enter(&mut self, now: Moment) {
        let text = std::mem::take(&mut self.typed);
        self.written += 1;
        let id = AttemptId::new(self.written as u64);
        let before = self.attempt.take();
        let effects = self.step(Event::Dispatch { attempt: id }, now);
        if effects.iter().any(|effect| matches!(effect, Effect::Outcome(_, Outcome::Refused(_)))) {
            self.attempt = before;
            self.written -= 1;
            return;
        }
        let probe: String = letters(&text).chars().take(24).collect();
        let shown = self.view.as_ref().map_or(0, |view| count(view, &probe));
        let in_composer = usize::from(matches!(self.judge.verdict(now).composer, Composer::Text(_)));
        self.attempt = Some(Attempt { id, probe, before: shown.saturating_sub(in_composer) });
        self.step(Event::Noted { attempt: id }, now);
        self.step(Event::Pasted { attempt: id }, now);
        self.tell(now);
        self.step(Event::PauseOver { attempt: id }, now);
        self.step(Event::Entered { attempt: id, mark: self.offset }, now);
    }

    pub(crate) fn advance(&mut self, now: Moment) {
        loop {
            let look = self.frames.due();
            let silent = self.machine.silent_authority().map(|(_, at)| at);
            let due = [look, self.until, silent].into_iter().flatten().min();
            let Some(due) = due.filter(|due| *due <= now) else { return };
            if look.is_some_and(|at| at <= due) {
                self.look(due);
            } else if silent.is_some_and(|at| at <= due) {
                let (source, _) = self.machine.silent_authority().unwrap();
                self.step(Event::FellSilent(source), due);
            } else if self.frames.has_changed() {
                self.look(due);
            } else {
                self.until = None;
                self.tell(due);
            }
        }
    }

    fn look(&mut self, now: Moment) {
        let view = self.screen.view(0, now);
        self.frames.looked(self.screen.deadline(), now);
        self.looked = self.offset - self.screen.held() as u64;
        self.judge.look(&view, self.looked, now);
        self.view = Some(view);
        self.tell(now);
    }

    fn tell(&mut self, now: Moment) {
        let verdict = self.judge.verdict(now);
        self.until = verdict.until.filter(|until| *until > now);
        for mut evidence in verdict.evidence {
            if evidence.source == Source::Screen {
                let at = Position::Offset(self.looked);
                evidence = evidence.seeing_at(self.sight(&verdict.composer), at);
            }
            if !self.told.contains(&evidence) {
                self.told.retain(|told| told.source != evidence.source);
                self.told.push(evidence.clone());
                self.step(Event::Seen(evidence), now);
            }
        }
    }

    fn sight(&self, composer: &Composer) -> Sight {
        let has_text = matches!(composer, Composer::Text(_) | Composer::Folded);
        match (&self.attempt, composer) {
            // What is typed is going to be a message.
            _ if !self.typed.is_empty() && has_text => Sight::Empty,
            (_, Composer::Unseen) => Sight::Unseen,
            (Some(attempt), Composer::Text(text)) if letters(text).contains(&attempt.probe) => {
                Sight::Ours(attempt.id)
            }
            (Some(attempt), Composer::Folded) => Sight::Ours(attempt.id),
            (Some(attempt), Composer::Empty) => {
                let shown = self.view.as_ref().map_or(0, |view| count(view, &attempt.probe));
                if shown > attempt.before { Sight::Submitted(attempt.id) } else { Sight::Empty }
            }
            (_, Composer::Text(_) | Composer::Folded) => Sight::Draft,
            (None, Composer::Empty) => Sight::Empty,
        }
    }

    fn step(&mut self, event: Event, now: Moment) -> Vec<Effect> {
        let effects = self.machine.step(event, now);
        for effect in &effects {
            if let Effect::Outcome(_, Outcome::Delivered(_)) = effect {
                self.delivered += 1;
            }
        }
        let report = self.machine.report(now);
        if self.changes.last().is_none_or(|last| last.evidence.status != report.status) {
            let source = report.source.unwrap_or(Source::Screen);
            let position = report.position.unwrap_or(Position::Offset(self.offset));
            let evidence = Evidence::new(source, position, report.status, report.rule.unwrap());
            self.changes.push(Change { at: now, evidence });
        }
        effects
    }
}

fn count(view: &View, probe: &str) -> usize {
    if probe.len() < 8 {
        return 0;
    }
    let text: String = view.screen_lines().iter().map(|line| letters(&line.text)).collect();
    text.matches(probe).count()
}
