//! What went wrong in a job, and what it means for whoever asked.

use std::path::Path;

use rusqlite::ErrorCode as Code;

use crate::error::StoreError;

/// Why a job was not done.
#[derive(Debug)]
pub(super) enum Fault {
    /// The database said no.
    Sql(rusqlite::Error),
    /// A rule of ours did.
    Refused(StoreError),
}

impl From<rusqlite::Error> for Fault {
    fn from(error: rusqlite::Error) -> Self {
        Self::Sql(error)
    }
}

impl From<StoreError> for Fault {
    fn from(error: StoreError) -> Self {
        Self::Refused(error)
    }
}

impl Fault {
    /// What is told to the caller; `path` is the database.
    pub(super) fn told(self, path: &Path) -> StoreError {
        match self {
            Self::Refused(error) => error,
            Self::Sql(error) => told(&error, path),
        }
    }
}

/// What an error of the database means.
pub(super) fn told(error: &rusqlite::Error, path: &Path) -> StoreError {
    let (path, why) = (path.to_owned(), error.to_string());
    let Some(code) = error.sqlite_error_code() else {
        return match error {
            // A column held what it never should: nobody but us writes there.
            rusqlite::Error::FromSqlConversionFailure(..)
            | rusqlite::Error::InvalidColumnType(..)
            | rusqlite::Error::IntegralValueOutOfRange(..)
            | rusqlite::Error::Utf8Error(..) => StoreError::Damaged { path, why },
            _ => StoreError::Internal { path, why },
        };
    };
    match code {
        Code::DiskFull => StoreError::Full(path),
        Code::DatabaseCorrupt | Code::NotADatabase => StoreError::Damaged { path, why },
        // The shared index beside the database grows by mapping: there a full disk is an input/output error.
        Code::SystemIoFailure if is_full(&path) => StoreError::Full(path),
        Code::SystemIoFailure
        | Code::ReadOnly
        | Code::CannotOpen
        | Code::PermissionDenied
        | Code::DatabaseBusy
        | Code::DatabaseLocked
        | Code::FileLockingProtocolFailed => StoreError::Unwritable { path, why },
        _ => StoreError::Internal { path, why },
    }
}

/// Whether the file system of `path` has no block left for us.
fn is_full(path: &Path) -> bool {
    rustix::fs::statvfs(path).is_ok_and(|disk| disk.f_bavail == 0)
}
