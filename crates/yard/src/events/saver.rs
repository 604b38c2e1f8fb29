//! Writes events down behind those who tell them.

use std::borrow::Cow;
use std::sync::Arc;
use std::time::Duration;

use ptyard_store::{EventRow, StoreError};
use serde_json::{Value, json};
use tokio::sync::{mpsc, oneshot, watch};

use crate::events::Shared;
use crate::spec::Event;

/// How many numbers are taken ahead.
pub(super) const RESERVED: u64 = 4_096;

/// How many events are written at once.
const BATCH: usize = 512;

/// How long an event waits for those that come with it. What it tells of goes first: a message is on its way to its agent
/// before the event of its arrival takes the store's one writer.
const GATHER: Duration = Duration::from_millis(5);

/// Writes events down in the order of their numbers. While the store refuses, they wait in memory, where the oldest
/// give way; a reader who asks for those is told of the gap. Whatever happens next makes it try again.
pub(super) struct Saver {
    shared: Arc<Shared>,
    last: watch::Receiver<u64>,
    ends: mpsc::Receiver<oneshot::Sender<()>>,
    /// Everything up to here is written down, or gone.
    saved: u64,
    /// Whether the store refused last time.
    refused: bool,
}

impl Saver {
    pub(super) fn new(
        shared: Arc<Shared>,
        last: watch::Receiver<u64>,
        ends: mpsc::Receiver<oneshot::Sender<()>>,
    ) -> Self {
        let saved = *last.borrow();
        Self { shared, last, ends, saved, refused: false }
    }

    pub(super) async fn run(mut self) {
        loop {
            let next = tokio::select! {
                next = gathered(&mut self.last) => next,
                Some(done) = self.ends.recv() => {
                    self.close().await;
                    let _nobody_waits = done.send(());
                    return;
                }
            };
            self.note().await;
            if next == Next::Nothing {
                return;
            }
        }
    }

    /// Writes down what is there, and says so when that begins to fail.
    async fn note(&mut self) {
        let noted = self.save().await;
        if let (Err(error), false) = (&noted, self.refused) {
            tracing::warn!(%error, "events are not written down");
        }
        self.refused = noted.is_err();
    }

    async fn save(&mut self) -> Result<(), StoreError> {
        loop {
            let newest = *self.last.borrow_and_update();
            if newest + RESERVED / 2 > self.reserved() {
                let reserved = self.shared.store.reserve_events(newest + RESERVED).await?;
                self.shared.ring().reserved = reserved;
            }
            let batch = self.batch();
            let Some(last) = batch.last().map(|event| event.seq) else { return Ok(()) };
            self.shared.store.append_events(batch).await?;
            self.saved = last;
        }
    }

    async fn close(&mut self) {
        // From here on nothing is pushed, so the last number is the last.
        self.shared.ring().closed = true;
        self.note().await;
        let newest = *self.last.borrow();
        if self.refused {
            return;
        }
        if let Err(error) = self.shared.store.release_events(newest).await {
            tracing::debug!(%error, "the next server's readers are told of a gap that is none");
        }
    }

    fn reserved(&self) -> u64 {
        let ring = self.shared.ring();
        if ring.closed { u64::MAX } else { ring.reserved }
    }

    fn batch(&self) -> Vec<EventRow> {
        let ring = self.shared.ring();
        let Some(oldest) = ring.events.front().map(|event| event.seq) else { return Vec::new() };
        let skip = usize::try_from((self.saved + 1).saturating_sub(oldest)).unwrap_or(usize::MAX);
        ring.events.iter().skip(skip).take(BATCH).map(row).collect()
    }
}

/// Whether more can come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Next {
    More,
    Nothing,
}

/// Waits until there are events, and for a moment more.
async fn gathered(last: &mut watch::Receiver<u64>) -> Next {
    if last.changed().await.is_err() {
        return Next::Nothing;
    }
    tokio::time::sleep(GATHER).await;
    Next::More
}

fn row(event: &Event) -> EventRow {
    EventRow {
        seq: event.seq,
        at: event.at,
        kind: event.kind.clone().into_owned(),
        terminal: event.id,
        data: written_down(event).to_string(),
    }
}

/// The words of programs go into their logs and nowhere else, so of what a program called itself or said only the fact
/// is written down.
fn written_down(event: &Event) -> Cow<'_, Value> {
    match (event.kind.as_ref(), &event.data) {
        ("title" | "notification", _) => Cow::Owned(json!({ "words": "not kept" })),
        ("program_status", data) => Cow::Owned(json!({ "state": data["state"], "words": "not kept" })),
        (_, data) => Cow::Borrowed(data),
    }
}
