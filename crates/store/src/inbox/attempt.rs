//! Tries to deliver.

use std::time::SystemTime;

use ptyard_core::{AttemptId, TerminalId};

use crate::inbox::Message;
use crate::owner::Owner;

/// How much one attempt takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Batch {
    /// The next message.
    One,
    /// The next message and those right behind it from the same sender, up to `most` of them and `bytes` of text. A
    /// longer first message is taken alone.
    Run {
        /// Most messages.
        most: u32,
        /// Most bytes of text.
        bytes: u64,
    },
}

/// What may be taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Due {
    /// Everything: the agent is ready.
    All,
    /// What is urgent: the agent is busy and takes text all the same.
    Urgent,
}

/// Asks for the next batch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Claim {
    /// Whose mail.
    pub receiver: TerminalId,
    /// Who delivers.
    pub owner: Owner,
    /// How much.
    pub batch: Batch,
    /// What may be taken.
    pub due: Due,
}

/// One try to deliver one batch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Attempt {
    /// Its id.
    pub id: AttemptId,
    /// Whose mail.
    pub receiver: TerminalId,
    /// The messages, in order; one at least.
    pub messages: Vec<Message>,
}

/// How a delivery is known.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Receipt {
    /// The source: `screen`, `hook`, `native`, `person`, ...
    pub evidence: String,
    /// Where in the receiver's log it was found.
    pub offset: Option<u64>,
    /// When, for people to read.
    pub at: SystemTime,
}

/// A turn that mail began.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OpenTurn {
    /// The attempt that brought the mail.
    pub attempt: AttemptId,
    /// Where in the receiver's log the delivery was seen.
    pub offset: Option<u64>,
}
