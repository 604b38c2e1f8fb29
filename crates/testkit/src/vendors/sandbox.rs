//! A "sandbox": programs of this machine that can all be found again, however they hide.

use std::fs::{self, File};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use rustix::process::{Pid, Signal, kill_process};

/// Programs that belong together. Each of them, and what comes of it, has a file of the sandbox open, as descriptor 9:
/// that is how they are found when neither their parents nor their sessions nor their environment tell.
///
/// # Invariants
/// 1. When it is dropped, nothing of it lives.
#[derive(Debug)]
pub(super) struct Sandbox {
    directory: tempfile::TempDir,
    mark: (u64, u64),
}

impl Sandbox {
    pub(super) fn new() -> Self {
        let directory = tempfile::Builder::new().prefix("ptyard-sandbox").tempdir().expect("a directory");
        let file = File::create(directory.path().join("mark")).expect("a file");
        let metadata = file.metadata().expect("a file's metadata");
        Self { directory, mark: (metadata.dev(), metadata.ino()) }
    }

    /// What every program has open.
    pub(super) fn mark(&self) -> PathBuf {
        self.directory.path().join("mark")
    }

    /// A home for its user, without the files of this machine's.
    pub(super) fn home(&self) -> String {
        self.directory.path().display().to_string()
    }

    /// Where it keeps what is its own.
    pub(super) fn directory(&self) -> &Path {
        self.directory.path()
    }

    /// How many of its processes live.
    pub(super) fn living(&self) -> usize {
        self.processes().len()
    }

    fn processes(&self) -> Vec<u32> {
        let entries = fs::read_dir("/proc").expect("/proc can be read");
        let pids = entries.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok());
        pids.filter(|&pid| pid != std::process::id() && self.is_open_in(pid)).collect()
    }

    fn is_open_in(&self, pid: u32) -> bool {
        // Whatever number it has by now.
        let Ok(open) = fs::read_dir(format!("/proc/{pid}/fd")) else { return false };
        open.flatten()
            .any(|entry| fs::metadata(entry.path()).is_ok_and(|file| (file.dev(), file.ino()) == self.mark))
    }

    /// How many processes live in it.
    pub(super) fn count(&self) -> usize {
        self.processes().len()
    }

    /// Ends everything in it, until nothing is left.
    pub(super) fn end(&self) {
        loop {
            let living = self.processes();
            if living.is_empty() {
                return;
            }
            for pid in living {
                if let Some(pid) = Pid::from_raw(pid.cast_signed()) {
                    let _gone = kill_process(pid, Signal::KILL);
                }
            }
        }
    }
}

impl Drop for Sandbox {
    fn drop(&mut self) {
        self.end();
    }
}
