//! Looking at mail.

use std::time::SystemTime;

use ptyard_core::{MessageId, TerminalId};

use crate::inbox::{Batching, MessageState};

/// Which messages.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Select {
    /// Whose; `None` is everybody's.
    pub receiver: Option<TerminalId>,
    /// In which states; empty is in any.
    pub states: Vec<MessageState>,
}

/// Which part of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Page {
    /// Those behind this one; `None` is from the oldest on.
    pub after: Option<MessageId>,
    /// Most of them, at most [`Page::MOST`].
    pub most: u32,
}

impl Page {
    /// Most messages of one page.
    pub const MOST: u32 = 1_000;
}

impl Default for Page {
    fn default() -> Self {
        Self { after: None, most: 100 }
    }
}

/// How much waits for a receiver.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Mailbox {
    /// How much one attempt takes.
    pub batching: Batching,
    /// Messages that wait.
    pub pending: u64,
    /// Of these, those that are urgent.
    pub urgent: u64,
    /// Messages of which only a person can tell.
    pub uncertain: u64,
    /// The message that waits longest, and when it was sent.
    pub oldest: Option<(MessageId, SystemTime)>,
}
