//! The shared cursor of a terminal: where the next window begins.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// The committed position of the readers that share one cursor. Clones share it.
///
/// Windows on it take turns, first come first served: a second caller waits for the first one's window to be handed
/// over or dropped, and then continues where that left off.
///
/// # Invariants
/// 1. The position never goes back.
/// 2. Only the holder of the one [`Turn`] moves it, and only in [`Turn::commit`].
#[derive(Debug, Clone)]
pub struct SharedCursor {
    position: Arc<AtomicU64>,
    turns: Arc<Semaphore>,
}

/// The right to take the next window. Dropped, the cursor stands where it stood.
#[derive(Debug)]
pub struct Turn {
    position: Arc<AtomicU64>,
    _permit: OwnedSemaphorePermit,
}

impl Default for SharedCursor {
    fn default() -> Self {
        Self { position: Arc::default(), turns: Arc::new(Semaphore::new(1)) }
    }
}

impl SharedCursor {
    /// A cursor that starts at `position`.
    #[must_use]
    pub fn at(position: u64) -> Self {
        Self { position: Arc::new(AtomicU64::new(position)), ..Self::default() }
    }

    /// The committed position.
    #[must_use]
    pub fn position(&self) -> u64 {
        self.position.load(Ordering::Acquire)
    }

    /// Waits for the turn. Cancel-safe: a waiter that is dropped leaves the queue.
    pub async fn turn(&self) -> Turn {
        let permit =
            Arc::clone(&self.turns).acquire_owned().await.expect("invariant: the turns are never closed");
        Turn { position: Arc::clone(&self.position), _permit: permit }
    }
}

impl Turn {
    /// Where the window of this turn begins.
    #[must_use]
    pub fn position(&self) -> u64 {
        self.position.load(Ordering::Acquire)
    }

    /// Moves the cursor and ends the turn, in one step without a suspension point.
    pub fn commit(self, next: u64) {
        let before = self.position.swap(next, Ordering::AcqRel);
        debug_assert!(before <= next, "invariant 1: the cursor went back from {before} to {next}");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn r25_turns_are_served_in_order_and_a_dropped_turn_moves_nothing() {
        let cursor = SharedCursor::default();
        let first = cursor.turn().await;
        let mut second = Box::pin(cursor.turn());
        assert!(futures_poll(&mut second).is_none(), "the second caller waits");
        drop(first);
        let second = second.await;
        assert_eq!(second.position(), 0);
        second.commit(7);
        assert_eq!(cursor.turn().await.position(), 7);
    }

    fn futures_poll<F: Future + Unpin>(future: &mut F) -> Option<F::Output> {
        let mut cx = std::task::Context::from_waker(std::task::Waker::noop());
        match std::pin::Pin::new(future).poll(&mut cx) {
            std::task::Poll::Ready(out) => Some(out),
            std::task::Poll::Pending => None,
        }
    }
}
