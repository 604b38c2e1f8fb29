//! What happened, numbered without gaps.

mod saver;
mod stream;
#[cfg(test)]
mod tests;

use std::borrow::Cow;
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::SystemTime;

use ptyard_core::TerminalId;
use ptyard_store::{Store, StoreError, wait};
use tokio::sync::{mpsc, oneshot, watch};

pub use self::stream::EventStream;
use crate::events::saver::{RESERVED, Saver};
use crate::spec::Event;

/// How many events are kept in memory. Older ones are read from the store; those that it has no more are told as a gap.
const KEPT: usize = 4_096;

/// The events of a yard. Clones share them.
///
/// An event is told at once and written down soon after. Its number is safe before it is told: numbers are taken in the
/// store ahead of need, so that no server gives one again, and a server that died leaves a gap that is told.
#[derive(Clone)]
pub(crate) struct Events {
    shared: Arc<Shared>,
    last: Arc<watch::Sender<u64>>,
    /// Asks the saver to end. One asks; others find it gone.
    end: mpsc::Sender<oneshot::Sender<()>>,
}

struct Shared {
    ring: Mutex<Ring>,
    store: Arc<dyn Store>,
}

/// # Invariants
/// 1. The numbers in it follow each other.
/// 2. No event has a number above `reserved`, unless the store did not take more numbers in time, which is warned of.
struct Ring {
    events: VecDeque<Event>,
    reserved: u64,
    /// Nothing more is told: the numbers above the last one were given back.
    closed: bool,
}

impl Shared {
    fn ring(&self) -> MutexGuard<'_, Ring> {
        self.ring.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Events {
    /// Events with numbers above those that were taken before. `given` is the last number of an earlier version, which
    /// did not write numbers into the store.
    ///
    /// Must be called within a tokio runtime, where what happens is written down.
    pub(crate) fn open(store: Arc<dyn Store>, given: u64) -> Result<Self, StoreError> {
        let newest = wait(store.reserve_events(given))?;
        let reserved = wait(store.reserve_events(newest + RESERVED))?;
        let ring = Ring { events: VecDeque::new(), reserved, closed: false };
        let shared = Arc::new(Shared { ring: Mutex::new(ring), store });
        let (last, seen) = watch::channel(newest);
        let (end, ends) = mpsc::channel(1);
        tokio::spawn(Saver::new(Arc::clone(&shared), seen, ends).run());
        Ok(Self { shared, last: Arc::new(last), end })
    }

    pub(crate) fn push(&self, kind: &'static str, id: Option<TerminalId>, data: serde_json::Value) {
        let mut ring = self.shared.ring();
        if ring.closed {
            return;
        }
        let seq = *self.last.borrow() + 1;
        if seq == ring.reserved + 1 {
            tracing::warn!("numbers of events may come again after a restart: the store does not take them");
        }
        if ring.events.len() == KEPT {
            ring.events.pop_front();
        }
        let kind = Cow::Borrowed(kind);
        ring.events.push_back(Event { seq, at: SystemTime::now(), kind, id, data });
        self.last.send_replace(seq);
    }

    /// What happened after event `since`, or what happens from now on.
    pub(crate) fn since(&self, since: Option<u64>) -> EventStream {
        let last = self.last.subscribe();
        let newest = *last.borrow();
        let seen = match since {
            None => newest,
            // A number that was not given yet: everything there is is new to this reader.
            Some(seen) if seen > newest => 0,
            Some(seen) => seen,
        };
        EventStream::new(self.clone(), last, seen + 1)
    }

    /// Writes down what is not yet, and gives back the numbers that were not given. What happens after is not told.
    pub(crate) async fn close(&self) {
        let (done, closed) = oneshot::channel();
        if self.end.send(done).await.is_ok() {
            let _saver_died = closed.await;
        }
    }
}
