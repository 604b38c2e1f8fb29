//! All of it for one terminal: bytes and dispatches in, changes of status out, time as a value.

use std::sync::Arc;

use ptyard_core::turn::{Evidence, Position, Rule, Source, Status};
use ptyard_core::{Moment, Size};
use ptyard_screen::frames::{Frame, Frames};
use ptyard_screen::{Scanner, Screen, new_screen};

use super::{Composer, Dialog, Finding, Ledger, Reading, Steady};
use crate::manifest::Provider;

/// A change of status.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Change {
    /// When.
    pub at: Moment,
    /// What counts from then on.
    pub evidence: Evidence,
}

/// Watches one terminal.
///
/// Nothing happens by itself: after every call, and again at [`Watch::deadline`], the caller asks for the
/// [`Watch::changes`].
pub struct Watch {
    scanner: Scanner,
    screen: Box<dyn Screen>,
    reading: Reading,
    steady: Steady,
    ledger: Ledger,
    offset: u64,
    frames: Frames,
    finding: Finding,
    turn_until: Option<Moment>,
    changes: Vec<Change>,
}

impl Watch {
    /// Watches a terminal of `size` that starts `provider` at `now`.
    #[must_use]
    pub fn new(provider: Arc<Provider>, size: Size, now: Moment) -> Self {
        let ready = provider.ready.clone();
        let reading = Reading::new(provider);
        let start =
            Evidence::new(Source::Screen, Position::Offset(0), Status::Starting, Rule::named("started"));
        let finding = reading.finding(now);
        Self {
            scanner: Scanner::new(),
            screen: new_screen(size, 0),
            reading,
            steady: Steady::new(&ready, start.clone()),
            ledger: Ledger::default(),
            offset: 0,
            frames: Frames::default(),
            finding,
            turn_until: None,
            changes: vec![Change { at: now, evidence: start }],
        }
    }

    /// Output came.
    pub fn output(&mut self, bytes: &[u8], now: Moment) {
        self.advance(now);
        let reading = &mut self.reading;
        let mut told = false;
        self.scanner.scan(self.offset, bytes, &mut |signal| told |= reading.signal(&signal, now));
        self.screen.feed(bytes, now);
        self.offset += bytes.len() as u64;
        self.reading.output(self.offset, now);
        let is_whole = self.scanner.update_ended_at() == self.offset;
        self.frames.changed(if is_whole { Frame::Whole } else { Frame::Open }, now);
        if told {
            self.judge_again(now);
        }
    }

    /// The size changed.
    pub fn resize(&mut self, size: Size, now: Moment) {
        self.advance(now);
        self.screen.resize(size);
        self.frames.changed(Frame::Open, now);
    }

    /// A message was handed over: its Enter was written at `now`.
    pub fn dispatched(&mut self, now: Moment) {
        self.advance(now);
        self.ledger.dispatched(self.offset);
        self.judge_again(now);
    }

    /// The program ended.
    pub fn exited(&mut self, now: Moment) {
        self.advance(now);
        let position = Position::Offset(self.offset);
        let evidence = Evidence::new(Source::Exit, position, Status::Exited, Rule::named("exited"));
        self.changes.push(Change { at: now, evidence });
    }

    /// What counts now.
    #[must_use]
    pub fn evidence(&self) -> &Evidence {
        self.steady.held()
    }

    /// What stands where input is composed.
    #[must_use]
    pub fn composer(&self) -> &Composer {
        &self.finding.composer
    }

    /// The dialog that is shown, when the manifest knows it.
    #[must_use]
    pub fn dialog(&self) -> Option<&Dialog> {
        self.finding.dialog.as_ref()
    }

    /// The screen.
    pub fn screen(&mut self) -> &mut dyn Screen {
        &mut *self.screen
    }

    /// When to call [`Watch::advance`] even if nothing happens.
    #[must_use]
    pub fn deadline(&self) -> Option<Moment> {
        let look = self.frames.due();
        let steady = self.steady.deadline(self.ledger.asked());
        [look, steady, self.finding.until, self.turn_until].into_iter().flatten().min()
    }

    /// Lets time pass up to `now`.
    pub fn advance(&mut self, now: Moment) {
        while let Some(due) = self.deadline().filter(|&due| due <= now) {
            // What is about to count has to stand there still.
            if self.frames.has_changed() || self.frames.due().is_some_and(|at| due >= at) {
                let view = self.screen.view(0, due);
                self.frames.looked(self.screen.deadline(), due);
                let shown = self.offset - self.screen.held() as u64;
                self.reading.look(&view, shown, due);
            }
            self.judge_again(due);
            if self.deadline() == Some(due) {
                debug_assert!(false, "a deadline has to move");
                break;
            }
        }
    }

    /// The changes since this was last asked for.
    pub fn changes(&mut self) -> Vec<Change> {
        std::mem::take(&mut self.changes)
    }

    fn judge_again(&mut self, now: Moment) {
        self.finding = self.reading.finding(now);
        let ready = &self.reading.provider().ready;
        let said = self.finding.evidence.clone();
        let (said, until) = self.ledger.weigh(said, &self.finding.composer, ready, now);
        self.turn_until = until;
        let from = if said.source == Source::Screen { self.reading.stands_since(now) } else { now };
        let before = self.steady.held().status;
        if let Some(evidence) = self.steady.observe(said, self.ledger.asked(), from, now)
            && evidence.status != before
        {
            self.changes.push(Change { at: now, evidence: evidence.clone() });
        }
    }
}
