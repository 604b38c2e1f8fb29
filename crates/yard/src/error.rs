//! Why the yard refused or failed.

use ptyard_core::ErrorCode;
use ptyard_core::size::SizeError;
use ptyard_core::turn::Status;
use ptyard_core::window::{ConditionError, LimitError};
use ptyard_screen::keys::UnknownKey;
use ptyard_store::StoreError;
use ptyard_terminal::TerminalError;
use ptyard_terminal::log::LogError;

use crate::agents::AgentError;
use crate::flows::ScheduleError;
use crate::spec::TerminalRef;

/// Why the yard refused or failed. Nothing was changed by a call that returns one, unless its variant says so.
#[derive(Debug, thiserror::Error)]
pub enum YardError {
    /// No terminal ever had this id or name.
    #[error("no terminal {0}")]
    UnknownTerminal(TerminalRef),
    /// It was removed.
    #[error("terminal {0} was removed")]
    TerminalRemoved(TerminalRef),
    /// The program has ended.
    #[error("the program of terminal {0} has ended")]
    TerminalExited(TerminalRef),
    /// The program still runs.
    #[error("the program of terminal {0} still runs")]
    TerminalRunning(TerminalRef),
    /// The name is taken.
    #[error("the name {0:?} is taken")]
    NameTaken(String),
    /// An argument cannot be used.
    #[error("{0}")]
    InvalidArgument(String),
    /// A condition cannot be used.
    #[error(transparent)]
    Condition(#[from] ConditionError),
    /// A limit cannot be used.
    #[error(transparent)]
    Limit(#[from] LimitError),
    /// A key name is unknown.
    #[error(transparent)]
    Key(#[from] UnknownKey),
    /// A size is outside the limits.
    #[error(transparent)]
    Size(#[from] SizeError),
    /// The backend is unknown.
    #[error("there is no backend {name:?}; there are {}", there.join(", "))]
    UnknownBackend {
        /// As it was named.
        name: String,
        /// The names of those that there are.
        there: Vec<&'static str>,
    },
    /// The write is too large.
    #[error("{bytes} bytes at once are too many, {most} is the most")]
    InputTooLarge {
        /// Bytes given.
        bytes: usize,
        /// Most bytes.
        most: usize,
    },
    /// Every short id was used in this server's life.
    #[error("all short ids of this server's life are used up")]
    IdsExhausted,
    /// Too many programs run.
    #[error("{0} programs run, which is the most")]
    TooManyTerminals(usize),
    /// The offset is beyond the end.
    #[error("offset {asked} is beyond the end of the log, {end}")]
    OffsetBeyondEnd {
        /// Offset asked for.
        asked: u64,
        /// End of the log.
        end: u64,
    },
    /// A line longer than the line discipline takes.
    #[error(
        "the terminal is in line mode and takes lines of at most 4,095 bytes; one of {0} bytes would be cut silently"
    )]
    LineTooLong(usize),
    /// Some processes survived.
    #[error("processes {0:?} are still alive")]
    Survivors(Vec<u32>),
    /// The state directory.
    #[error("{message}")]
    State {
        /// `state_unwritable`, `state_locked` or `state_foreign`, `disk_full`.
        code: ErrorCode,
        /// What happened.
        message: String,
    },
    /// The terminal refused.
    #[error(transparent)]
    Terminal(#[from] TerminalError),
    /// The log could not be read.
    #[error(transparent)]
    Log(#[from] LogError),
    /// The store refused or failed.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// Something that cannot be.
    #[error("{0}")]
    Internal(String),
    /// It is about agents.
    #[error(transparent)]
    Agent(#[from] AgentError),
    /// A schedule cannot be used.
    #[error(transparent)]
    Schedule(#[from] ScheduleError),
    /// No agent runs in the terminal.
    #[error("no agent runs in terminal {0}")]
    NoAgent(TerminalRef),
    /// An answer to an agent that asks nothing.
    #[error("terminal {at} asks nothing, it is {status}; nothing was typed")]
    NotAsking {
        /// Which.
        at: TerminalRef,
        /// What it does.
        status: Status,
    },
    /// The server is going down.
    #[error("the server is shutting down")]
    Stopping,
}

impl YardError {
    /// The stable code.
    #[must_use]
    pub fn code(&self) -> ErrorCode {
        match self {
            Self::UnknownTerminal(_) => ErrorCode::UnknownTerminal,
            Self::TerminalRemoved(_) => ErrorCode::TerminalRemoved,
            Self::TerminalExited(_) => ErrorCode::TerminalExited,
            Self::TerminalRunning(_) => ErrorCode::TerminalRunning,
            Self::NameTaken(_) => ErrorCode::NameTaken,
            Self::InvalidArgument(_) | Self::LineTooLong(_) => ErrorCode::InvalidArgument,
            Self::Condition(error) => error.code(),
            Self::Limit(error) => error.code(),
            Self::Key(error) => error.code(),
            Self::Size(_) => ErrorCode::InvalidSize,
            Self::UnknownBackend { .. } => ErrorCode::Unsupported,
            Self::InputTooLarge { .. } => ErrorCode::InputTooLarge,
            Self::IdsExhausted => ErrorCode::IdsExhausted,
            Self::TooManyTerminals(_) => ErrorCode::TooManyTerminals,
            Self::OffsetBeyondEnd { .. } => ErrorCode::OffsetBeyondEnd,
            Self::Survivors(_) => ErrorCode::Survivors,
            Self::State { code, .. } => *code,
            Self::Terminal(error) => error.code(),
            Self::Log(error) => error.code(),
            Self::Store(error) => error.code(),
            Self::Internal(_) => ErrorCode::Internal,
            Self::Agent(error) => error.code(),
            Self::Schedule(_) => ErrorCode::InvalidSchedule,
            Self::NoAgent(_) => ErrorCode::Unsupported,
            Self::NotAsking { .. } => ErrorCode::NotAsking,
            Self::Stopping => ErrorCode::Stopping,
        }
    }
}
