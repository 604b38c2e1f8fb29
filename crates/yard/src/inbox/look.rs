//! Looking at mail, and what a person does to it.

use ptyard_core::MessageId;
use ptyard_store::StoreError;
use ptyard_store::inbox::{Message, MessageState, Page, Select};

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

impl Yard {
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
        self.tell_mail(std::slice::from_ref(&message));
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
