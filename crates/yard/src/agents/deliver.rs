//! The terminal's actor, as the pump of its mail sees it.

use std::sync::{Arc, Weak};

use ptyard_core::AttemptId;
use ptyard_core::turn::{Outcome, StatusReport};
use ptyard_terminal::agent::{DispatchError, Haste, Mail, TurnEvent, TurnEvents};
use ptyard_terminal::backend::BoxFuture;
use tokio::sync::watch;

use crate::entry::Entry;
use crate::inbox::{Handover, Refused, Word};

/// Hands mail to the agent of one terminal. It does not keep the terminal: a yard that is dropped ends its programs.
pub(super) struct Deliverer {
    entry: Weak<Entry>,
    status: watch::Receiver<Option<StatusReport>>,
    turns: TurnEvents,
}

impl Deliverer {
    pub(super) fn new(entry: &Arc<Entry>, turns: TurnEvents) -> Self {
        Self { entry: Arc::downgrade(entry), status: entry.terminal.status(), turns }
    }
}

impl Handover for Deliverer {
    fn is_ready(&self) -> bool {
        self.status.borrow().as_ref().is_some_and(|report| report.status.is_ready())
    }

    fn hand_over(&mut self, attempt: AttemptId, text: String) -> BoxFuture<'_, Result<(), Refused>> {
        let terminal = self.entry.upgrade().map(|entry| entry.terminal.clone());
        Box::pin(async move {
            let Some(terminal) = terminal else { return Err(Refused("exited".to_owned())) };
            terminal.dispatch(Mail { attempt, text }).await.map_err(|error| match error {
                DispatchError::Held(hold) => Refused(word(&hold)),
                DispatchError::NoAgent | DispatchError::Terminal(_) => Refused("exited".to_owned()),
            })
        })
    }

    fn hurry(&mut self, haste: Haste) -> BoxFuture<'_, ()> {
        let terminal = self.entry.upgrade().map(|entry| entry.terminal.clone());
        Box::pin(async move {
            let Some(terminal) = terminal else { return };
            if let Err(error) = terminal.hurry(haste).await {
                tracing::debug!(%error, "it ended before its turn was stopped");
            }
        })
    }

    fn next(&mut self) -> BoxFuture<'_, Option<Word>> {
        Box::pin(async move {
            loop {
                if let Some(said) = said(self.turns.next().await?) {
                    return Some(said);
                }
            }
        })
    }
}

/// What an event means for mail; `None` when nothing.
fn said(event: TurnEvent) -> Option<Word> {
    match event {
        TurnEvent::Ready => Some(Word::Ready),
        TurnEvent::Outcome(attempt, Outcome::Delivered(proof)) => Some(Word::Delivered {
            attempt,
            evidence: format!("{}:{}", proof.source.as_str(), proof.rule),
            offset: proof.position.offset(),
        }),
        TurnEvent::Outcome(attempt, Outcome::Refused(hold)) => {
            Some(Word::Refused { attempt, reason: word(&hold) })
        }
        TurnEvent::Outcome(attempt, Outcome::Uncertain(doubt)) => {
            Some(Word::Uncertain { attempt, reason: word(&doubt) })
        }
        TurnEvent::TurnEnded { attempt: Some(attempt), .. } => Some(Word::TurnOver { attempt }),
        TurnEvent::TurnEnded { attempt: None, .. } | TurnEvent::Status(_) => None,
    }
}

/// The word by which a value stands in JSON.
fn word(value: &impl serde::Serialize) -> String {
    match serde_json::to_value(value) {
        Ok(serde_json::Value::String(word)) => word,
        _ => "refused".to_owned(),
    }
}
