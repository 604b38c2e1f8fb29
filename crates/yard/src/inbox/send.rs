//! Sending.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use ptyard_core::MessageId;
use ptyard_store::inbox::{Message, MessageState, NewMessage, Origin, Posted, Purpose, Turn, Urgency};
use tokio::sync::watch;

use crate::error::YardError;
use crate::inbox::SETTLED_KEPT;
use crate::spec::TerminalRef;
use crate::yard::Yard;

/// After so many messages the old ones are looked through.
const FORGET_EVERY: u64 = 256;

/// A message to be sent.
#[derive(Debug, Clone)]
pub struct SendSpec {
    /// The text.
    pub text: String,
    /// The terminal that sends; `None` is none.
    pub from: Option<TerminalRef>,
    /// What is known of a sender that is no terminal; `None` is a person. Not looked at where a terminal sends.
    pub origin: Option<Origin>,
    /// What it is for.
    pub purpose: Purpose,
    /// Idempotency key, counted per receiver.
    pub key: Option<String>,
    /// When it may be handed over.
    pub urgency: Urgency,
}

impl SendSpec {
    /// Something to be told, when the agent is ready.
    #[must_use]
    pub fn new(text: impl Into<String>) -> Self {
        Self {
            text: text.into(),
            from: None,
            origin: None,
            purpose: Purpose::Message,
            key: None,
            urgency: Urgency::Ready,
        }
    }
}

/// What a sender waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Until {
    /// That the agent has it.
    Delivered,
    /// That the turn it began is over.
    Completed,
}

impl Until {
    /// Whether nothing more is to be waited for.
    fn is_over(self, message: &Message) -> bool {
        match message.state {
            MessageState::Pending | MessageState::Dispatching => false,
            MessageState::Delivered => self == Self::Delivered || message.turn == Some(Turn::Completed),
            MessageState::Failed | MessageState::Uncertain | MessageState::Cancelled => true,
        }
    }

    /// Whether what was waited for has come.
    #[must_use]
    pub fn has_come(self, message: &Message) -> bool {
        message.state == MessageState::Delivered && self.is_over(message)
    }
}

impl Yard {
    /// Accepts a message: when this returns, it is on disk. Its delivery is nobody's to wait for here.
    pub async fn send(&self, to: &TerminalRef, spec: SendSpec) -> Result<Message, YardError> {
        let new = self.addressed(to, spec)?;
        let (yard, told) = (Arc::downgrade(&self.inner), new.clone());
        let posting = self.inner.store.post_and_tell(
            new.clone(),
            Box::new(move |posted| {
                if let Some(inner) = yard.upgrade().filter(|_| !posted.repeated) {
                    Self { inner }.tell_arrival(&accepted(told, *posted));
                }
            }),
        );
        // Whoever hands it over may ask for it while it is written: that is answered right behind it.
        let hurry = async {
            if let Some(receiver) = self.receiver(new.to) {
                receiver.arrivals.send_modify(|arrivals| *arrivals += 1);
            }
        };
        let (posted, ()) = tokio::join!(biased; posting, hurry);
        let posted = posted?;
        if posted.repeated {
            return self.message(posted.id).await;
        }
        self.forget_now_and_then(posted).await;
        Ok(accepted(new, posted))
    }

    /// A message as the store takes it, if its receiver can have it.
    pub(crate) fn addressed(&self, to: &TerminalRef, spec: SendSpec) -> Result<NewMessage, YardError> {
        if spec.text.trim().is_empty() {
            return Err(YardError::InvalidArgument("the message is empty".to_owned()));
        }
        let receiver = self.find(to)?;
        let sender = spec.from.as_ref().map(|from| self.find(from)).transpose()?;
        if sender.as_ref().is_some_and(|sender| Arc::ptr_eq(sender, &receiver)) {
            return Err(YardError::InvalidArgument("a terminal cannot send to itself".to_owned()));
        }
        if receiver.has_exited() {
            return Err(YardError::TerminalExited(to.clone()));
        }
        Ok(NewMessage {
            to: receiver.id(),
            origin: spec.origin.filter(|_| sender.is_none()),
            from: sender.map(|sender| sender.id()),
            purpose: spec.purpose,
            text: spec.text,
            key: spec.key,
            urgency: spec.urgency,
            at: SystemTime::now(),
        })
    }

    /// Tells of a message that the store has taken.
    pub(crate) async fn accepted(&self, new: NewMessage, posted: Posted) -> Result<Message, YardError> {
        if posted.repeated {
            return self.message(posted.id).await;
        }
        let message = accepted(new, posted);
        self.tell_arrival(&message);
        self.forget_now_and_then(posted).await;
        Ok(message)
    }

    async fn forget_now_and_then(&self, posted: Posted) {
        if posted.id.get().is_multiple_of(FORGET_EVERY) {
            // The message is on the disk, and whoever hears otherwise sends it again.
            if let Err(error) = self.inner.store.forget_settled(SETTLED_KEPT).await {
                tracing::warn!(%error, "old mail is not forgotten");
            }
        }
    }

    /// Waits until a message is delivered, its turn is over, or neither will be; the message as it is then, or when the
    /// time was up.
    pub async fn await_message(
        &self,
        id: MessageId,
        until: Until,
        at_most: Duration,
    ) -> Result<Message, YardError> {
        let message = self.message(id).await?;
        let Ok(receiver) = self.find(&TerminalRef::Id(message.to)) else {
            let _time_is_up = tokio::time::timeout(at_most, self.torn_down()).await;
            return self.message(id).await;
        };
        let changes = receiver.mail.subscribe();
        drop(receiver);
        let waited = tokio::time::timeout(at_most, self.settled(id, until, changes)).await;
        match waited {
            Ok(message) => message,
            Err(_time_is_up) => self.message(id).await,
        }
    }

    async fn settled(
        &self,
        id: MessageId,
        until: Until,
        mut changes: watch::Receiver<u64>,
    ) -> Result<Message, YardError> {
        loop {
            changes.borrow_and_update();
            let message = self.message(id).await?;
            if until.is_over(&message) {
                return Ok(message);
            }
            if changes.changed().await.is_err() {
                // The receiver was removed, and its mail settled before.
                return self.message(id).await;
            }
        }
    }
}

/// A message as it was when it was accepted.
fn accepted(new: NewMessage, posted: Posted) -> Message {
    Message {
        id: posted.id,
        seq: posted.seq,
        to: new.to,
        from: new.from,
        origin: new.origin,
        purpose: new.purpose,
        text: new.text,
        key: new.key,
        urgency: new.urgency,
        state: MessageState::Pending,
        attempts: 0,
        attempt: None,
        reason: None,
        created_at: new.at,
        delivered_at: None,
        evidence: None,
        offset: None,
        turn: None,
    }
}
