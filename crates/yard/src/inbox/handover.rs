//! The seam between mail and the one who types it.

use ptyard_core::AttemptId;
use ptyard_terminal::agent::Haste;
use ptyard_terminal::backend::BoxFuture;

/// Hands mail over to the agent of one terminal: the terminal's actor, or a stand-in of a test. One pump owns it.
pub trait Handover: Send + 'static {
    /// Whether the agent takes mail now, as far as that can be known without asking: nothing is claimed in vain.
    fn is_ready(&self) -> bool;

    /// Hands a text over if the agent is ready at this moment. `Ok` says that it may have been typed from here on, under
    /// a note that outlives this process; what becomes of it comes as a [`Word`].
    fn hand_over(&mut self, attempt: AttemptId, text: String) -> BoxFuture<'_, Result<(), Refused>>;

    /// Says whether mail waits for the end of the turn that runs. What the turn is stopped by, and whether it can be, is
    /// the agent's.
    fn hurry(&mut self, haste: Haste) -> BoxFuture<'_, ()> {
        let _nothing_stops_it = haste;
        Box::pin(std::future::ready(()))
    }

    /// What is to be known next; `None` when there is nobody to hand mail to any more. Cancel-safe.
    fn next(&mut self) -> BoxFuture<'_, Option<Word>>;
}

/// Not a byte was typed, and why.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Refused(pub String);

/// What the pump is told.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Word {
    /// Mail can be handed over.
    Ready,
    /// The agent took it.
    Delivered {
        /// Which.
        attempt: AttemptId,
        /// How that is known.
        evidence: String,
        /// Where in the log.
        offset: Option<u64>,
    },
    /// Nothing of it was typed.
    Refused {
        /// Which.
        attempt: AttemptId,
        /// Why.
        reason: String,
    },
    /// It may have been taken or not. `Delivered` may follow.
    Uncertain {
        /// Which.
        attempt: AttemptId,
        /// Why.
        reason: String,
    },
    /// The turn that it began is over.
    TurnOver {
        /// Which.
        attempt: AttemptId,
    },
}
