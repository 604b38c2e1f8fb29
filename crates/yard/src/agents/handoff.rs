//! Handoffs: work that one agent gives to another, and whose result it waits for.
//!
//! A handoff belongs to the yard, not to its caller. It is written down when the work is on its way, a task of the
//! yard's own waits for the end of the turn, and the result is in the store before anybody is told. A caller whose
//! connection breaks, whose own time is up or who dies asks again by id; a server that restarts goes on waiting.

use std::collections::BTreeMap;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use ptyard_core::{HandoffId, MessageId, TerminalId};
use ptyard_store::inbox::{NewMessage, Posted};
pub use ptyard_store::{HandoffRow, HandoffState};
use ptyard_store::{NewHandoff, Store};
use tokio::sync::watch;

use super::error::AgentError;

/// How the turn of a handoff came to its end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TurnOver {
    /// The worker answered.
    Answered(String),
    /// There will be no answer, and why: the agent failed or ended, or the message never arrived.
    Failed(String),
}

/// What handoffs need of the terminals.
pub trait Workers: Send + Sync + 'static {
    /// Waits until the turn that `message` began in `worker` is over, or will never begin. Asked again after a restart,
    /// it knows turns that were over before.
    fn turn_over(
        &self,
        worker: TerminalId,
        message: Option<MessageId>,
    ) -> Pin<Box<dyn Future<Output = TurnOver> + Send + '_>>;

    /// Ends and removes a worker whose result is stored.
    fn dismiss(&self, worker: TerminalId) -> Pin<Box<dyn Future<Output = ()> + Send + '_>>;
}

/// What becomes of a worker that has answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Afterwards {
    /// It is ended and removed; one that failed stays, to be looked at.
    #[default]
    Dismiss,
    /// It stays.
    Keep,
}

/// The handoffs of a yard.
///
/// # Invariants
/// 1. Each open handoff has at most one task that waits for its turn.
/// 2. Whoever is told of a result finds it in the store.
#[derive(Clone)]
pub struct Handoffs {
    inner: Arc<Inner>,
}

struct Inner {
    store: Arc<dyn Store>,
    workers: Arc<dyn Workers>,
    /// The open ones. The channel closes when the handoff is settled.
    open: Mutex<BTreeMap<HandoffId, watch::Receiver<()>>>,
}

impl Handoffs {
    /// Handoffs that are kept in `store`. Must be called within a tokio runtime.
    #[must_use]
    pub fn new(store: Arc<dyn Store>, workers: Arc<dyn Workers>) -> Self {
        Self { inner: Arc::new(Inner { store, workers, open: Mutex::default() }) }
    }

    /// Goes on with those that an earlier server left open. How many there are.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub async fn resume(&self) -> Result<usize, AgentError> {
        let left = self.inner.store.open_handoffs().await?;
        let count = left.len();
        for row in left {
            self.watch(row.id, &row.handoff, Afterwards::Dismiss);
        }
        Ok(count)
    }

    /// Posts the work of a handoff and writes the handoff down, in one step, and waits for its result from now on.
    ///
    /// # Errors
    /// When they cannot be written down; then neither is.
    pub async fn open(
        &self,
        work: NewMessage,
        caller: Option<TerminalId>,
        afterwards: Afterwards,
    ) -> Result<(HandoffId, Posted), AgentError> {
        let handoff = NewHandoff { caller, worker: work.to, message: None, at: work.at };
        let (posted, id) = self.inner.store.post_handoff(work, handoff.clone()).await?;
        self.watch(id, &NewHandoff { message: Some(posted.id), ..handoff }, afterwards);
        Ok((id, posted))
    }

    /// A handoff as it stands when it is settled, or when `patience` is over: then it is still open, and goes on.
    ///
    /// # Errors
    /// [`AgentError::UnknownHandoff`], or when the store cannot be read.
    pub async fn result(&self, id: HandoffId, patience: Duration) -> Result<HandoffRow, AgentError> {
        // In this order: what is settled in between closes the channel that is held already.
        let settled = self.lock().get(&id).cloned();
        let row = self.row(id).await?;
        let Some(mut settled) = settled.filter(|_| row.state == HandoffState::Open) else { return Ok(row) };
        let waited = tokio::time::timeout(patience, async { while settled.changed().await.is_ok() {} }).await;
        match waited {
            Ok(()) => self.row(id).await,
            Err(_) => Ok(row),
        }
    }

    async fn row(&self, id: HandoffId) -> Result<HandoffRow, AgentError> {
        self.inner.store.handoff(id).await?.ok_or(AgentError::UnknownHandoff(id))
    }

    fn watch(&self, id: HandoffId, handoff: &NewHandoff, afterwards: Afterwards) {
        let (settling, settled) = watch::channel(());
        if self.lock().insert(id, settled).is_some() {
            debug_assert!(false, "invariant 1: {id} is waited for already");
        }
        let (this, worker, message) = (self.clone(), handoff.worker, handoff.message);
        tokio::spawn(async move {
            let over = this.inner.workers.turn_over(worker, message).await;
            let (state, text) = match over {
                TurnOver::Answered(answer) => (HandoffState::Done, answer),
                TurnOver::Failed(reason) => (HandoffState::Failed, reason),
            };
            let stored = this.inner.store.close_handoff(id, state, text).await;
            this.lock().remove(&id);
            drop(settling);
            match stored {
                Ok(()) if state == HandoffState::Done && afterwards == Afterwards::Dismiss => {
                    this.inner.workers.dismiss(worker).await;
                }
                Ok(()) => {}
                // It stays open, with its worker: the next server asks again.
                Err(error) => tracing::error!(%error, handoff = %id, "a result was not stored"),
            }
        });
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<HandoffId, watch::Receiver<()>>> {
        self.inner.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests;
