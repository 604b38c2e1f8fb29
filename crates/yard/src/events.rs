//! What happened, numbered without gaps.

use std::collections::VecDeque;
use std::fs::OpenOptions;
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::SystemTime;

use ptyard_core::TerminalId;
use tokio::sync::watch;

use crate::spec::Event;

/// How many events are kept for readers that come later. Of more, the oldest are dropped and the reader is told.
const KEPT: usize = 4_096;

/// How many numbers are taken at a time in the file that keeps them from being given twice.
const RESERVED: u64 = 4_096;

/// The events of a yard. Clones share them.
#[derive(Clone)]
pub(crate) struct Events {
    ring: Arc<Mutex<Ring>>,
    last: Arc<watch::Sender<u64>>,
}

/// # Invariants
/// 1. No event has a number of `reserved` or more, as the file says it: the next server begins there, and a reader of
///    this one's events is told of the gap.
struct Ring {
    events: VecDeque<Event>,
    file: PathBuf,
    reserved: u64,
}

impl Ring {
    /// Sees to it that `seq` may be given.
    fn reserve(&mut self, seq: u64) {
        if seq < self.reserved {
            return;
        }
        self.reserved = seq + RESERVED;
        let mut options = OpenOptions::new();
        options.write(true).create(true).truncate(true).mode(0o600);
        let written = options.open(&self.file).and_then(|mut file| writeln!(file, "{}", self.reserved));
        if let Err(error) = written {
            tracing::warn!(%error, "numbers of events may come again after a restart");
        }
    }
}

impl Events {
    /// Events with numbers above those that `file` says were given.
    pub(crate) fn new(file: PathBuf) -> Self {
        let reserved = std::fs::read_to_string(&file).ok().and_then(|text| text.trim().parse().ok());
        let reserved: u64 = reserved.unwrap_or(1);
        let ring = Ring { events: VecDeque::new(), file, reserved };
        Self { ring: Arc::new(Mutex::new(ring)), last: Arc::new(watch::channel(reserved - 1).0) }
    }

    fn ring(&self) -> MutexGuard<'_, Ring> {
        self.ring.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn push(&self, kind: &'static str, id: Option<TerminalId>, data: serde_json::Value) {
        let mut ring = self.ring();
        let seq = *self.last.borrow() + 1;
        ring.reserve(seq);
        if ring.events.len() == KEPT {
            ring.events.pop_front();
        }
        ring.events.push_back(Event { seq, at: SystemTime::now(), kind, id, data });
        self.last.send_replace(seq);
    }

    /// What happened after event `since`, or what happens from now on.
    pub(crate) fn since(&self, since: Option<u64>) -> EventStream {
        let last = self.last.subscribe();
        let newest = *last.borrow();
        let seen = match since {
            None => newest,
            // A number that was not given yet is of an earlier server: all of ours are new to this reader.
            Some(seen) if seen > newest => 0,
            Some(seen) => seen,
        };
        let next = seen + 1;
        EventStream { events: self.clone(), last, next }
    }
}

/// Events from a number on.
pub struct EventStream {
    events: Events,
    last: watch::Receiver<u64>,
    next: u64,
}

impl EventStream {
    /// The next event; waits for it. Cancel-safe.
    ///
    /// Events that were dropped because nobody asked for them in time are told by one event of kind `gap` with
    /// `{"from","to"}`, the first and the last number missing; its own number is the last one missing.
    pub async fn next(&mut self) -> Event {
        loop {
            self.last.borrow_and_update();
            if let Some(event) = self.try_next() {
                return event;
            }
            if self.last.changed().await.is_err() {
                std::future::pending::<()>().await;
            }
        }
    }

    /// The next event if it is there already.
    pub fn try_next(&mut self) -> Option<Event> {
        let ring = self.events.ring();
        let oldest = ring.events.front()?.seq;
        if self.next < oldest {
            let gap = serde_json::json!({ "from": self.next, "to": oldest - 1 });
            let event = Event { seq: oldest - 1, at: SystemTime::now(), kind: "gap", id: None, data: gap };
            self.next = oldest;
            return Some(event);
        }
        let event = ring.events.get(usize::try_from(self.next - oldest).ok()?)?.clone();
        self.next += 1;
        Some(event)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn case_api02_events_resume_without_gaps_and_tell_what_is_gone() {
        let directory = tempfile::tempdir().unwrap();
        let events = Events::new(directory.path().join("events"));
        for n in 0..(KEPT as u64 + 10) {
            events.push("started", None, serde_json::json!(n));
        }
        let mut stream = events.since(Some(0));
        let gap = stream.next().await;
        assert_eq!((gap.kind, gap.seq), ("gap", 10));
        for seq in 11..=(KEPT as u64 + 10) {
            assert_eq!(stream.next().await.seq, seq);
        }
        assert!(stream.try_next().is_none());
        events.push("exited", None, serde_json::Value::Null);
        assert_eq!(stream.next().await.seq, KEPT as u64 + 11);
    }

    #[tokio::test]
    async fn case_api02_numbers_go_on_in_the_next_server_and_its_readers_are_told_the_gap() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("events");
        let events = Events::new(file.clone());
        for _ in 0..3 {
            events.push("started", None, serde_json::Value::Null);
        }
        let next = Events::new(file);
        next.push("started", None, serde_json::Value::Null);
        let mut stream = next.since(Some(3));
        let gap = stream.next().await;
        assert_eq!((gap.kind, &gap.data["from"]), ("gap", &4.into()));
        assert_eq!(stream.next().await.seq, gap.seq + 1);
    }

    #[test]
    fn case_api02_a_number_that_was_never_given_misses_nothing() {
        let directory = tempfile::tempdir().unwrap();
        let events = Events::new(directory.path().join("events"));
        let mut early = events.since(Some(u64::MAX));
        events.push("started", None, serde_json::Value::Null);
        let seq = |mut stream: EventStream| stream.try_next().map(|event| event.seq);
        assert_eq!(early.try_next().map(|event| event.seq), Some(1));
        for since in [2, 500, u64::MAX] {
            assert_eq!(seq(events.since(Some(since))), Some(1));
        }
        assert!(events.since(Some(1)).try_next().is_none());
    }
}
