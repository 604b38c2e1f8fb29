//! Why the store refused or failed.

use std::path::PathBuf;

use ptyard_core::{AttemptId, ErrorCode, FlowRunId, HandoffId, MessageId};

use crate::inbox::MessageState;

/// Why the store refused or failed. A call that returns one left nothing behind.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum StoreError {
    /// The disk is full, or a quota. The store goes on when there is room again.
    #[error("{}: the disk is full", .0.display())]
    Full(PathBuf),
    /// The database cannot be read or written.
    #[error("{}: {why}", path.display())]
    Unwritable {
        /// The database.
        path: PathBuf,
        /// What the system said.
        why: String,
    },
    /// The database is damaged. It is left as it is.
    #[error("{} is damaged: {why}", path.display())]
    Damaged {
        /// The database.
        path: PathBuf,
        /// What was found.
        why: String,
    },
    /// A newer version made the database.
    #[error(
        "{} was made by ptyard {their_version} (schema {their_schema}); this is ptyard {our_version} (schema {our_schema})",
        path.display()
    )]
    Newer {
        /// The database.
        path: PathBuf,
        /// The program that made it.
        their_version: String,
        /// Its schema.
        their_schema: u32,
        /// This program.
        our_version: &'static str,
        /// The newest schema it knows.
        our_schema: u32,
    },
    /// The file is a database of something else.
    #[error("{} is not a database of ptyard", .0.display())]
    Foreign(PathBuf),
    /// No message has this id.
    #[error("no message {0}")]
    UnknownMessage(MessageId),
    /// The message is in a state in which this cannot be done.
    #[error("message {message} is {state}")]
    Settled {
        /// The message.
        message: MessageId,
        /// Its state.
        state: MessageState,
    },
    /// No attempt has this id.
    #[error("no attempt {0}")]
    UnknownAttempt(AttemptId),
    /// The attempt is over, so that nothing more can be said about it.
    #[error("attempt {0} is over")]
    AttemptOver(AttemptId),
    /// The inbox is full.
    #[error("{pending} messages wait there, which is the most")]
    InboxFull {
        /// Messages that wait.
        pending: u64,
    },
    /// The text is too long.
    #[error("{bytes} bytes of text are too many, {most} is the most")]
    TextTooLong {
        /// Bytes given.
        bytes: usize,
        /// Most bytes.
        most: usize,
    },
    /// The key was used for something else.
    #[error("the key {0:?} was used for something else before")]
    KeyConflict(String),
    /// No handoff has this id.
    #[error("no handoff {0}")]
    UnknownHandoff(HandoffId),
    /// The handoff has a result already.
    #[error("handoff {0} is over")]
    HandoffOver(HandoffId),
    /// No flow has this name.
    #[error("no flow {0:?}")]
    UnknownFlow(String),
    /// There is a flow of this name.
    #[error("there is a flow {0:?} already")]
    FlowTaken(String),
    /// A run of the flow is still going.
    #[error("run {run} of the flow {flow:?} is still going")]
    FlowRunning {
        /// The flow.
        flow: String,
        /// Its run.
        run: FlowRunId,
    },
    /// No run of a flow has this id.
    #[error("no run {0}")]
    UnknownFlowRun(FlowRunId),
    /// The run is over, or its work is under way already.
    #[error("run {0} is over")]
    FlowRunOver(FlowRunId),
    /// The store was closed.
    #[error("the store is closed")]
    Closed,
    /// The database refused what it should have taken.
    #[error("{}: {why}", path.display())]
    Internal {
        /// The database.
        path: PathBuf,
        /// What it said.
        why: String,
    },
}

impl StoreError {
    /// The stable code.
    #[must_use]
    pub const fn code(&self) -> ErrorCode {
        match self {
            Self::Full(_) => ErrorCode::DiskFull,
            Self::Unwritable { .. } => ErrorCode::StateUnwritable,
            Self::Damaged { .. } | Self::Foreign(_) => ErrorCode::StoreDamaged,
            Self::Newer { .. } => ErrorCode::StoreNewer,
            Self::UnknownMessage(_) => ErrorCode::UnknownMessage,
            Self::Settled { .. } => ErrorCode::MessageSettled,
            Self::InboxFull { .. } => ErrorCode::InboxFull,
            Self::TextTooLong { .. } => ErrorCode::InputTooLarge,
            Self::KeyConflict(_) => ErrorCode::KeyConflict,
            Self::UnknownHandoff(_) => ErrorCode::UnknownHandoff,
            Self::HandoffOver(_) => ErrorCode::InvalidArgument,
            Self::UnknownFlow(_) => ErrorCode::UnknownFlow,
            Self::FlowTaken(_) => ErrorCode::FlowTaken,
            Self::FlowRunning { .. } => ErrorCode::FlowRunning,
            Self::Closed => ErrorCode::Stopping,
            Self::UnknownAttempt(_)
            | Self::AttemptOver(_)
            | Self::UnknownFlowRun(_)
            | Self::FlowRunOver(_)
            | Self::Internal { .. } => ErrorCode::Internal,
        }
    }
}
