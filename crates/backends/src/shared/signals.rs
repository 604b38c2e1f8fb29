//! Signals on their way to a program elsewhere: who sends one does not wait for it.

use ptyard_terminal::backend::{ControlError, Signal, Target};
use tokio::sync::mpsc;

/// Signals that may wait; of more, the newest are refused.
const MOST: usize = 16;

/// Signals as they are to be sent, one after the other; closed when nobody can send any more.
pub(crate) type Ordered = mpsc::Receiver<(Signal, Target)>;

/// Where signals are ordered.
pub(crate) struct Signals {
    send: mpsc::Sender<(Signal, Target)>,
    /// Whoever they wait for.
    whom: &'static str,
}

impl Signals {
    /// A queue of those that wait for `whom`.
    pub(crate) fn to(whom: &'static str) -> (Self, Ordered) {
        let (send, ordered) = mpsc::channel(MOST);
        (Self { send, whom }, ordered)
    }

    /// Orders one.
    pub(crate) fn order(&self, signal: Signal, target: Target) -> Result<(), ControlError> {
        self.send.try_send((signal, target)).map_err(|_| ControlError::Os {
            action: "send the signal",
            message: format!("{MOST} signals wait for {} already", self.whom),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn more_signals_than_may_wait_are_refused_and_none_is_lost() {
        let (signals, mut ordered) = Signals::to("the vendor");
        for signal in 1..=16 {
            assert_eq!(signals.order(Signal(signal), Target::Program), Ok(()));
        }
        let refused = signals.order(Signal(17), Target::Program).unwrap_err();
        assert!(refused.to_string().contains("16 signals wait for the vendor already"), "{refused}");
        for signal in 1..=16 {
            assert_eq!(ordered.recv().await, Some((Signal(signal), Target::Program)));
        }
        drop(signals);
        assert_eq!(ordered.recv().await, None);
    }
}
