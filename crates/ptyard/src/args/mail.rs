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
    /// Hand it over in the middle of a turn, too, where the agent can take it then
    #[arg(long)]
    pub(crate) now: bool,
    /// Wait until the agent has it, or until the turn it begins is over; otherwise exit with 1
    #[arg(long, value_name = "delivered|completed")]
    pub(crate) wait: Option<WaitFor>,
    /// Longest wait in seconds [default: 600]
    #[arg(long, value_name = "S", requires = "wait")]
    pub(crate) timeout: Option<f64>,
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
