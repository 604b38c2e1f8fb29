//! A real disk that is full, or cannot be written any more, and then can.

use std::fs;
use std::path::Path;

use ptyard_core::ErrorCode;
use ptyard_store::Inbox;
use ptyard_store::sqlite::SqliteStore;
use rustix::mount::{MountFlags, UnmountFlags, mount, mount_remount, unmount};

use crate::support::{message, terminal, wait};

/// A small disk of its own; `None`, loudly, where none can be mounted.
struct Disk(tempfile::TempDir);

impl Disk {
    fn new() -> Option<Self> {
        let directory = tempfile::tempdir().unwrap();
        match mount("none", directory.path(), "tmpfs", MountFlags::empty(), Some(c"size=2m")) {
            Ok(()) => Some(Self(directory)),
            Err(error) => {
                eprintln!("SKIPPED: no disk can be mounted here: {error}");
                None
            }
        }
    }

    fn path(&self) -> &Path {
        self.0.path()
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        let _left_behind = unmount(self.0.path(), UnmountFlags::DETACH);
    }
}

#[test]
fn a_full_disk_is_told_and_the_store_goes_on_when_there_is_room() {
    let Some(disk) = Disk::new() else { return };
    let store = SqliteStore::open(disk.path().join("ptyard.db")).unwrap();
    let first = wait(store.post(message(1, "before"))).unwrap();
    let ballast = disk.path().join("ballast");
    // Takes what is left, to the last block.
    let _full = fs::write(&ballast, vec![0; 4 << 20]);
    let mut accepted = 1;
    let error = loop {
        match wait(store.post(message(1, &"x".repeat(20_000)))) {
            Ok(_) => accepted += 1,
            Err(error) => break error,
        }
    };
    assert_eq!(error.code(), ErrorCode::DiskFull, "{error}");
    assert!(error.code().is_retryable());
    for _ in 0..20 {
        let again = wait(store.post(message(1, &"x".repeat(20_000)))).unwrap_err();
        assert_eq!(again.code(), ErrorCode::DiskFull, "{again}");
    }
    // What was accepted can be read meanwhile.
    assert_eq!(wait(store.message(first.id)).unwrap().unwrap().text, "before");
    fs::remove_file(&ballast).unwrap();
    let after = wait(store.post(message(1, "after"))).unwrap();
    assert_eq!(after.seq, accepted + 1, "what was refused left nothing");
    drop(store);
    let store = SqliteStore::open(disk.path().join("ptyard.db")).unwrap();
    assert_eq!(wait(store.mailbox(terminal(1))).unwrap().pending, accepted + 1);
}

#[test]
fn a_disk_that_became_read_only_is_told_and_the_store_goes_on_when_it_is_not() {
    let Some(disk) = Disk::new() else { return };
    let path = disk.path().join("ptyard.db");
    drop(SqliteStore::open(&path).unwrap());
    if let Err(error) = mount_remount(disk.path(), MountFlags::RDONLY, "") {
        eprintln!("SKIPPED: the disk cannot be made read-only: {error}");
        return;
    }
    let error = SqliteStore::open(&path).err().unwrap();
    assert_eq!(error.code(), ErrorCode::StateUnwritable, "{error}");
    mount_remount(disk.path(), MountFlags::empty(), "").unwrap();
    let store = SqliteStore::open(&path).unwrap();
    assert_eq!(wait(store.post(message(1, "x"))).unwrap().seq, 1);
}
