//! Finding a program's processes by looking at all of them, where no cgroup can be had.
//!
//! The launcher's process adopts orphans, so every process that came of a program is below it for good. Which
//! program a process came of is told by its parents, and where those have gone by what it inherited: the timer slack
//! that the launcher gave the program, which no exec, `setsid`, `env -i` or double fork takes away.

use std::collections::{HashMap, HashSet};
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use ptyard_core::Exit;
use tokio::sync::watch;

use super::procfs::{self, Process};
use crate::local::launcher::Launcher;
use crate::sys;

/// The kernel's usual timer slack. Marks are a little more, which no program notices.
const USUAL_SLACK_NS: u64 = 50_000;

/// How many marks there are: a mark costs at most this many nanoseconds of slack.
const MARKS: u32 = 1 << 16;

/// How often we look again before we say that no process is left.
const EMPTY_LOOKS: u32 = 16;

/// How often one kill looks for processes that it does not know yet.
const KILL_LOOKS: u32 = 256;

static NEXT: AtomicU32 = AtomicU32::new(0);

/// A timer slack that none of the programs started lately has.
///
/// It is only compared among descendants of one launcher. The first is taken from the process id, so that a server
/// that runs in a terminal of another server hardly ever gives the same.
pub(in crate::local) fn next_mark_ns() -> u64 {
    let mark = first_mark().wrapping_add(NEXT.fetch_add(1, Ordering::Relaxed)) % MARKS;
    USUAL_SLACK_NS + 1 + u64::from(mark)
}

/// Takes note of a mark that a program of an earlier server has: it is not given again soon.
pub(in crate::local) fn skip_mark_ns(mark_ns: u64) {
    let mark = u32::try_from(mark_ns.saturating_sub(USUAL_SLACK_NS + 1)).unwrap_or(0) % MARKS;
    let first = first_mark() % MARKS;
    NEXT.fetch_max((mark + MARKS - first) % MARKS + 1, Ordering::Relaxed);
}

fn first_mark() -> u32 {
    std::process::id().wrapping_mul(40_503)
}

/// The process below which all processes of a launcher's programs are.
#[derive(Debug, Clone)]
pub(in crate::local) struct Root(Arc<AtomicU32>);

impl Root {
    /// The launcher has died.
    const LOST: u32 = 0;
    /// Whoever inherits orphans in the last resort.
    const HEIR: u32 = 1;

    /// A launcher that adopts orphans.
    pub(in crate::local) fn of(launcher: u32) -> Self {
        Self(Arc::new(AtomicU32::new(launcher)))
    }

    /// A launcher that died before.
    pub(in crate::local) fn of_the_dead() -> Self {
        Self::of(Self::LOST)
    }

    /// The launcher has died, and its programs fell to somebody else.
    pub(in crate::local) fn lost(&self) {
        self.0.store(Self::LOST, Ordering::Release);
    }

    /// The processes one of which it is. Orphans fall to this one if it started the launcher, else to the last resort.
    fn pids(&self) -> [u32; 2] {
        match self.0.load(Ordering::Acquire) {
            Self::LOST => [Self::HEIR, std::process::id()],
            launcher => [launcher; 2],
        }
    }

    /// Whether every process below it is of this launcher, so that a mark is enough to know a program by.
    fn is_exclusive(&self) -> bool {
        self.0.load(Ordering::Acquire) != Self::LOST
    }
}

/// What tells the processes of one program from all others.
#[derive(Debug)]
pub(in crate::local) struct Walk {
    /// The process that started the program and adopts orphans.
    pub(in crate::local) root: Root,
    /// Kept, because it adopts only while it lives.
    pub(in crate::local) _launcher: Arc<dyn Launcher>,
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
    ///
    /// That there are none is said only after a look at which no process can have slipped from one that was just
    /// ending to one that had just begun; under a storm of ending processes, after [`EMPTY_LOOKS`] of them.
    fn processes(&self) -> Vec<Process> {
        let mut dead_before = Vec::new();
        for _ in 0..EMPTY_LOOKS {
            let census = procfs::census();
            let (living, dead) = self.members_of(&census.processes);
            let certain = !census.some_vanished && dead == dead_before;
            if !living.is_empty() || certain {
                return living;
            }
            dead_before = dead;
        }
        Vec::new()
    }

