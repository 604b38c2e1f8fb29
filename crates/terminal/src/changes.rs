//! Changes of the files in directories.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use rustix::fs::inotify;
use rustix::io::Errno;
use tokio::io::Interest;

use crate::sys::watched::WatchedFd;

/// Bytes of events that are read at once. What does not fit stays in the kernel's queue.
const ROOM: usize = 4096;

/// Tells when files of directories came, were written or went. Nothing is polled.
#[derive(Debug)]
pub struct FileChanges {
    fd: WatchedFd,
    watched: BTreeMap<i32, PathBuf>,
}

/// A file that came, was written or went.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FileChange {
    /// The file of this name in this directory.
    In(PathBuf, OsString),
    /// The directory itself is gone, and is not watched any more.
    Gone(PathBuf),
    /// More happened than the kernel kept: anything may have changed.
    Missed,
}

impl FileChanges {
    /// Watches nothing yet. Must be called in a runtime.
    ///
    /// # Errors
    /// When the system has no more of these watches for this user.
    pub fn new() -> io::Result<Self> {
        let fd = inotify::init(inotify::CreateFlags::CLOEXEC | inotify::CreateFlags::NONBLOCK)?;
        Ok(Self { fd: WatchedFd::new(fd, Interest::READABLE)?, watched: BTreeMap::new() })
    }

    /// Watches a directory from now on; one that is watched already still is. A file that is being written is told when
    /// its writer closes it.
    ///
    /// # Errors
    /// When it is no directory, or cannot be read.
    pub fn watch(&mut self, directory: &Path) -> io::Result<()> {
        let events = inotify::WatchFlags::CLOSE_WRITE
            | inotify::WatchFlags::CREATE
            | inotify::WatchFlags::DELETE
            | inotify::WatchFlags::MOVE
            | inotify::WatchFlags::ONLYDIR;
        let watch = inotify::add_watch(self.fd.get_ref(), directory, events)?;
        self.watched.insert(watch, directory.to_owned());
        Ok(())
    }

    /// Waits for the next changes, in order. Dropping the future loses none.
    ///
    /// # Errors
    /// When they cannot be read, which does not pass.
    pub async fn next(&mut self) -> io::Result<Vec<FileChange>> {
        loop {
            let mut ready = self.fd.readable().await?;
            let changes = read(self.fd.get_ref(), &mut self.watched)?;
            if !changes.is_empty() {
                return Ok(changes);
            }
            ready.clear_ready();
        }
    }
}

fn read(fd: &std::os::fd::OwnedFd, watched: &mut BTreeMap<i32, PathBuf>) -> Result<Vec<FileChange>, Errno> {
    let mut room = [std::mem::MaybeUninit::uninit(); ROOM];
    let mut reader = inotify::Reader::new(fd, &mut room);
    let mut changes = Vec::new();
    loop {
        let event = match reader.next() {
            Ok(event) => event,
            Err(Errno::WOULDBLOCK) => return Ok(changes),
            Err(Errno::INTR) => continue,
            Err(error) => return Err(error),
        };
        let flags = event.events();
        if flags.contains(inotify::ReadFlags::QUEUE_OVERFLOW) {
            changes.push(FileChange::Missed);
        } else if flags.contains(inotify::ReadFlags::IGNORED) {
            changes.extend(watched.remove(&event.wd()).map(FileChange::Gone));
        } else if let (Some(directory), Some(name)) = (watched.get(&event.wd()), event.file_name()) {
            let name = OsStr::from_bytes(name.to_bytes()).to_owned();
            changes.push(FileChange::In(directory.clone(), name));
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[tokio::test]
    async fn files_that_come_change_and_go_are_told_and_so_is_a_directory_that_goes() {
        let root = tempfile::tempdir().unwrap();
        let inside = root.path().join("inside");
        let mut changes = FileChanges::new().unwrap();
        assert!(changes.watch(&inside).is_err());
        fs::create_dir(&inside).unwrap();
        changes.watch(&inside).unwrap();
        let of = |name: &str| FileChange::In(inside.clone(), name.into());
        fs::write(inside.join("a"), "1").unwrap();
        // It came, and it was closed.
        assert_eq!(changes.next().await.unwrap(), [of("a"), of("a")]);
        fs::rename(inside.join("a"), inside.join("b")).unwrap();
        assert_eq!(changes.next().await.unwrap(), [of("a"), of("b")]);
        fs::remove_dir_all(&inside).unwrap();
        let last = changes.next().await.unwrap();
        assert_eq!(last, [of("b"), FileChange::Gone(inside.clone())]);
        fs::create_dir(&inside).unwrap();
        changes.watch(&inside).unwrap();
        fs::write(inside.join("c"), "").unwrap();
        assert_eq!(changes.next().await.unwrap()[0], of("c"));
    }
}
