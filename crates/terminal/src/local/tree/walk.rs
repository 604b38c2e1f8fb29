//! Finding a program's processes by looking at all of them, where no cgroup can be had.
//!
//! The launcher's process adopts orphans, so every process that came of a program is below it for good. Which
//! program a process came of is told by its parents, and where those have gone by what it inherited: the timer slack
//! that the launcher gave the program, which no exec, `setsid`, `env -i` or double fork takes away.

use std::collections::{HashMap, HashSet};
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::atomic::{AtomicU32, Ordering};

use ptyard_core::Exit;
use tokio::io::Interest;
use tokio::sync::watch;

use super::procfs::{self, Process};
use crate::sys;
use crate::sys::watched::WatchedFd;

/// The kernel's usual timer slack. Marks are a little more, which no program notices.
const USUAL_SLACK_NS: u64 = 50_000;

/// How many marks there are: a mark costs at most this many nanoseconds of slack.
const MARKS: u32 = 1 << 16;

/// How often a kill looks for processes that it has not stopped yet, before it kills those it has.
const STOP_ROUNDS: u32 = 32;

/// A timer slack that none of the programs started lately has.
///
/// It is only compared among descendants of one launcher. The first is taken from the process id, so that a server
/// that runs in a terminal of another server hardly ever gives the same.
pub(in crate::local) fn next_mark_ns() -> u64 {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let first = std::process::id().wrapping_mul(40_503);
    let mark = first.wrapping_add(NEXT.fetch_add(1, Ordering::Relaxed)) % MARKS;
    USUAL_SLACK_NS + 1 + u64::from(mark)
}

/// What tells the processes of one program from all others.
#[derive(Debug)]
pub(in crate::local) struct Walk {
    /// The process that started the program and adopts orphans.
    pub(in crate::local) root: u32,
    /// The program's process id, also its session's.
    pub(in crate::local) program: u32,
    /// The program's timer slack.
    pub(in crate::local) mark_ns: u64,
    /// The variable of its environment that names its terminal.
    pub(in crate::local) variable: String,
    /// Its terminal's device number.
    pub(in crate::local) tty: Option<u64>,
    /// Its end. From then on `program` may be another process's number.
    pub(in crate::local) exit: watch::Receiver<Option<Exit>>,
}

impl Walk {
    pub(super) fn members(&self) -> Vec<u32> {
        self.processes().into_iter().map(|process| process.pid).collect()
    }

    pub(super) fn program_was_reaped(&self) -> bool {
        self.exit.borrow().is_some()
    }

    /// The living processes of the program.
    fn processes(&self) -> Vec<Process> {
        let all = procfs::processes();
        let mut children: HashMap<u32, Vec<&Process>> = HashMap::new();
        for process in &all {
            children.entry(process.parent).or_default().push(process);
        }
        // Taken before anything is compared with `program`, but for a process that is reaped meanwhile: then its
        // number is nobody's in `all`.
        let program_lives = !self.program_was_reaped();
        let mut members = Vec::new();
        // Down from the launcher: a process belongs to the program if its parent does or if it shows a mark.
        let mut below = vec![(self.root, false)];
        let mut seen = HashSet::from([self.root]);
        while let Some((parent, inherited)) = below.pop() {
            for process in children.get(&parent).into_iter().flatten() {
                if !seen.insert(process.pid) {
                    continue;
                }
                let ours = inherited || self.is_marked(process, program_lives);
                below.push((process.pid, ours));
                if ours && !process.is_dead() {
                    members.push(**process);
                }
            }
        }
        members
    }

    fn is_marked(&self, process: &Process, program_lives: bool) -> bool {
        (program_lives && (process.pid == self.program || process.session == self.program))
            || self.tty.is_some_and(|tty| process.tty == tty)
            || procfs::timer_slack_ns(process.pid) == Some(self.mark_ns)
            || procfs::has_variable(process.pid, &self.variable)
    }

    pub(super) fn signal(&self, signals: &[i32]) {
        for process in self.processes() {
            if let Ok(pidfd) = pin(&process) {
                send(&pidfd, signals);
            }
        }
    }

    /// Stops every process, looking again until no new one is found, and only then kills: a stopped process forks
    /// no more, so none is missed.
    pub(super) fn kill(&self) {
        let mut stopped: HashMap<(u32, u64), Option<OwnedFd>> = HashMap::new();
        for _ in 0..STOP_ROUNDS {
            let before = stopped.len();
            for process in self.processes() {
                stopped.entry((process.pid, process.started_ticks)).or_insert_with(|| {
                    let pidfd = pin(&process).ok()?;
                    send(&pidfd, &[libc::SIGSTOP]);
                    Some(pidfd)
                });
            }
            if stopped.len() == before {
                break;
            }
        }
        for pidfd in stopped.values().flatten() {
            send(pidfd, &[libc::SIGKILL]);
        }
    }

    pub(super) async fn emptied(&self) -> io::Result<()> {
        loop {
            let processes = self.processes();
            if processes.is_empty() {
                return Ok(());
            }
            let mut refused = None;
            for process in processes {
                match pin(&process) {
                    Ok(pidfd) => {
                        // Readable from the process's end on.
                        let _ = WatchedFd::new(pidfd, Interest::READABLE)?.readable().await?;
                        refused = None;
                    }
                    // It has ended since; the next look will not find it.
                    Err(error) if error.raw_os_error() == Some(libc::ESRCH) => refused = None,
                    Err(error) => refused = Some(error),
                }
            }
            if let Some(error) = refused {
                return Err(error);
            }
        }
    }
}

/// A descriptor that is certain to be of this process: ESRCH when it has gone.
fn pin(process: &Process) -> io::Result<OwnedFd> {
    let pidfd = sys::spawn::open_pidfd(process.pid)?;
    // Looked at after opening: if the number still means the same process now, it did when it was opened.
    match Process::look(process.pid) {
        Some(now) if now.started_ticks == process.started_ticks => Ok(pidfd),
        _ => Err(io::Error::from_raw_os_error(libc::ESRCH)),
    }
}

fn send(pidfd: &OwnedFd, signals: &[i32]) {
    for &signal in signals {
        // Fails for a process that just ended, or that we may not signal: both show afterwards.
        let _ = sys::signal::send(pidfd.as_fd(), signal);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_differ_and_stay_small() {
        let marks: HashSet<u64> = (0..1000).map(|_| next_mark_ns()).collect();
        assert_eq!(marks.len(), 1000);
        assert!(marks.iter().all(|&ns| ns > USUAL_SLACK_NS && ns <= USUAL_SLACK_NS + u64::from(MARKS)));
    }
}
