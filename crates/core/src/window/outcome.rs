//! How a window came out.

#[cfg(doc)]
use super::{Collector, Condition};
use crate::{Exit, Moment};

/// What ended a window.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum EndedBy {
    /// The program ended, and all it printed is in.
    Exit,
    /// Its time was over.
    Deadline,
    /// [`Condition::Quiet`].
    Quiet,
    /// [`Condition::Regex`].
    Regex,
    /// [`Condition::Prompt`].
    Prompt,
    /// [`Condition::Status`].
    Status,
}

impl EndedBy {
    /// The word for it in JSON.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Exit => "exit",
            Self::Deadline => "deadline",
            Self::Quiet => "quiet",
            Self::Regex => "regex",
            Self::Prompt => "prompt",
            Self::Status => "status",
        }
    }
}

/// What is to be done now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    /// Wait for more, at most until this moment.
    Wait {
        /// When to step again if nothing happens; `None` is never.
        until: Option<Moment>,
    },
    /// The window has ended: [`Collector::finish`] it.
    Done(EndedBy),
}

/// A window that was collected.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Collected {
    /// The text, truncated once as a whole.
    pub text: String,
    /// Tokens of the whole text, when it was cut.
    pub original_token_count: Option<u64>,
    /// Log offset of the first byte.
    pub from: u64,
    /// Log offset after the last byte that the text stands for; the next window begins here.
    pub next: u64,
    /// Bytes between the two that were evicted before they were read.
    pub evicted: u64,
    /// What ended it.
    pub ended_by: EndedBy,
    /// The program's end, when everything printed before it is in this window or an earlier one.
    pub exit: Option<Exit>,
    /// What the regular expression matched, as plain text.
    pub matched: Option<String>,
}
