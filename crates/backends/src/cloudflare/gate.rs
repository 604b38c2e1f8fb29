//! What is asked of a sandbox that was removed begins it anew. So nothing is asked any more before it is removed, and what
//! was asked is waited for.

use tokio::sync::watch;

#[derive(Debug, Default)]
struct State {
    is_closed: bool,
    /// Calls that are under way.
    inside: u32,
}

/// Lets calls in until it is closed.
#[derive(Debug, Clone, Default)]
pub(super) struct Gate(watch::Sender<State>);

/// A call that was let in.
#[derive(Debug)]
pub(super) struct Pass(Gate);

impl Gate {
    /// Lets a call in; `None` when it is closed.
    pub(super) fn enter(&self) -> Option<Pass> {
        let entered = self.0.send_if_modified(|state| {
            state.inside += u32::from(!state.is_closed);
            !state.is_closed
        });
        entered.then(|| Pass(self.clone()))
    }

    /// Lets nobody in any more, and waits until all have left.
    pub(super) async fn close(&self) {
        self.0.send_modify(|state| state.is_closed = true);
        // It cannot fail: the sender is here.
        let mut state = self.0.subscribe();
        let _all_left = state.wait_for(|state| state.inside == 0).await;
    }
}

impl Drop for Pass {
    fn drop(&mut self) {
        self.0.0.send_modify(|state| state.inside -= 1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn who_closes_waits_for_whoever_is_inside_and_lets_nobody_in() {
        let gate = Gate::default();
        let pass = gate.enter().unwrap();
        let closing = tokio::spawn({
            let gate = gate.clone();
            async move { gate.close().await }
        });
        gate.0.subscribe().wait_for(|state| state.is_closed).await.unwrap();
        assert!(gate.enter().is_none() && !closing.is_finished());
        drop(pass);
        closing.await.unwrap();
        gate.close().await;
    }
}
