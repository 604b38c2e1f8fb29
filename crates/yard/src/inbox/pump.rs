//! Hands the mail of one terminal over.

use std::collections::VecDeque;
use std::sync::{Arc, Weak};
use std::time::{Duration, SystemTime};

use ptyard_core::TerminalId;
use ptyard_store::StoreError;
use ptyard_store::inbox::{Batch, Claim, Due, Message, Receipt};
use tokio::sync::watch;

use crate::error::YardError;
use crate::inbox::handover::{Handover, Word};
use crate::spec::TerminalRef;
use crate::yard::{Inner, Yard};

/// After this time it is tried again to write down what the store refused, as a full disk does.
const AGAIN: Duration = Duration::from_secs(1);

impl Yard {
    /// From now on the mail of this terminal is handed over by `agent`, until it has nothing more to say.
    pub fn hand_over_mail(&self, at: &TerminalRef, agent: impl Handover) -> Result<(), YardError> {
        let entry = self.find(at)?;
        let pump = Pump {
            yard: Arc::downgrade(&self.inner),
            receiver: entry.id(),
            arrivals: entry.arrivals.subscribe(),
            unsaid: VecDeque::new(),
            agent,
        };
        tokio::spawn(pump.run());
        Ok(())
    }
}

/// # Invariants
/// 1. Nothing is claimed while a word about an attempt is not in the store.
/// 2. What is claimed is handed over or given back: no attempt is forgotten.
struct Pump<H> {
    yard: Weak<Inner>,
    receiver: TerminalId,
    arrivals: watch::Receiver<u64>,
    /// Words that the store has not taken yet. At most two of each attempt, and there is one attempt.
    unsaid: VecDeque<Word>,
    agent: H,
}

impl<H: Handover> Pump<H> {
    async fn run(mut self) {
        loop {
            let Some(inner) = self.yard.upgrade() else { return };
            let yard = Yard { inner };
            if let Err(error) = self.work(&yard).await {
                tracing::warn!(receiver = %self.receiver, %error, "mail waits for the store");
            }
            drop(yard);
            let behind = !self.unsaid.is_empty();
            tokio::select! {
                word = self.agent.next() => match word {
                    Some(word) => self.unsaid.push_back(word),
                    None => return,
                },
                changed = self.arrivals.changed() => if changed.is_err() {
                    return;
                },
                () = tokio::time::sleep(AGAIN), if behind => {}
            }
        }
    }

    /// Writes down what was said, then hands over what is due.
    async fn work(&mut self, yard: &Yard) -> Result<(), StoreError> {
        // What arrives from here on is looked at again.
        self.arrivals.borrow_and_update();
        self.note_all(yard).await?;
        self.deliver(yard).await
    }

    /// Writes down what was said, in order, as far as the store takes it.
    async fn note_all(&mut self, yard: &Yard) -> Result<(), StoreError> {
        while let Some(word) = self.unsaid.front() {
            note(yard, word).await?;
            self.unsaid.pop_front();
        }
        Ok(())
    }

    async fn deliver(&mut self, yard: &Yard) -> Result<(), StoreError> {
        if !self.agent.is_ready() {
            return Ok(());
        }
        let claim = Claim {
            receiver: self.receiver,
            owner: yard.inner.owner.clone(),
            batch: Batch::One,
            due: Due::All,
        };
        let Some(attempt) = yard.inner.store.claim(claim).await? else { return Ok(()) };
        yard.tell_mail(&attempt.messages);
        let handed = self.agent.hand_over(attempt.id, text(&attempt.messages)).await;
        if let Err(refused) = handed {
            // In the order of words, so that a store that refuses now gets it later.
            self.unsaid.push_back(Word::Refused { attempt: attempt.id, reason: refused.0 });
            self.note_all(yard).await?;
        }
        Ok(())
    }
}

/// What is typed: the texts of a batch, a blank line between them.
fn text(messages: &[Message]) -> String {
    let texts: Vec<_> = messages.iter().map(|message| message.text.as_str()).collect();
    texts.join("\n\n")
}

/// Writes a word down.
async fn note(yard: &Yard, word: &Word) -> Result<(), StoreError> {
    let store = &yard.inner.store;
    let noted = match word {
        Word::Ready => return Ok(()),
        Word::Delivered { attempt, evidence, offset } => {
            let receipt = Receipt { evidence: evidence.clone(), offset: *offset, at: SystemTime::now() };
            store.confirm(*attempt, receipt).await
        }
        Word::Refused { attempt, reason } => store.abort(*attempt, reason.clone()).await,
        Word::Uncertain { attempt, reason } => store.lose(*attempt, reason.clone()).await,
        Word::TurnOver { attempt } => store.complete_turn(*attempt).await,
    };
    match noted {
        Ok(messages) => yard.tell_mail(&messages),
        // Somebody else has settled it: a removal of the terminal, or a word that came before.
        Err(StoreError::AttemptOver(_) | StoreError::UnknownAttempt(_)) => {
            tracing::debug!(?word, "a word about an attempt that is over");
        }
        Err(error) => return Err(error),
    }
    Ok(())
}
