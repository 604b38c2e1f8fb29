//! From a door to what is said behind it.

use std::collections::VecDeque;
use std::time::Duration;

use ptyard_providers::launch::Door;
use ptyard_providers::{EventReader, EventWords, HookSaid};
use tokio::time::{sleep, timeout};

use super::connection::{Connection, Refused};
use super::sse::Events;

/// How long is waited for what.
#[derive(Debug, Clone, Copy)]
pub(super) struct Limits {
    /// For the first event of a connection. A program that is not up yet takes a connection and never answers on it.
    pub(super) answer: Duration,
    /// For the next one. OpenCode says something every 10 s.
    pub(super) silence: Duration,
    /// Before another connection is tried.
    pub(super) pause: Duration,
    /// Most connections that are tried in all. A program takes seconds to come up, on a loaded machine half a minute; after
    /// this many nothing more is tried for this agent.
    pub(super) tries: u32,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            answer: Duration::from_secs(3),
            silence: Duration::from_secs(35),
            pause: Duration::from_millis(500),
            tries: 240,
        }
    }
}

/// Listens at a door.
///
/// What is said waits here until it is taken, and the program until it can say more: nothing is piled up. While it is
/// connected it is only waited.
#[derive(Debug)]
pub(super) struct Listener {
    door: Door,
    limits: Limits,
    reader: EventReader,
    open: Option<Open>,
    /// What was said in the bytes that were read last.
    said: VecDeque<HookSaid>,
}

/// A connection, and what was heard on it.
#[derive(Debug)]
struct Open {
    connection: Connection,
    events: Events,
    was_heard: bool,
}

impl Listener {
    pub(super) fn new(door: Door, words: EventWords, limits: Limits) -> Self {
        let reader = EventReader::new(words);
        Self { door, limits, reader, open: None, said: VecDeque::new() }
    }

    /// What is said next; `None` when nothing more will be heard. What was said before is taken back first.
    pub(super) async fn next(&mut self) -> Option<HookSaid> {
        loop {
            if let Some(said) = self.said.pop_front() {
                return Some(said);
            }
            let Some(open) = &mut self.open else {
                self.open = Some(self.connect().await?);
                continue;
            };
            let patience = if open.was_heard { self.limits.silence } else { self.limits.answer };
            match timeout(patience, open.connection.next()).await {
                Ok(Some(bytes)) => {
                    open.was_heard = true;
                    let events = open.events.take(&bytes);
                    let read = events.iter().filter_map(|event| serde_json::from_slice(event).ok());
                    self.said.extend(read.filter_map(|event| self.reader.read(&event)));
                }
                over => {
                    tracing::debug!(
                        port = self.door.port,
                        silent = over.is_err(),
                        "a stream of events is over"
                    );
                    self.open = None;
                    self.said.extend(self.reader.lost());
                }
            }
        }
    }

    async fn connect(&mut self) -> Option<Open> {
        while let Some(left) = self.limits.tries.checked_sub(1) {
            self.limits.tries = left;
            // The first one is too early too.
            sleep(self.limits.pause).await;
            match timeout(self.limits.answer, Connection::open(&self.door)).await {
                Ok(Ok(connection)) => {
                    return Some(Open { connection, events: Events::default(), was_heard: false });
                }
                Ok(Err(error @ Refused::ForGood(_))) => {
                    tracing::warn!(port = self.door.port, %error, "no events are heard");
                    return None;
                }
                Ok(Err(Refused::Now(_))) | Err(_) => {}
            }
        }
        None
    }
}
