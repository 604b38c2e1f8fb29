//! The file `ring`: creating, locking and reading it.

use std::path::{Path, PathBuf};

use rustix::fd::OwnedFd;
use rustix::fs::{FallocateFlags, FlockOperation, Mode, OFlags, fallocate, flock, fstat, ftruncate, open};
use rustix::io::{Errno, pread, pwrite};
use rustix::thread::{Timespec, nanosleep};

use super::error::LogError;
use super::header::{self, Header};
use super::segments::PRIVATE;

/// An open ring file with its lock: exclusive for a writer, shared for a look at what a dead one left.
///
/// The lock belongs to the open file, which a mapping of it keeps alive: the writer drops this once the ring is mapped,
/// so a live log needs no descriptor for its lock. It goes with the mapping, so also when the process dies.
pub(crate) struct RingFile {
    pub(crate) fd: OwnedFd,
    dir: PathBuf,
}

/// A program that is being started holds, between its fork and its exec, a copy of every open file of this process, and
/// with them their locks. A server that was killed holds them until the kernel has taken it apart, which comes after its
/// connections broke. So a lock that is held may be free in a moment, and nothing tells when: it is tried again this
/// often, this far apart, 5 s in all. Who has to wait that long has a machine where everything takes that long.
const LOCK_TRIES: u32 = 2_500;
const LOCK_PAUSE: Timespec = Timespec { tv_sec: 0, tv_nsec: 2_000_000 };

/// How a ring file is opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Access {
    /// To look at it.
    Read,
    /// To write to it; it is created when it does not exist.
    Write,
}

impl RingFile {
    const NAME: &str = "ring";

    fn path(dir: &Path) -> PathBuf {
        dir.join(Self::NAME)
    }

    /// Opens and locks the ring of `dir`; `None` when there is none to look at.
    pub(crate) fn open(dir: &Path, access: Access) -> Result<Option<Self>, LogError> {
        let (flags, lock) = match access {
            Access::Read => (OFlags::RDONLY, FlockOperation::NonBlockingLockShared),
            Access::Write => (OFlags::RDWR | OFlags::CREATE, FlockOperation::NonBlockingLockExclusive),
        };
        let path = Self::path(dir);
        let fd = match open(&path, flags | OFlags::CLOEXEC | OFlags::NOFOLLOW, PRIVATE) {
            Ok(fd) => fd,
            Err(Errno::NOENT) if access == Access::Read => return Ok(None),
            Err(Errno::NOENT) => return Err(LogError::Removed { dir: dir.to_owned() }),
            Err(errno) => return Err(LogError::os("open", path, errno)),
        };
        let mut tries = LOCK_TRIES;
        loop {
            match flock(&fd, lock) {
                Ok(()) => break,
                Err(Errno::WOULDBLOCK) if tries > 0 => tries -= 1,
                Err(Errno::WOULDBLOCK) => return Err(LogError::InUse { dir: dir.to_owned() }),
                Err(errno) => return Err(LogError::os("lock", path, errno)),
            }
            // Interrupted is as good as slept.
            let _ = nanosleep(&LOCK_PAUSE);
        }
        Ok(Some(Self { fd, dir: dir.to_owned() }))
    }

    /// Reads the whole file: its header and its bytes; `None` when it was never used.
    pub(crate) fn image(&self) -> Result<Option<(Header, Vec<u8>)>, LogError> {
        let failed = |e| LogError::os("read", Self::path(&self.dir), e);
        let len = usize::try_from(fstat(&self.fd).map_err(failed)?.st_size).unwrap_or(0);
        let mut bytes = vec![0; len];
        let mut got = 0;
        while got < len {
            match pread(&self.fd, &mut bytes[got..], got as u64) {
                Ok(0) => break,
                Ok(n) => got += n,
                Err(Errno::INTR) => {}
                Err(errno) => return Err(failed(errno)),
            }
        }
        bytes.truncate(got);
        let header =
            header::read(&bytes).map_err(|what| LogError::Damaged { dir: self.dir.clone(), what })?;
        Ok(header.map(|header| (header, bytes)))
    }

    /// Reserves the file's first `len` bytes on the disk, so that no write to a mapping of them can meet a full one.
    /// What they hold stays.
    pub(crate) fn reserve(&self, len: usize) -> Result<(), LogError> {
        let reserved = loop {
            match fallocate(&self.fd, FallocateFlags::empty(), 0, len as u64) {
                Err(Errno::INTR) => {}
                // Some file systems have no such call; writing zeros behind the end reserves as well.
                Err(Errno::OPNOTSUPP | Errno::NOSYS) => break self.write_zeros(len as u64),
                other => break other,
            }
        };
        reserved.map_err(|errno| LogError::os("reserve", Self::path(&self.dir), errno))
    }

    /// Opens the file again under the lock that its mapping holds.
    pub(crate) fn again(dir: &Path) -> Result<Self, LogError> {
        let path = Self::path(dir);
        let fd = open(&path, OFlags::RDWR | OFlags::CLOEXEC | OFlags::NOFOLLOW, Mode::empty());
        Ok(Self { fd: fd.map_err(|e| LogError::os("open", path, e))?, dir: dir.to_owned() })
    }

    /// Shortens the file. Nobody may touch what is mapped behind `len` any more.
    pub(crate) fn shorten(&self, len: usize) -> Result<(), LogError> {
        ftruncate(&self.fd, len as u64).map_err(|errno| LogError::os("shorten", Self::path(&self.dir), errno))
    }

    fn write_zeros(&self, len: u64) -> Result<(), Errno> {
        let zeros = [0; 4096];
        let mut at = u64::try_from(fstat(&self.fd)?.st_size).unwrap_or(0);
        while at < len {
            let want = usize::try_from(len - at).unwrap_or(usize::MAX).min(zeros.len());
            match pwrite(&self.fd, &zeros[..want], at) {
                Ok(0) => return Err(Errno::NOSPC),
                Ok(n) => at += n as u64,
                Err(Errno::INTR) => {}
                Err(errno) => return Err(errno),
            }
        }
        Ok(())
    }
}

/// The mode of a log's directory.
pub(crate) const PRIVATE_DIR: Mode = Mode::RWXU;
