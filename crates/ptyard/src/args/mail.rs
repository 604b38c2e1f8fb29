//! Mail on the command line.

use clap::{Args, Subcommand, ValueEnum};

use super::IdArg;

/// Send a message to an agent; it is on disk when this returns
#[derive(Debug, Args)]
pub(crate) struct SendArgs {
    /// Who gets it: short id, full id, or unique name
    #[arg(value_name = "TO")]
    pub(crate) to: String,
    /// The text, or `-` for stdin
    #[arg(value_name = "TEXT|-", allow_hyphen_values = true)]
    pub(crate) text: String,
    /// The terminal that sends it
    #[arg(long, value_name = "ID")]
    pub(crate) from: Option<String>,
    /// The same text sent again under the same key is the same message
    #[arg(long, value_name = "KEY")]
    pub(crate) key: Option<String>,
    /// now: before all that is not urgent; the turn that runs is stopped for it, where it is known how
    #[arg(long, value_name = "ready|now", default_value = "ready")]
    pub(crate) urgency: UrgencyArg,
    /// Wait until the agent has it, or until the turn it begins is over; otherwise exit with 1
    #[arg(long, value_name = "delivered|completed")]
    pub(crate) wait: Option<WaitFor>,
    /// Longest wait in seconds [default: 600]
    #[arg(long, value_name = "S", requires = "wait")]
    pub(crate) timeout: Option<f64>,
}

/// When a message is handed over.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum UrgencyArg {
    Ready,
    Now,
}

/// How much of an inbox is handed over at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum BatchingArg {
    One,
    Drain,
}

/// What a sender waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum WaitFor {
    Delivered,
    Completed,
}

/// Show the messages for a terminal that are not delivered
#[derive(Debug, Args)]
pub(crate) struct InboxArgs {
    #[command(flatten)]
    pub(crate) at: IdArg,
    /// Also those that are delivered or were cancelled
    #[arg(long)]
    pub(crate) all: bool,
    /// How much waits, since when, and why, instead of the messages
    #[arg(long, conflicts_with = "all")]
    pub(crate) summary: bool,
    /// From now on hand over one message at a time, or all that wait in a row from one sender
    #[arg(long, value_name = "one|drain", conflicts_with = "all")]
    pub(crate) batching: Option<BatchingArg>,
}

/// Show a message, send it again, or take it back
#[derive(Debug, Args)]
pub(crate) struct MessageArgs {
    /// Its id, for example m17
    #[arg(value_name = "MID")]
    pub(crate) id: String,
    #[command(subcommand)]
    pub(crate) action: Option<MessageAction>,
}

/// What is done to a message.
#[derive(Debug, Clone, Copy, Subcommand)]
pub(crate) enum MessageAction {
    /// Let it wait again, at its place: for one that failed, was cancelled or is uncertain
    Retry,
    /// Take it back: for one that was not delivered
    Cancel,
}
