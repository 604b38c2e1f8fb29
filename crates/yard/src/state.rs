//! The state directory: who owns it, who has locked it, and what stands in it.
//!
//! ```text
//! STATE/            0700, owned by the server's user
//!   lock            held (flock) by the one server of this directory; names its pid
//!   ptyard.sock     the server's socket
//!   keeper.sock     the socket of the keeper, the parent of all programs; `keeper.lock` is held by it
//!   format          which form all this has, and the version that wrote it
//!   ptyard.db       the database: terminals, sessions, events, keys, mail (with `-wal` and `-shm` beside it)
//!   terminals/ID/   one terminal: its log, and what moves too often for the database (`cursor`, `sizes`)
//! ```

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Read, Seek, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use ptyard_core::{ErrorCode, TerminalId};
use rustix::fs::{FlockOperation, flock};

use crate::error::YardError;
use crate::format;

/// A state directory that is ours. The lock is held until this is dropped or the process is gone.
#[derive(Debug)]
pub(crate) struct StateDir {
    root: PathBuf,
    _lock: File,
}

fn refused(code: ErrorCode, message: String) -> YardError {
    YardError::State { code, message }
}

/// What could not be written in the state directory, and why.
pub(crate) fn unwritable(what: &Path, error: &io::Error) -> YardError {
    let code = match error.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => ErrorCode::DiskFull,
        _ => ErrorCode::StateUnwritable,
    };
    refused(code, format!("{}: {error}", what.display()))
}

impl StateDir {
    /// Opens `root`, makes it if it is missing, and locks it.
    pub(crate) fn open(root: &Path) -> Result<Self, YardError> {
        private_directory(root)?;
        let metadata = fs::metadata(root).map_err(|error| unwritable(root, &error))?;
        let uid = rustix::process::geteuid().as_raw();
        if metadata.uid() != uid {
            let message = format!("{} belongs to user {}, not to user {uid}", root.display(), metadata.uid());
            return Err(refused(ErrorCode::StateForeign, message));
        }
        if metadata.permissions().mode() & 0o077 != 0 {
            fs::set_permissions(root, fs::Permissions::from_mode(0o700))
                .map_err(|error| unwritable(root, &error))?;
        }
        let lock = lock(root)?;
        if format::check(root)? != Some(format::FORMAT) {
            format::write(root)?;
        }
        private_directory(&root.join("terminals"))?;
        Ok(Self { root: root.to_owned(), _lock: lock })
    }

    /// The database.
    pub(crate) fn store(&self) -> PathBuf {
        self.root.join("ptyard.db")
    }

    /// The greatest number of an event that an earlier version may have given: it kept the next one in a file.
    pub(crate) fn events_given(&self) -> u64 {
        let next =
            fs::read_to_string(self.root.join("events")).ok().and_then(|text| text.trim().parse().ok());
        next.unwrap_or(1_u64).saturating_sub(1)
    }

    /// The directory of a terminal.
    pub(crate) fn terminal(&self, id: TerminalId) -> PathBuf {
        self.root.join("terminals").join(id.to_string())
    }

    /// Removes what interrupted removals left.
    pub(crate) fn sweep(&self) -> Result<(), YardError> {
        Ok(ptyard_terminal::log::sweep(&self.root.join("terminals"))?)
    }

    /// The terminals there are directories of, oldest first.
    pub(crate) fn terminals(&self) -> Result<Vec<TerminalId>, YardError> {
        let directory = self.root.join("terminals");
        let entries = fs::read_dir(&directory).map_err(|error| unwritable(&directory, &error))?;
        let mut ids: Vec<TerminalId> =
            entries.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok()).collect();
        ids.sort_unstable();
        Ok(ids)
    }
}

/// Whether this version can go on from what stands in a state directory; an error says why not. Changes nothing.
///
/// # Errors
/// [`ErrorCode::IncompatibleState`] when another version wrote it in a form that this one does not know.
pub fn check_state(root: &Path) -> Result<(), YardError> {
    format::check(root).map(drop)
}

/// Makes a directory only its owner can enter, with its parents.
pub(crate) fn private_directory(path: &Path) -> Result<(), YardError> {
    DirBuilder::new().recursive(true).mode(0o700).create(path).map_err(|error| unwritable(path, &error))
}

fn lock(root: &Path) -> Result<File, YardError> {
    let path = root.join("lock");
    let mut file = OpenOptions::new()
        .read(true)
        .write(true)
        .create(true)
        .truncate(false)
        .mode(0o600)
        .open(&path)
        .map_err(|error| unwritable(&path, &error))?;
    if let Err(error) = flock(&file, FlockOperation::NonBlockingLockExclusive) {
        if error != rustix::io::Errno::WOULDBLOCK {
            return Err(unwritable(&path, &error.into()));
        }
        let mut pid = String::new();
        let _unreadable = file.read_to_string(&mut pid);
        let holder = if pid.trim().is_empty() {
            "another server".to_owned()
        } else {
            format!("the server with pid {}", pid.trim())
        };
        return Err(refused(ErrorCode::StateLocked, format!("{} is used by {holder}", root.display())));
    }
    let written =
        file.set_len(0).and_then(|()| file.rewind()).and_then(|()| writeln!(file, "{}", std::process::id()));
    match written {
        // It is for people. On a full disk the programs that run want a server all the more.
        Err(error) if unwritable(&path, &error).code() != ErrorCode::DiskFull => {
            Err(unwritable(&path, &error))
        }
        _ => Ok(file),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_second_server_is_refused_by_name_and_modes_are_private() {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path().join("deep/state");
        let first = StateDir::open(&root).unwrap();
        let second = StateDir::open(&root).unwrap_err();
        assert_eq!(second.code(), ErrorCode::StateLocked);
        assert!(second.to_string().contains(&format!("pid {}", std::process::id())), "{second}");
        assert_eq!(fs::metadata(&root).unwrap().permissions().mode() & 0o777, 0o700);
        assert_eq!(fs::metadata(root.join("lock")).unwrap().permissions().mode() & 0o777, 0o600);
        drop(first);
        StateDir::open(&root).unwrap();
    }

    #[test]
    fn a_state_that_is_a_file_is_refused_clearly() {
        let file = tempfile::NamedTempFile::new().unwrap();
        assert_eq!(StateDir::open(file.path()).unwrap_err().code(), ErrorCode::StateUnwritable);
    }
}
