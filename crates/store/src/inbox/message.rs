//! Messages.

use std::fmt;
use std::time::SystemTime;

use ptyard_core::{AttemptId, MessageId, TerminalId};

use super::origin::Origin;

macro_rules! words {
    ($(#[$doc:meta])+ $name:ident { $($(#[$variant_doc:meta])+ $variant:ident = $word:literal,)+ }) => {
        $(#[$doc])+
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub enum $name {
            $($(#[$variant_doc])+ $variant,)+
        }

        impl $name {
            /// All of them.
            pub const ALL: &'static [Self] = &[$(Self::$variant),+];

            /// The word for it, which never changes.
            #[must_use]
            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $word),+ }
            }

            /// What the word means.
            #[must_use]
            pub fn of_word(word: &str) -> Option<Self> {
                Self::ALL.iter().copied().find(|one| one.as_str() == word)
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(self.as_str())
            }
        }
    };
}

words! {
    /// Where a message stands.
    MessageState {
        /// It waits.
        Pending = "pending",
        /// An attempt has it.
        Dispatching = "dispatching",
        /// Its receiver has it.
        Delivered = "delivered",
        /// It will not be delivered; its reason says why.
        Failed = "failed",
        /// It may have been delivered; only a person can tell.
        Uncertain = "uncertain",
        /// It was taken back.
        Cancelled = "cancelled",
    }
}

words! {
    /// When a message may be handed over.
    Urgency {
        /// Before all that is not urgent; the turn that runs may be stopped for it.
        Now = "now",
        /// When the agent is ready.
        Ready = "ready",
    }
}

words! {
    /// How much one attempt takes.
    Batching {
        /// One message.
        One = "one",
        /// All that waits in a row from one sender.
        Drain = "drain",
    }
}

words! {
    /// What a message is for.
    Purpose {
        /// Something to be told.
        Message = "message",
        /// Work whose result the sender waits for.
        Handoff = "handoff",
        /// Work whose result comes as a message.
        Assign = "assign",
        /// A word of the yard itself.
        Notice = "notice",
    }
}

words! {
    /// The turn that a delivered message began.
    Turn {
        /// The agent is at it.
        Open = "open",
        /// It is over.
        Completed = "completed",
    }
}

#[expect(clippy::derivable_impls, reason = "`words!` makes the type")]
impl Default for Batching {
    fn default() -> Self {
        Self::One
    }
}

/// A message to be accepted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewMessage {
    /// Who gets it.
    pub to: TerminalId,
    /// Who sent it, as the server knows it; `None` is no terminal.
    pub from: Option<TerminalId>,
    /// What is known of a sender that is no terminal; `None` is a person.
    pub origin: Option<Origin>,
    /// What it is for.
    pub purpose: Purpose,
    /// The text.
    pub text: String,
    /// Idempotency key, counted per receiver.
    pub key: Option<String>,
    /// When it may be handed over.
    pub urgency: Urgency,
    /// When it was sent, for people to read.
    pub at: SystemTime,
}

/// What was accepted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Posted {
    /// The message.
    pub id: MessageId,
    /// Its number in the receiver's inbox.
    pub seq: u64,
    /// Whether it was there before, under the same key.
    pub repeated: bool,
}

/// A message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Message {
    /// Its id.
    pub id: MessageId,
    /// Its number in the receiver's inbox.
    pub seq: u64,
    /// Who gets it.
    pub to: TerminalId,
    /// Who sent it; `None` is no terminal.
    pub from: Option<TerminalId>,
    /// What is known of a sender that is no terminal; `None` is a person.
    pub origin: Option<Origin>,
    /// What it is for.
    pub purpose: Purpose,
    /// The text.
    pub text: String,
    /// Idempotency key.
    pub key: Option<String>,
    /// When it may be handed over.
    pub urgency: Urgency,
    /// Where it stands.
    pub state: MessageState,
    /// How often it was tried.
    pub attempts: u32,
    /// The last try.
    pub attempt: Option<AttemptId>,
    /// Why it failed, waits again, or is uncertain.
    pub reason: Option<String>,
    /// When it was sent, for people to read.
    pub created_at: SystemTime,
    /// When it was delivered, for people to read.
    pub delivered_at: Option<SystemTime>,
    /// How the delivery is known: `screen`, `hook`, `native`, ...
    pub evidence: Option<String>,
    /// The offset in the receiver's log of that evidence.
    pub offset: Option<u64>,
    /// The turn it began.
    pub turn: Option<Turn>,
}
