//! Looking at mail, and what a person does to it.

use ptyard_core::turn::Hold;
use ptyard_core::{MessageId, TerminalId};
use ptyard_store::StoreError;
use ptyard_store::inbox::{Batching, Mailbox, Message, MessageState, Page, Select, Urgency};

use crate::error::YardError;
use crate::spec::TerminalRef;
use crate::yard::Yard;

/// Which messages of an inbox.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Which {
    /// Those that are not delivered and were not cancelled.
    #[default]
    Undelivered,
    /// All that are kept.
    All,
}

/// How an inbox stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Inbox {
    /// Whose.
    pub id: TerminalId,
    /// How much waits.
    pub mailbox: Mailbox,
    /// Why mail would wait now; `None` when it would be handed over, and for a terminal without an agent.
    pub hold: Option<Hold>,
}

impl Yard {
    /// How the inbox of a terminal stands.
    pub async fn mailbox(&self, at: &TerminalRef) -> Result<Inbox, YardError> {
        let entry = self.find(at)?;
        let mailbox = self.inner.store.mailbox(entry.id()).await?;
        let hold = if entry.has_exited() {
            Some(Hold::Exited)
        } else {
            entry.terminal.explain().await.ok().flatten().and_then(|explained| explained.hold)
        };
        Ok(Inbox { id: entry.id(), mailbox, hold })
    }

    /// Says how much of a terminal's mail one attempt takes from now on, also after a restart.
    pub async fn set_batching(&self, at: &TerminalRef, batching: Batching) -> Result<(), YardError> {
        let entry = self.find(at)?;
        self.inner.store.set_batching(entry.id(), batching).await?;
        entry.batching.send_replace(Some(batching));
        Ok(())
    }

    /// The messages of a terminal, oldest first.
    pub async fn inbox(&self, at: &TerminalRef, which: Which, page: Page) -> Result<Vec<Message>, YardError> {
        use MessageState::{Dispatching, Failed, Pending, Uncertain};
        let states = match which {
            Which::All => Vec::new(),
            Which::Undelivered => vec![Pending, Dispatching, Failed, Uncertain],
        };
        let select = Select { receiver: Some(self.find(at)?.id()), states };
        Ok(self.inner.store.messages(select, page).await?)
    }

    /// A message.
    pub async fn message(&self, id: MessageId) -> Result<Message, YardError> {
        let found = self.inner.store.message(id).await?;
        found.ok_or_else(|| StoreError::UnknownMessage(id).into())
    }

    /// Takes back a message that was not delivered.
    pub async fn cancel_message(&self, id: MessageId) -> Result<Message, YardError> {
        let message = self.inner.store.cancel(id).await?;
        if message.urgency == Urgency::Now {
            // Whoever hands mail over looks whether there is still haste.
            self.tell_arrival(&message);
        } else {
            self.tell_mail(std::slice::from_ref(&message));
        }
        Ok(message)
    }

    /// Lets a message that failed, was cancelled or is uncertain wait again, at its place.
    pub async fn retry_message(&self, id: MessageId) -> Result<Message, YardError> {
        let receiver = self.message(id).await?.to;
        let at = TerminalRef::Id(receiver);
        if self.find(&at)?.has_exited() {
            return Err(YardError::TerminalExited(at));
        }
        let message = self.inner.store.retry(id).await?;
        self.tell_arrival(&message);
        Ok(message)
    }
}
