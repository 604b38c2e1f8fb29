//! Reading events.

use std::collections::VecDeque;
use std::time::SystemTime;

use ptyard_store::EventRow;
use serde_json::json;
use tokio::sync::watch;

use crate::events::Events;
use crate::spec::Event;

/// How many events are read from the store at once.
const PAGE: u32 = 256;

/// Events from a number on.
pub struct EventStream {
    events: Events,
    last: watch::Receiver<u64>,
    next: u64,
    /// Read from the store, and not told yet.
    page: VecDeque<Event>,
}

/// Where an event is.
enum Place {
    Memory(Event),
    /// In the store, if anywhere; the first number in memory is the one here.
    Store {
        before: u64,
    },
    /// It has not happened.
    Future,
}

impl EventStream {
    pub(super) fn new(events: Events, last: watch::Receiver<u64>, next: u64) -> Self {
        Self { events, last, next, page: VecDeque::new() }
    }

    /// The next event; waits for it. Cancel-safe.
    ///
    /// Events that are no longer kept are told by one event of kind `gap` with `{"from","to"}`, the first and the last
    /// number missing; its own number is the last one missing.
    pub async fn next(&mut self) -> Event {
        loop {
            self.last.borrow_and_update();
            if let Some(event) = self.next_kept().await {
                return event;
            }
            if self.last.changed().await.is_err() {
                std::future::pending::<()>().await;
            }
        }
    }

    /// The next event if it has happened already. Cancel-safe.
    pub async fn next_kept(&mut self) -> Option<Event> {
        loop {
            if let Some(seq) = self.page.front().map(|event| event.seq) {
                return if seq > self.next { Some(self.gap(seq)) } else { self.of_page() };
            }
            match self.place() {
                Place::Future => return None,
                Place::Memory(event) => {
                    self.next += 1;
                    return Some(event);
                }
                Place::Store { before } => {
                    let kept = self.events.shared.store.events_since(self.next - 1, PAGE).await;
                    let kept = kept.unwrap_or_else(|error| {
                        tracing::warn!(%error, "events cannot be read again");
                        Default::default()
                    });
                    self.page =
                        kept.events.into_iter().take_while(|event| event.seq < before).map(event).collect();
                    if self.page.is_empty() {
                        return Some(self.gap(before));
                    }
                }
            }
        }
    }

    fn of_page(&mut self) -> Option<Event> {
        let event = self.page.pop_front()?;
        self.next = event.seq + 1;
        Some(event)
    }

    fn place(&self) -> Place {
        let ring = self.events.shared.ring();
        let newest = *self.events.last.borrow();
        let first = ring.events.front().map_or(newest + 1, |event| event.seq);
        if self.next > newest {
            return Place::Future;
        }
        let index = self.next.checked_sub(first).and_then(|index| usize::try_from(index).ok());
        match index.and_then(|index| ring.events.get(index)) {
            Some(event) => Place::Memory(event.clone()),
            None => Place::Store { before: first },
        }
    }

    /// Tells that everything from the next event on is missing up to `upto`, which is not.
    fn gap(&mut self, upto: u64) -> Event {
        let data = json!({ "from": self.next, "to": upto - 1 });
        self.next = upto;
        Event { seq: upto - 1, at: SystemTime::now(), kind: "gap".into(), id: None, data }
    }
}

fn event(row: EventRow) -> Event {
    let EventRow { seq, at, kind, terminal, data } = row;
    let data = serde_json::from_str(&data).unwrap_or(serde_json::Value::String(data));
    Event { seq, at, kind: kind.into(), id: terminal, data }
}
