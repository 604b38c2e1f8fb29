//! A "sandbox": programs of this machine that can all be found again, however they hide.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

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
    is_over: AtomicBool,
}

impl Sandbox {
    pub(super) fn new() -> Self {
        let directory = tempfile::Builder::new().prefix("ptyard-sandbox").tempdir().expect("a directory");
        let file = File::create(directory.path().join("mark")).expect("a file");
        let metadata = file.metadata().expect("a file's metadata");
        Self { directory, mark: (metadata.dev(), metadata.ino()), is_over: AtomicBool::new(false) }
    }

    /// What every program has open.
    pub(super) fn mark(&self) -> PathBuf {
        self.directory.path().join("mark")
    }

    /// A home for its user, without the files of this machine's.
    pub(super) fn home(&self) -> String {
        self.directory.path().display().to_string()
    }

    /// What its programs have in their environment: this machine's, with a home of their own. Login shells read no
    /// start-up files of whoever runs this, and write what was typed into no file of theirs.
    pub(super) fn environment(&self) -> BTreeMap<String, String> {
        let own = ["PATH", "USER", "LOGNAME"].into_iter();
        let mut env: BTreeMap<String, String> =
            own.filter_map(|name| Some((name.to_owned(), std::env::var(name).ok()?))).collect();
        env.insert("HOME".to_owned(), self.home());
        env
    }

    /// Where it keeps what is its own.
    pub(super) fn directory(&self) -> &Path {
        self.directory.path()
    }

    /// How many processes live in it.
    pub(super) fn count(&self) -> usize {
        self.processes().len()
    }

    fn processes(&self) -> Vec<u32> {
        others().filter(|&pid| self.is_open_in(pid)).collect()
    }

    fn is_open_in(&self, pid: u32) -> bool {
        // Whatever number it has by now.
        let Ok(open) = fs::read_dir(format!("/proc/{pid}/fd")) else { return false };
        open.flatten()
            .any(|entry| fs::metadata(entry.path()).is_ok_and(|file| (file.dev(), file.ino()) == self.mark))
    }

    /// Whether a process is one that will open the mark: its path stands among the arguments until then.
    fn is_coming(&self, pid: u32) -> bool {
        let mark = self.mark();
        let arguments = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        arguments.split(|&byte| byte == 0).any(|argument| argument == mark.as_os_str().as_encoded_bytes())
    }

    /// Ends everything in it, until nothing is left, also what was only just started.
    pub(super) fn end(&self) {
        self.is_over.store(true, Ordering::SeqCst);
        loop {
            let mut is_certain = true;
            for pid in others() {
                if self.is_open_in(pid) || self.is_coming(pid) {
                    is_certain = false;
                    if let Some(pid) = Pid::from_raw(pid.cast_signed()) {
                        let _gone = kill_process(pid, Signal::KILL);
                    }
                } else if is_becoming(pid) {
                    is_certain = false;
                }
            }
            if is_certain {
                return;
            }
        }
    }

    /// Whether all of it was ended, so that nothing may be started in it any more.
    pub(super) fn is_over(&self) -> bool {
        self.is_over.load(Ordering::SeqCst)
    }
}

/// All processes but this one.
fn others() -> impl Iterator<Item = u32> {
    let entries = fs::read_dir("/proc").expect("/proc can be read");
    let pids = entries.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok());
    pids.filter(|&pid| pid != std::process::id())
}

/// Whether a child of this process is just becoming another program: for that moment it shows no arguments.
fn is_becoming(pid: u32) -> bool {
    let Ok(stat) = fs::read_to_string(format!("/proc/{pid}/stat")) else { return false };
    let mut words = stat.rsplit(')').next().unwrap_or_default().split_whitespace();
    let (state, parent) = (words.next(), words.next());
    parent == Some(std::process::id().to_string().as_str())
        && !matches!(state, Some("Z" | "X"))
        && fs::read(format!("/proc/{pid}/cmdline")).is_ok_and(|arguments| arguments.is_empty())
}

impl Drop for Sandbox {
    fn drop(&mut self) {
        self.end();
    }
}