    /// Those of `all` that belong to the program: the living, and the pids of the dead.
    fn members_of(&self, all: &[Process]) -> (Vec<Process>, Vec<u32>) {
        let mut children: HashMap<u32, Vec<&Process>> = HashMap::new();
        for process in all {
            children.entry(process.parent).or_default().push(process);
        }
        // Asked after `all` was made: if the program was not reaped by now, its number in `all` means it.
        let program_lives = !self.program_was_reaped();
        let (mut living, mut dead) = (Vec::new(), Vec::new());
        // Down from the launcher: a process belongs to the program if its parent does or if it shows a mark.
        let roots = self.root.pids();
        let mut below = roots.map(|root| (root, false)).to_vec();
        let mut seen = HashSet::from(roots);
        while let Some((parent, inherited)) = below.pop() {
            for &&process in children.get(&parent).into_iter().flatten() {
                if !seen.insert(process.pid) {
                    continue;
                }
                let ours = inherited || self.is_marked(&process, program_lives);
                below.push((process.pid, ours));
                match (ours, process.is_dead()) {
                    (true, false) => living.push(process),
                    (true, true) => dead.push(process.pid),
                    (false, _) => {}
                }
            }
        }
        dead.sort_unstable();
        (living, dead)
    }

    fn is_marked(&self, process: &Process, program_lives: bool) -> bool {
        (program_lives && (process.pid == self.program || process.session == self.program))
            || self.tty.is_some_and(|tty| process.tty == tty)
            || (self.root.is_exclusive() && procfs::timer_slack_ns(process.pid) == Some(self.mark_ns))
            || procfs::has_variable(process.pid, &self.variable)
    }

    pub(super) fn ask(&self, signals: &[i32], asked: &mut HashSet<u32>) {
        for process in self.processes() {
            if !asked.contains(&process.pid)
                && let Ok(pidfd) = pin(&process)
            {
                asked.insert(process.pid);
                send(&pidfd, signals);
            }
        }
    }

    /// Stops every process as soon as it is seen, and looks again until a whole look shows no new one; then kills
    /// those, and looks again.
    ///
    /// Stopping first keeps parents in place, by whom their children are known. But a fork that is under way ends
    /// before its process stops; only KILL undoes it, or finds it done and its child in sight. Each process is judged
    /// once, so that looking again costs next to nothing and even one that forks and ends all the time is caught.
    pub(super) fn kill(&self) {
        let mut known: HashSet<u32> = HashSet::new();
        let mut stopped: Vec<OwnedFd> = Vec::new();
        let mut judged = HashSet::from(self.root.pids());
        for _ in 0..KILL_LOOKS {
            let mut certain = true;
            for pid in procfs::pids() {
                if !judged.insert(pid) {
                    continue;
                }
                let Some(process) = Process::look(pid) else {
                    certain = false;
                    continue;
                };
                let ours = known.contains(&process.parent)
                    || (self.is_marked(&process, !self.program_was_reaped()) && self.is_below_root(process));
                if ours {
                    certain = false;
                    known.insert(pid);
                    if let Ok(pidfd) = pin(&process) {
                        send(&pidfd, &[libc::SIGSTOP]);
                        stopped.push(pidfd);
                    }
                }
            }
            if certain && stopped.is_empty() {
                return;
            }
            if certain {
                stopped.drain(..).for_each(|pidfd| send(&pidfd, &[libc::SIGKILL]));
            }
        }
        stopped.iter().for_each(|pidfd| send(pidfd, &[libc::SIGKILL]));
    }

    /// Whether a process came of the launcher's.
    fn is_below_root(&self, process: Process) -> bool {
        /// Deeper than any real chain of parents.
        const DEPTH: usize = 1000;
        std::iter::successors(Some(process), |process| Process::look(process.parent))
            .take(DEPTH)
            .any(|process| self.root.pids().contains(&process.parent))
    }

    /// A descriptor for each living process, to wait for its end.
    pub(super) fn living(&self) -> io::Result<Vec<OwnedFd>> {
        let mut living = Vec::new();
        for process in self.processes() {
            match pin(&process) {
                Ok(pidfd) => living.push(pidfd),
                Err(error) if error.raw_os_error() == Some(libc::ESRCH) => {}
                // Out of descriptors: those we have will do for a start.
                Err(_) if !living.is_empty() => break,
                Err(error) => return Err(error),
            }
        }
        Ok(living)
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
