//! How a server is told to stop, and how everything in it hears of it.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;

/// How long after the request calls and streams may go on, so that they end with the end of their program: longer than a
/// program is asked and then killed, shorter than connections are given.
const ENDS_WITHIN: Duration = Duration::from_secs(4);

/// How far a shutdown has come. It only moves forward.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Phase {
    /// Serving.
    Running,
    /// Nothing new is taken; programs are ended; what still waits then is answered with `stopping`.
    Stopping,
    /// What has not left by itself is cut off.
    Cut,
}

/// What becomes of the programs when the server is gone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ending {
    /// They are ended.
    Stop,
    /// They go on, for another server.
    Leave,
}

/// How far it has come, and what for: the first request says.
#[derive(Debug, Clone, Copy)]
struct State {
    phase: Phase,
    ending: Ending,
}

/// The stop signal. Clones share it.
#[derive(Debug, Clone)]
pub(crate) struct Stop(Arc<watch::Sender<State>>);

impl Stop {
    /// A signal nobody has given yet.
    pub(crate) fn new() -> Self {
        Self(Arc::new(watch::Sender::new(State { phase: Phase::Running, ending: Ending::Stop })))
    }

    /// Asks everything to end.
    pub(crate) fn request(&self, ending: Ending) {
        self.0.send_if_modified(|state| {
            let is_first = state.phase == Phase::Running;
            if is_first {
                *state = State { phase: Phase::Stopping, ending };
            }
            is_first
        });
    }

    /// What it ends for, once that was requested.
    pub(crate) fn ending(&self) -> Ending {
        self.0.borrow().ending
    }

    /// Cuts off what has not ended.
    pub(crate) fn cut(&self) {
        self.0.send_modify(|state| state.phase = Phase::Cut);
    }

    /// Whether the stop was requested.
    pub(crate) fn is_requested(&self) -> bool {
        self.0.borrow().phase >= Phase::Stopping
    }

    /// Waits for the request.
    pub(crate) async fn requested(&self) {
        self.reached(Phase::Stopping).await;
    }

    /// Waits until whatever waits for a program has had the time to hear of its end.
    pub(crate) async fn ends_were_told(&self) {
        self.requested().await;
        if self.ending() == Ending::Leave {
            // Nothing ends, and the next server waits.
            return;
        }
        tokio::select! {
            () = tokio::time::sleep(ENDS_WITHIN) => {}
            () = self.cut_off() => {}
        }
    }

    /// Waits for the cut.
    pub(crate) async fn cut_off(&self) {
        self.reached(Phase::Cut).await;
    }

    async fn reached(&self, wanted: Phase) {
        let mut phases = self.0.subscribe();
        // It cannot fail: `self` is a sender.
        let _ = phases.wait_for(|state| state.phase >= wanted).await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_stop_is_heard_before_and_after_it_was_given_and_never_taken_back() {
        let stop = Stop::new();
        let early = tokio::spawn({
            let stop = stop.clone();
            async move { stop.requested().await }
        });
        assert!(!stop.is_requested());
        stop.request(Ending::Leave);
        stop.request(Ending::Stop);
        assert_eq!(stop.ending(), Ending::Leave);
        stop.cut();
        stop.request(Ending::Stop);
        early.await.unwrap();
        stop.requested().await;
        stop.cut_off().await;
        assert!(stop.is_requested());
    }
}
