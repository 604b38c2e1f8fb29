//! Hands the mail of one terminal over.

use std::collections::VecDeque;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Weak};
use std::time::{Duration, SystemTime};

use ptyard_core::{AttemptId, TerminalId};
use ptyard_store::StoreError;
use ptyard_store::inbox::{Batch, Batching, Claim, Due, Message, Receipt, Urgency};
use ptyard_terminal::agent::Haste;
use tokio::sync::watch;

use crate::entry::Entry;
use crate::error::YardError;
use crate::inbox::handover::{Handover, Word};
use crate::spec::TerminalRef;
use crate::yard::{Inner, Yard};

/// After this time it is tried again to write down what the store refused, as a full disk does.
pub(super) const AGAIN: Duration = Duration::from_secs(1);

/// The largest batch of a drained inbox: a receiver reads it as one message, and a composer has to take it.
const DRAIN: Batch = Batch::Run { most: 100, bytes: 64 << 10 };

impl Yard {
    /// From now on the mail of this terminal is handed over by `agent`, until it has nothing more to say.
    pub fn hand_over_mail(&self, at: &TerminalRef, agent: impl Handover) -> Result<(), YardError> {
        let entry = self.find(at)?;
        let pump = Pump {
            yard: Arc::downgrade(&self.inner),
            receiver: entry.id(),
            arrivals: entry.arrivals.subscribe(),
            unsaid: VecDeque::new(),
            haste: Haste::None,
            turn: None,
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
    /// What the agent was told of it last.
    haste: Haste,
    /// The attempt that was handed over last, and how urgent it was, until its turn is over.
    turn: Option<(AttemptId, Urgency)>,
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
                    None => return self.wind_up().await,
                },
                changed = self.arrivals.changed() => if changed.is_err() {
                    return;
                },
                () = tokio::time::sleep(AGAIN), if behind => {}
            }
        }
    }

    /// The agent is gone. What was said of it is written down, also when the store refuses for a while; what came back
    /// to wait is given up with the rest of its mail.
    async fn wind_up(mut self) {
        loop {
            let Some(inner) = self.yard.upgrade() else { return };
            let yard = Yard { inner };
            match self.note_all(&yard).await {
                Ok(()) => return yard.inner.ended.note(self.receiver),
                Err(error) => tracing::warn!(receiver = %self.receiver, %error, "mail waits for the store"),
            }
            drop(yard);
            tokio::time::sleep(AGAIN).await;
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
            if let Word::TurnOver { attempt } | Word::Refused { attempt, .. } = word {
                self.turn = self.turn.filter(|(this, _)| this != attempt);
            }
            self.unsaid.pop_front();
        }
        Ok(())
    }

    async fn deliver(&mut self, yard: &Yard) -> Result<(), StoreError> {
        let Ok(entry) = yard.find(&TerminalRef::Id(self.receiver)) else { return Ok(()) };
        if !self.agent.is_ready() {
            return self.hurry(yard, &entry).await;
        }
        let batch = match self.batching(yard, &entry).await? {
            Batching::One => Batch::One,
            Batching::Drain => DRAIN,
        };
        let claim = Claim { receiver: self.receiver, owner: yard.inner.owner.clone(), batch, due: Due::All };
        let Some(attempt) = yard.inner.store.claim(claim).await? else { return Ok(()) };
        yard.tell_mail(&attempt.messages);
        let urgency = attempt.messages.first().map_or(Urgency::Ready, |message| message.urgency);
        self.turn = Some((attempt.id, urgency));
        self.tell_haste(Haste::None).await;
        let handed = self.agent.hand_over(attempt.id, typed(&attempt.messages)).await;
        if let Err(refused) = handed {
            // In the order of words, so that a store that refuses now gets it later.
            self.unsaid.push_back(Word::Refused { attempt: attempt.id, reason: refused.0 });
            self.note_all(yard).await?;
        }
        Ok(())
    }
}

impl<H: Handover> Pump<H> {
    /// Has the turn that runs stopped, if urgent mail waits. A turn that urgent mail began is not: what came first was as
    /// urgent, and two who hurry would keep the agent from doing anything.
    async fn hurry(&mut self, yard: &Yard, entry: &Entry) -> Result<(), StoreError> {
        if !entry.urgent.swap(false, Ordering::AcqRel) && self.haste == Haste::None {
            return Ok(());
        }
        let waits = yard.inner.store.has_urgent(self.receiver).await;
        if *waits.as_ref().unwrap_or(&true) {
            // It is looked for again until there is none.
            entry.urgent.store(true, Ordering::Release);
        }
        let is_urgent_turn = matches!(self.turn, Some((_, Urgency::Now)));
        let haste = if waits? && !is_urgent_turn { Haste::StopsTheTurn } else { Haste::None };
        self.tell_haste(haste).await;
        Ok(())
    }

    async fn tell_haste(&mut self, haste: Haste) {
        if self.haste != haste {
            self.agent.hurry(haste).await;
            self.haste = haste;
        }
    }

    /// How much an attempt takes.
    async fn batching(&mut self, yard: &Yard, entry: &Entry) -> Result<Batching, StoreError> {
        let known = *entry.batching.borrow();
        if let Some(batching) = known {
            return Ok(batching);
        }
        let stored = yard.inner.store.mailbox(self.receiver).await?.batching;
        // What was set meanwhile is newer.
        entry.batching.send_if_modified(|batching| {
            let is_first = batching.is_none();
            batching.get_or_insert(stored);
            is_first
        });
        Ok(stored)
    }
}

/// What is typed: the texts of a batch, a blank line between them.
pub(crate) fn typed(messages: &[Message]) -> String {
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
