//! What can go wrong with a log.

use std::io;
use std::path::PathBuf;

use ptyard_core::ErrorCode;
use rustix::io::Errno;

/// Why a log could not do what was asked. Nothing that was in it is lost by any of these.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LogError {
    /// The file system or the user's disk quota is full. Worth another try once there is space.
    #[error("the disk is full: cannot {action} {}", path.display())]
    DiskFull {
        /// What was tried.
        action: &'static str,
        /// With which file.
        path: PathBuf,
    },
    /// The operating system refused for another reason.
    #[error("cannot {action} {}: {errno}", path.display())]
    Os {
        /// What was tried.
        action: &'static str,
        /// With which file.
        path: PathBuf,
        /// The system's word.
        errno: Errno,
    },
    /// The offset is beyond the published end.
    #[error("offset {at} is beyond the end {end}")]
    BeyondEnd {
        /// The offset asked for.
        at: u64,
        /// The end when it was asked for.
        end: u64,
    },
    /// Another writer has this log.
    #[error("{} has a writer", dir.display())]
    InUse {
        /// The log's directory.
        dir: PathBuf,
    },
    /// There is something at the place of a new log.
    #[error("{} exists", dir.display())]
    Exists {
        /// The log's directory.
        dir: PathBuf,
    },
    /// The log was removed.
    #[error("{} was removed", dir.display())]
    Removed {
        /// The log's directory.
        dir: PathBuf,
    },
    /// The files contradict each other: somebody else changed them.
    #[error("{} is damaged: {what}", dir.display())]
    Damaged {
        /// The log's directory.
        dir: PathBuf,
        /// The contradiction.
        what: &'static str,
    },
}

impl LogError {
    /// The error for a system call on `path` that failed.
    pub(crate) fn os(action: &'static str, path: impl Into<PathBuf>, errno: Errno) -> Self {
        let path = path.into();
        match errno {
            Errno::NOSPC | Errno::DQUOT => Self::DiskFull { action, path },
            _ => Self::Os { action, path, errno },
        }
    }

    /// The stable code.
    #[must_use]
    pub const fn code(&self) -> ErrorCode {
        match self {
            Self::DiskFull { .. } => ErrorCode::DiskFull,
            Self::Os { .. } | Self::Exists { .. } => ErrorCode::StateUnwritable,
            Self::BeyondEnd { .. } => ErrorCode::OffsetBeyondEnd,
            Self::InUse { .. } => ErrorCode::StateLocked,
            Self::Removed { .. } => ErrorCode::TerminalRemoved,
            Self::Damaged { .. } => ErrorCode::Internal,
        }
    }
}

/// Why [`LogWriter::fill`](super::LogWriter::fill) read nothing.
#[derive(Debug, thiserror::Error)]
pub enum FillError {
    /// The read itself failed; the log is as it was.
    #[error(transparent)]
    Read(io::Error),
    /// The ring is full and cannot be flushed for this reason. Nothing was read and nothing is lost: try again later.
    #[error("output waits: {0}")]
    Blocked(LogError),
}

/// The system's number of an error that came through the standard library.
pub(crate) fn errno(error: &io::Error) -> Errno {
    Errno::from_io_error(error).unwrap_or(Errno::IO)
}
