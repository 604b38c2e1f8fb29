//! One terminal in the registry.

use std::io::ErrorKind;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use ptyard_core::{Moment, SessionId, TerminalId};
use ptyard_store::inbox::Batching;
use ptyard_terminal::Terminal;
use tokio::sync::watch;

use crate::position::{Position, PositionFile};
use crate::record::Record;
use crate::spec::Info;

/// A terminal, what was written down about it, and what the yard remembers beside.
pub(crate) struct Entry {
    pub(crate) terminal: Terminal,
    pub(crate) record: Record,
    /// Whether the short id was told to anybody: until then it may be given to another.
    told: AtomicBool,
    /// Whether the end was handed over in a window of the shared cursor.
    delivered_end: AtomicBool,
    /// Ended to make room for another of its client; it no longer counts for the client.
    pub(crate) pruned: AtomicBool,
    last_used_us: AtomicU64,
    /// Counts the changes of its mail, for those who wait for a message.
    pub(crate) mail: watch::Sender<u64>,
    /// Counts the messages that began to wait, for the one who hands them over.
    pub(crate) arrivals: watch::Sender<u64>,
    /// Urgent mail may wait for it.
    pub(crate) urgent: AtomicBool,
    /// How much of its mail one attempt takes, once that was looked up.
    pub(crate) batching: watch::Sender<Option<Batching>>,
    position: Mutex<PositionFile>,
}

impl Entry {
    pub(crate) fn new(terminal: Terminal, record: Record, now: Moment) -> Self {
        let entry = Self {
            terminal,
            record,
            told: AtomicBool::new(false),
            delivered_end: AtomicBool::new(false),
            pruned: AtomicBool::new(false),
            last_used_us: AtomicU64::new(0),
            mail: watch::channel(0).0,
            arrivals: watch::channel(0).0,
            urgent: AtomicBool::new(true),
            batching: watch::channel(None).0,
            position: Mutex::default(),
        };
        entry.used(now);
        entry
    }

    /// A terminal of an earlier server, whose short id may have been told to somebody.
    pub(crate) fn earlier(terminal: Terminal, record: Record, position: Position, now: Moment) -> Self {
        let entry = Self::new(terminal, record, now);
        entry.told.store(true, Ordering::Release);
        entry.delivered_end.store(position.end, Ordering::Release);
        entry
    }

    pub(crate) fn id(&self) -> TerminalId {
        self.record.id
    }

    /// The short id, to be told to somebody.
    pub(crate) fn tell_short(&self) -> SessionId {
        self.told.store(true, Ordering::Release);
        self.record.session_id
    }

    pub(crate) fn was_told(&self) -> bool {
        self.told.load(Ordering::Acquire)
    }

    /// Writes down what was handed over on the shared cursor. Called by whoever has the turn.
    pub(crate) fn note_position(&self, position: Position) {
        let mut file = self.position.lock().unwrap_or_else(PoisonError::into_inner);
        if let Err(error) = file.write(position, self.terminal.log().dir())
            && error.kind() != ErrorKind::NotFound
        {
            tracing::warn!(%error, "the cursor is not written down: a restart would show this window again");
        }
    }

    pub(crate) fn end_delivered(&self) {
        self.delivered_end.store(true, Ordering::Release);
    }

    pub(crate) fn has_exited(&self) -> bool {
        self.terminal.progress().borrow().sealed.is_some()
    }

    /// Whether it still counts for its client: it runs, or its end was not handed over yet.
    pub(crate) fn counts(&self) -> bool {
        let is_over = self.has_exited() && self.delivered_end.load(Ordering::Acquire);
        !is_over && !self.pruned.load(Ordering::Acquire)
    }

    pub(crate) fn used(&self, now: Moment) {
        let us = u64::try_from(now.since_epoch().as_micros()).unwrap_or(u64::MAX);
        self.last_used_us.fetch_max(us, Ordering::AcqRel);
    }

    pub(crate) fn last_used(&self) -> Moment {
        Moment::from_epoch(Duration::from_micros(self.last_used_us.load(Ordering::Acquire)))
    }

    pub(crate) fn info(&self, clock: &ptyard_terminal::Clock) -> Info {
        let progress = self.terminal.progress().borrow().clone();
        let bounds = self.terminal.log().bounds();
        let exit = progress.sealed.map(|sealed| sealed.exit);
        let exit_is_known = exit.is_some();
        let short_holds = exit.is_none() || !self.delivered_end.load(Ordering::Acquire);
        Info {
            id: self.id(),
            session_id: short_holds.then(|| self.tell_short()),
            name: self.record.name.clone(),
            backend: self.record.backend.clone(),
            argv: self.record.argv.clone(),
            cwd: self.record.cwd.clone(),
            pid: self.terminal.pid(),
            tty: self.record.tty,
            size: progress.size,
            exit,
            log_start: bounds.start,
            log_end: bounds.end,
            log_error: progress.held_back,
            cursor: self.terminal.cursor().position(),
            env: self.record.env.clone(),
            limits: self.record.limits.info(*clock, exit_is_known),
            client: self.record.client.clone(),
            created_at: self.record.created_at,
            last_output_at: progress.last_output.map(|at| clock.wall(at)),
        }
    }
}
