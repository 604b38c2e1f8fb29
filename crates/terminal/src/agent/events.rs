//! What is told of an agent's turns, to the one who hands its mail over.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use ptyard_core::turn::{AttemptId, Epoch, Outcome, StatusReport};
use tokio::sync::Notify;

/// Most events that wait. Of more, the oldest that is no outcome is dropped: whoever reads late sees the status and the
/// openings that came last. Outcomes are never dropped; there are at most two for each dispatch that the reader began.
pub const TURN_EVENTS: usize = 256;

/// Something about an agent's turns.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TurnEvent {
    /// The status is another one.
    Status(StatusReport),
    /// What became of an attempt that was begun. To be stored; `Delivered` may follow on `Uncertain`.
    Outcome(AttemptId, Outcome),
    /// A turn is over.
    TurnEnded {
        /// Which.
        epoch: Epoch,
        /// The attempt that began it; `None` when it was somebody else's input.
        attempt: Option<AttemptId>,
    },
    /// Mail can be handed over. Also to be tried after every outcome and for every new message: what opens the gate while
    /// an attempt is claimed is told once.
    Ready,
}

/// The events, as they are read: by one reader. They end when the terminal's actor does.
#[derive(Debug)]
pub struct TurnEvents(Arc<Shared>);

/// The events, as the actor tells them.
#[derive(Debug)]
pub(crate) struct Events(Arc<Shared>);

#[derive(Debug, Default)]
struct Shared {
    queue: Mutex<Queue>,
    news: Notify,
}

#[derive(Debug, Default)]
struct Queue {
    events: VecDeque<TurnEvent>,
    is_closed: bool,
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Events {
    pub(crate) fn new() -> (Self, TurnEvents) {
        let shared = Arc::new(Shared::default());
        (Self(Arc::clone(&shared)), TurnEvents(shared))
    }

    pub(crate) fn tell(&self, event: TurnEvent) {
        let mut queue = self.0.lock();
        if queue.events.len() >= TURN_EVENTS
            && let Some(oldest) =
                queue.events.iter().position(|event| !matches!(event, TurnEvent::Outcome(..)))
        {
            queue.events.remove(oldest);
        }
        queue.events.push_back(event);
        drop(queue);
        self.0.news.notify_one();
    }
}

impl Drop for Events {
    fn drop(&mut self) {
        self.0.lock().is_closed = true;
        self.0.news.notify_one();
    }
}

impl TurnEvents {
    /// The next one; `None` when no more will come. Dropping the future loses nothing.
    pub async fn next(&mut self) -> Option<TurnEvent> {
        loop {
            let news = self.0.news.notified();
            {
                let mut queue = self.0.lock();
                if let Some(event) = queue.events.pop_front() {
                    return Some(event);
                }
                if queue.is_closed {
                    return None;
                }
            }
            news.await;
        }
    }
}

#[cfg(test)]
mod tests {
    use ptyard_core::turn::Hold;

    use super::*;

    #[tokio::test]
    async fn outcomes_outlive_a_reader_who_is_late() {
        let (tell, mut read) = Events::new();
        let outcome = TurnEvent::Outcome(AttemptId::new(1), Outcome::Refused(Hold::Busy));
        tell.tell(outcome.clone());
        for _ in 0..2 * TURN_EVENTS {
            tell.tell(TurnEvent::Ready);
        }
        assert_eq!(read.next().await, Some(outcome));
        drop(tell);
        let mut left = 0;
        while let Some(event) = read.next().await {
            assert_eq!(event, TurnEvent::Ready);
            left += 1;
        }
        assert_eq!(left, TURN_EVENTS - 1);
    }
}
