//! One terminal in the registry.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use ptyard_core::{Moment, SessionId, TerminalId};
use ptyard_terminal::{Terminal, Written};

use crate::error::YardError;
use crate::position::Position;
use crate::record::Record;
use crate::spec::{Info, TypedInput};

/// How many idempotency keys a terminal remembers; of more, the oldest are forgotten.
const KEYS: usize = 256;

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
    keys: Mutex<VecDeque<Key>>,
}

struct Key {
    key: String,
    input: TypedInput,
    written: Option<Written>,
}

/// What a key says about a write.
pub(crate) enum KeyState {
    /// It is new: type.
    New,
    /// It was used for this very input: what came of it, if that is known by now.
    Seen(Option<Written>),
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
            keys: Mutex::default(),
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

    /// Looks a key up, and takes note of it when it is new.
    pub(crate) fn key(&self, key: &str, input: &TypedInput) -> Result<KeyState, YardError> {
        let mut keys = self.keys.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(seen) = keys.iter().find(|seen| seen.key == key) {
            return if seen.input == *input {
                Ok(KeyState::Seen(seen.written))
            } else {
                Err(YardError::KeyConflict(key.to_owned()))
            };
        }
        if keys.len() == KEYS {
            keys.pop_front();
        }
        keys.push_back(Key { key: key.to_owned(), input: input.clone(), written: None });
        Ok(KeyState::New)
    }

    /// Takes note of what came of a keyed write. Of one that typed nothing the key is free again.
    pub(crate) fn key_written(&self, key: &str, written: Option<Written>) {
        let mut keys = self.keys.lock().unwrap_or_else(PoisonError::into_inner);
        match written {
            Some(written) if written.taken > 0 => {
                if let Some(seen) = keys.iter_mut().find(|seen| seen.key == key) {
                    seen.written = Some(written);
                }
            }
            _ => keys.retain(|seen| seen.key != key),
        }
    }

    pub(crate) fn info(&self, clock: &ptyard_terminal::Clock) -> Info {
        let progress = self.terminal.progress().borrow().clone();
        let bounds = self.terminal.log().bounds();
        let exit = progress.sealed.map(|sealed| sealed.exit);
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
            client: self.record.client.clone(),
            created_at: self.record.created_at,
            last_output_at: progress.last_output.map(|at| clock.wall(at)),
        }
    }
}
