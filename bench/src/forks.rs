//! How many processes a program starts, by the kernel: strace sees each call that makes one.

use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use tempfile::TempDir;
use tokio::process::{Child, Command};

use crate::Outcome;

/// How long strace gets to be attached.
const ATTACH: Duration = Duration::from_millis(500);

/// How long strace gets to let go of what it follows; killed, it lets go at once, and what it wrote stays.
const DETACH: Duration = Duration::from_secs(10);

/// A count that runs.
pub(crate) struct Forks {
    strace: Child,
    directory: TempDir,
}

/// Whether there is an strace.
pub(crate) fn can_be_counted() -> bool {
    let version = std::process::Command::new("strace").arg("-V").stdout(Stdio::null()).status();
    version.is_ok_and(|status| status.success())
}

impl Forks {
    /// Counts what these processes, and those they start, start from now on.
    pub(crate) async fn of(pids: &[u32]) -> Outcome<Self> {
        let directory = tempfile::tempdir()?;
        let mut strace = Command::new("strace");
        strace.args(["-f", "-qq", "-e", "trace=fork,vfork,clone,clone3", "-e", "signal=none", "-o"]);
        strace.arg(directory.path().join("calls"));
        for pid in pids {
            strace.arg("-p").arg(pid.to_string());
        }
        let strace = strace.stdin(Stdio::null()).stderr(Stdio::null()).spawn()?;
        tokio::time::sleep(ATTACH).await;
        Ok(Self { strace, directory })
    }

    /// How many there were.
    pub(crate) async fn count(mut self) -> Outcome<u32> {
        let pid = self.strace.id().and_then(|pid| Pid::from_raw(pid.cast_signed()));
        kill_process(pid.ok_or("strace has ended")?, Signal::INT)?;
        if tokio::time::timeout(DETACH, self.strace.wait()).await.is_err() {
            self.strace.kill().await?;
        }
        made(&self.directory.path().join("calls"))
    }
}

fn made(calls: &Path) -> Outcome<u32> {
    let calls = std::fs::read_to_string(calls)?;
    let is_process =
        |line: &&str| line.contains("(") && !line.contains("CLONE_THREAD") && !line.contains("resumed>");
    Ok(u32::try_from(calls.lines().filter(is_process).count())?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_are_no_processes() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let calls = "7 clone3({flags=CLONE_VM|CLONE_THREAD, exit_signal=0}, 88 <unfinished ...>\n\
                     7 <... clone3 resumed> => {parent_tid=[9]}, 88) = 9\n\
                     8 vfork( <unfinished ...>\n8 <... vfork resumed>) = 12\n9 clone(child_stack=NULL) = 13\n";
        std::fs::write(file.path(), calls).unwrap();
        assert_eq!(made(file.path()).unwrap(), 2);
    }
}
