//! All of it for one terminal: bytes and dispatches in, changes of status out, time as a value.

use std::sync::Arc;
use std::time::Duration;

use ptyard_core::turn::{Evidence, Position, Rule, Source, Status};
use ptyard_core::{Moment, Size};
use ptyard_screen::{Scanner, Screen, new_screen};

use super::{Composer, Dialog, Finding, Ledger, Reading, Steady};
use crate::manifest::Provider;

/// A frame is looked at when nothing was printed for so long,
const PAUSE: Duration = Duration::from_millis(20);

/// or, in a flood, so long after the first byte that was not looked at,
const FRAME: Duration = Duration::from_millis(80);

/// or at once when a synchronized update ended, but so long after the last look.
const LEAST: Duration = Duration::from_millis(40);

/// The end of a synchronized update.
const UPDATE_END: &[u8] = b"\x1b[?2026l";

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
    /// Output that was not looked at.
    unseen: Option<Unseen>,
    last_look: Moment,
    finding: Finding,
    turn_until: Option<Moment>,
    changes: Vec<Change>,
}

/// Output that was not looked at.
#[derive(Debug, Clone, Copy)]
struct Unseen {
    first: Moment,
    last: Moment,
    /// A synchronized update ended with the last byte, so the frame is whole.
    is_whole: bool,
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
            unseen: None,
            last_look: now,
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
        let first = self.unseen.map_or(now, |unseen| unseen.first);
        self.unseen = Some(Unseen { first, last: now, is_whole: bytes.ends_with(UPDATE_END) });
        if told {
            self.judge_again(now);
        }
    }

    /// The size changed.
    pub fn resize(&mut self, size: Size, now: Moment) {
        self.advance(now);
        self.screen.resize(size);
        self.unseen.get_or_insert(Unseen { first: now, last: now, is_whole: false });
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
        let look = self.look_at();
        let steady = self.steady.deadline(self.ledger.asked());
        [look, steady, self.finding.until, self.turn_until].into_iter().flatten().min()
    }

    /// When what was printed is to be looked at.
    fn look_at(&self) -> Option<Moment> {
        let printed = self.unseen.map(|unseen| {
            let at = (unseen.last + PAUSE).min(unseen.first + FRAME);
            if unseen.is_whole { at.min((self.last_look + LEAST).max(unseen.last)) } else { at }
        });
        // An update that is not ended is shown after a while all the same.
        [printed, self.screen.deadline()].into_iter().flatten().min()
    }

    /// Lets time pass up to `now`.
    pub fn advance(&mut self, now: Moment) {
        while let Some(due) = self.deadline().filter(|&due| due <= now) {
            if self.look_at().is_some_and(|at| due >= at) {
                self.unseen = None;
                self.last_look = due;
                let view = self.screen.view(0, due);
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
        let before = self.steady.held().status;
        if let Some(evidence) = self.steady.observe(said, self.ledger.asked(), now)
            && evidence.status != before
        {
            self.changes.push(Change { at: now, evidence: evidence.clone() });
        }
    }
}
