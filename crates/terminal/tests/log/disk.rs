//! Full and broken disks, made up and real.

use std::fs;
use std::sync::Arc;
use std::sync::atomic::{AtomicI32, Ordering};

use ptyard_core::ErrorCode;
use ptyard_terminal::log::{Faults, FillError, LogConfig, LogWriter, Step, Verdict, recover};
use rustix::mount::{MountFlags, UnmountFlags, mount, unmount};

use crate::support::{TINY, place, put, rest, text};

#[test]
fn law_01_while_the_disk_is_full_output_waits_and_nothing_is_lost() {
    for errno in [28, 122, 5] {
        let place = place();
        let mut log = LogWriter::create(&place.dir, TINY).unwrap();
        let now = Arc::new(AtomicI32::new(errno));
        let faults = Arc::clone(&now);
        log.set_faults(Faults::new(move |step| match (step, faults.load(Ordering::Relaxed)) {
            (_, 0) => Verdict::Go,
            (Step::Append | Step::OpenSegment, errno) => Verdict::Fail(errno),
            _ => Verdict::Go,
        }));
        // The ring takes output until it is full, then says why it does not.
        assert_eq!(put(&mut log, &text(0, 20_000)), TINY.ring_bytes);
        let code = if errno == 5 { ErrorCode::StateUnwritable } else { ErrorCode::DiskFull };
        assert_eq!(log.stalled().unwrap().code(), code);
        let blocked = log.fill(|_| panic!("there is no room to read into"));
        assert!(matches!(blocked, Err(FillError::Blocked(error)) if error.code() == code));
        assert_eq!(log.flush().unwrap_err().code(), code);
        // Readers go on, a seal is kept, and a close says that it has to wait.
        assert_eq!(rest(&log.reader(), 0), text(0, 8192));
        log.seal("sealed on a full disk");
        let not = log.close().unwrap_err();
        assert_eq!(not.error.code(), code);
        let mut log = *not.writer;
        now.store(0, Ordering::Relaxed);
        assert_eq!(put(&mut log, &text(8192, 20_000)), 20_000);
        assert_eq!(log.stalled(), None);
        log.close().unwrap();
        let found = recover(&place.dir).unwrap();
        assert_eq!(rest(&found.reader, 0), text(0, 28_192));
        assert_eq!(found.seal.unwrap().at, 8192);
    }
}

/// A small file system of its own; `None` when this machine does not let us have one.
struct SmallDisk(tempfile::TempDir);

impl SmallDisk {
    fn new(options: &std::ffi::CStr) -> Option<Self> {
        let at = tempfile::tempdir().unwrap();
        match mount("tmpfs", at.path(), "tmpfs", MountFlags::empty(), Some(options)) {
            Ok(()) => Some(Self(at)),
            Err(error) => {
                println!("skipped: a tmpfs cannot be mounted here: {error}");
                None
            }
        }
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        unmount(self.0.path(), UnmountFlags::DETACH).unwrap();
    }
}

#[test]
fn law_01_a_really_full_disk_blocks_output_and_space_releases_it() {
    let Some(disk) = SmallDisk::new(c"size=1m,mode=0700") else { return };
    let dir = disk.0.path().join("log");
    let ballast = disk.0.path().join("ballast");
    fs::write(&ballast, vec![0; 700 << 10]).unwrap();
    let mut log = LogWriter::create(&dir, LogConfig::default()).unwrap();
    let taken = put(&mut log, &text(0, 1 << 20));
    assert!((100 << 10..400 << 10).contains(&taken), "{taken}");
    assert_eq!(log.stalled().unwrap().code(), ErrorCode::DiskFull);
    assert!(rest(&log.reader(), 0) == text(0, taken));
    // Every page of the ring was reserved: no access to it died of SIGBUS. A death now loses nothing either.
    drop(log);
    assert_eq!(recover(&dir).unwrap().end, taken as u64);
    let mut log = LogWriter::reopen(&dir, LogConfig::default()).unwrap();
    fs::remove_file(&ballast).unwrap();
    let more = put(&mut log, &text(taken as u64, 300 << 10));
    assert_eq!(more, 300 << 10);
    log.seal("");
    log.close().unwrap();
    let found = recover(&dir).unwrap();
    assert!(rest(&found.reader, 0) == text(0, taken + more));
}

#[test]
fn a_log_that_finds_no_room_for_its_first_page_is_refused_and_leaves_nothing() {
    let Some(disk) = SmallDisk::new(c"size=256k,mode=0700") else { return };
    let dir = disk.0.path().join("log");
    let ballast = disk.0.path().join("ballast");
    fs::write(&ballast, vec![0; 252 << 10]).unwrap();
    let error = LogWriter::create(&dir, LogConfig::default()).unwrap_err();
    assert_eq!(error.code(), ErrorCode::DiskFull, "{error}");
    assert!(!dir.exists());
    fs::write(&ballast, vec![0; 248 << 10]).unwrap();
    LogWriter::create(&dir, LogConfig::default()).unwrap();
}

#[test]
fn law_01_a_log_that_cannot_grow_beyond_its_first_page_waits_and_goes_on() {
    let Some(disk) = SmallDisk::new(c"size=256k,mode=0700") else { return };
    let dir = disk.0.path().join("log");
    let ballast = disk.0.path().join("ballast");
    fs::write(&ballast, vec![0; 220 << 10]).unwrap();
    let mut log = LogWriter::create(&dir, LogConfig::default()).unwrap();
    let page = rustix::param::page_size();
    assert_eq!(put(&mut log, &text(0, 100_000)), page);
    assert_eq!(log.stalled().unwrap().code(), ErrorCode::DiskFull);
    log.seal("");
    assert_eq!(rest(&log.reader(), 0), text(0, page));
    fs::remove_file(&ballast).unwrap();
    assert_eq!(put(&mut log, &text(page as u64, 100_000)), 100_000);
    assert_eq!(log.stalled(), None);
    drop(log);
    assert_eq!(rest(&recover(&dir).unwrap().reader, 0), text(0, page + 100_000));
}
