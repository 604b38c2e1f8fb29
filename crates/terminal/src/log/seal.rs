//! The end of a program's output, as it is kept.

use std::fs;
use std::io::{ErrorKind, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

use rustix::io::Errno;
use serde::{Deserialize, Serialize};

use super::error::LogError;

/// Where a program's output ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Seal {
    /// The end of the log when the program's end was known. Bytes of descendants may follow.
    pub at: u64,
    /// What the owner wants to find beside it, for example the exit as JSON; at most [`Seal::NOTE_BYTES`] are kept.
    pub note: String,
}

impl Seal {
    /// The longest note, in bytes: it must fit into the ring's header, where sealing can never hit a full disk.
    pub const NOTE_BYTES: usize = 3 << 10;
}

/// The file `seal` of a closed log.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct SealFile {
    /// Version of the files' format.
    pub(crate) format: u32,
    /// Bytes per segment file.
    pub(crate) segment_bytes: u64,
    /// See [`Seal::at`].
    pub(crate) sealed_at: u64,
    /// See [`Seal::note`].
    pub(crate) note: String,
}

impl SealFile {
    pub(crate) const FORMAT: u32 = 1;
    pub(crate) const NAME: &str = "seal";
    const NEW_NAME: &str = "seal.new";

    pub(crate) fn seal(&self) -> Seal {
        Seal { at: self.sealed_at, note: self.note.clone() }
    }

    /// Writes the file: afterwards it is there whole, or not at all.
    pub(crate) fn write(&self, dir: &Path) -> Result<(), LogError> {
        let (new, name) = (dir.join(Self::NEW_NAME), dir.join(Self::NAME));
        let failed = |e: std::io::Error| LogError::os("write", &name, errno(&e));
        let json = serde_json::to_vec(self).expect("invariant: numbers and a string are always JSON");
        let mut file = fs::OpenOptions::new()
            .write(true)
            .create(true)
            .truncate(true)
            .mode(0o600)
            .open(&new)
            .map_err(failed)?;
        file.write_all(&json).map_err(failed)?;
        drop(file);
        fs::rename(&new, &name).map_err(failed)
    }

    /// Reads the file, if there is one.
    pub(crate) fn read(dir: &Path) -> Result<Option<Self>, LogError> {
        let name = dir.join(Self::NAME);
        let json = match fs::read(&name) {
            Ok(json) => json,
            Err(e) if e.kind() == ErrorKind::NotFound => return Ok(None),
            Err(e) => return Err(LogError::os("read", name, errno(&e))),
        };
        let damaged = |what| LogError::Damaged { dir: dir.to_owned(), what };
        let file: Self = serde_json::from_slice(&json).map_err(|_| damaged("the seal cannot be read"))?;
        if file.format != Self::FORMAT {
            return Err(damaged("the seal has another format"));
        }
        if file.segment_bytes == 0 {
            return Err(damaged("the seal names no segment length"));
        }
        Ok(Some(file))
    }
}

/// The system's number of an error that came through the standard library.
pub(crate) fn errno(error: &std::io::Error) -> Errno {
    Errno::from_io_error(error).unwrap_or(Errno::IO)
}
