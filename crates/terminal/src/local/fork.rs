//! The launcher whose programs are children of this process.

use std::collections::HashSet;
use std::fs::File;
use std::io::{self, Read};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use ptyard_core::Exit;
use rustix::event::{PollFd, PollFlags};
use rustix::pipe::PipeFlags;
use rustix::process::{WaitId, WaitIdOptions, WaitIdStatus};
use rustix::time::Timespec;
use tokio::io::Interest;

use crate::backend::{BoxFuture, Io, StartError, StartSpec, Stdin};
use crate::sys::exit_info;
use crate::sys::spawn::{self, Controlling, Failure, Forked, Plan};
use crate::sys::watched::WatchedFd;

use super::launcher::{Ends, Launched, Launcher, Order, Reaper};
use super::lookup::ExecStrings;
use super::{errors, strays, tty};

/// How long a child may take to become its program. Entering a directory on a dead file server can take for ever.
pub(super) const EXEC_LIMIT: Duration = Duration::from_secs(10);

/// How long whoever inherited a process may take to reap it until its end counts as unknown.
pub(super) const REAP_LIMIT: Duration = Duration::from_millis(200);

/// Starts programs as children of this process.
#[derive(Debug, Default)]
pub struct ForkLauncher {
    strays: OnceLock<strays::Adoption>,
}

impl ForkLauncher {
    /// A launcher. It costs nothing until it launches.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }
}

impl Launcher for ForkLauncher {
    fn launch(&self, order: Order) -> BoxFuture<'static, Result<Launched, StartError>> {
        Box::pin(async move {
            // Forking copies page tables and waits for the exec: about a millisecond that no other task should wait.
            let (child, ends) = tokio::task::spawn_blocking(move || fork(&order))
                .await
                .map_err(|error| errors::spawn_failed("cannot fork", &io::Error::other(error)))??;
            let cannot_watch = |error| errors::spawn_failed("cannot watch the new process", &error);
            let pid = child.pid();
            let pidfd = child.pidfd().try_clone_to_owned().map_err(cannot_watch)?;
            let reaper = ChildReaper::new(child).map_err(cannot_watch)?;
            Ok(Launched { ends, pid, pidfd, reaper: Box::new(reaper), copies: None })
        })
    }

    fn adopt_orphans(&self) -> io::Result<u32> {
        if self.strays.get().is_none() {
            let _ = self.strays.set(strays::adopt()?);
        }
        Ok(std::process::id())
    }
}

/// The children whose end somebody waits for. A child is in here from before it can end.
pub(super) fn awaited() -> MutexGuard<'static, HashSet<u32>> {
    static AWAITED: OnceLock<Mutex<HashSet<u32>>> = OnceLock::new();
    // Insert and remove leave the set whole wherever they are interrupted.
    AWAITED.get_or_init(Mutex::default).lock().unwrap_or_else(PoisonError::into_inner)
}

/// A child that nobody has reaped. Dropped before that, it is killed and reaped.
#[derive(Debug)]
pub(super) struct Child {
    forked: Forked,
    reaped: bool,
}

impl Child {
    fn fork(plan: &Plan<'_>) -> io::Result<Self> {
        let mut awaited = awaited();
        let forked = spawn::fork_exec(plan)?;
        awaited.insert(forked.pid);
        Ok(Self { forked, reaped: false })
    }

    /// A child of this process that it forked before it became this program.
    pub(super) fn found(pid: u32, pidfd: OwnedFd) -> Self {
        awaited().insert(pid);
        Self { forked: Forked { pid, pidfd }, reaped: false }
    }

    pub(super) const fn pid(&self) -> u32 {
        self.forked.pid
    }

    pub(super) fn pidfd(&self) -> BorrowedFd<'_> {
        self.forked.pidfd.as_fd()
    }

    /// Looks how it ended without reaping it; `None` while it runs.
    pub(super) fn peek(&self) -> Option<Exit> {
        let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
        match rustix::process::waitid(WaitId::PidFd(self.pidfd()), options) {
            Ok(status) => status.as_ref().map(exit_of),
            // Only if something else in this process waited for it.
            Err(_) => Some(Exit::lost()),
        }
    }

    /// Waits for the end, if it has not come yet, and reaps. Later calls find nobody.
    pub(super) fn reap(&mut self) -> Exit {
        if self.reaped {
            return Exit::lost();
        }
        self.reaped = true;
        let status = loop {
            match rustix::process::waitid(WaitId::PidFd(self.pidfd()), WaitIdOptions::EXITED) {
                Err(rustix::io::Errno::INTR) => {}
                other => break other,
            }
        };
        awaited().remove(&self.pid());
        match status {
            Ok(Some(status)) => exit_of(&status),
            // Only if something else in this process waited for it.
            Ok(None) | Err(_) => Exit::lost(),
        }
    }
}

/// The end that a status of a process that has exited tells.
pub(super) fn exit_of(status: &WaitIdStatus) -> Exit {
    match (status.exit_status(), status.terminating_signal()) {
        (Some(code), _) => Exit::exited(code),
        (None, Some(signal)) => Exit::signaled(signal),
        (None, None) => Exit::lost(),
    }
}

/// The end that a wait status tells, as wait(2) gives it.
pub(super) fn exit_of_status(status: i32) -> Exit {
    if libc::WIFEXITED(status) {
        Exit::exited(libc::WEXITSTATUS(status))
    } else if libc::WIFSIGNALED(status) {
        Exit::signaled(libc::WTERMSIG(status))
    } else {
        Exit::lost()
    }
}

/// The end of a process that is, or was, another one's child and has ended: as far as the kernel tells (since Linux 6.15,
/// once it was reaped: the pidfd hangs up then), else [`Exit::lost`].
pub(super) fn exit_of_orphan(pidfd: BorrowedFd<'_>) -> Exit {
    exit_info::wait_status(pidfd).map_or_else(Exit::lost, exit_of_status)
}

impl Drop for Child {
    fn drop(&mut self) {
        if !self.reaped {
            let _ = crate::sys::signal::send(self.pidfd(), libc::SIGKILL);
            self.reap();
        }
    }
}

/// Tells the end of a child of this process.
struct ChildReaper {
    child: Child,
    ended: WatchedFd,
}

impl ChildReaper {
    fn new(child: Child) -> io::Result<Self> {
        let ended = WatchedFd::new(child.pidfd().try_clone_to_owned()?, Interest::READABLE)?;
        Ok(Self { child, ended })
    }
}

impl Reaper for ChildReaper {
    fn ended(&mut self) -> BoxFuture<'_, ()> {
        Box::pin(async {
            // A pidfd is readable once its process has ended, and stays so. An error means that the runtime is
            // going away; then `reap` waits.
            let _ = self.ended.readable().await;
        })
    }

    fn reap(&mut self) -> Exit {
        self.child.reap()
    }
}

/// Forks a child and waits until it has become its program. Blocks.
fn fork(order: &Order) -> Result<(Child, Ends), StartError> {
    Starting::begin(order)?.finish(&order.spec)
}

/// A child that has not said yet whether it became its program. Dropped, it is killed and reaped.
pub(super) struct Starting {
    child: Child,
    streams: Streams,
    report: OwnedFd,
}

impl Starting {
    /// Forks.
    pub(super) fn begin(order: &Order) -> Result<Self, StartError> {
        let strings = ExecStrings::new(&order.spec)?;
        let streams = Streams::open(order.spec.io)
            .map_err(|error| errors::spawn_failed("cannot open the program's streams", &error))?;
        let (report, report_writer) = rustix::pipe::pipe_with(PipeFlags::CLOEXEC)
            .map_err(io::Error::from)
            .and_then(|(reader, writer)| Ok((reader, above_stdio(writer)?)))
            .map_err(|error| errors::spawn_failed("cannot open a pipe", &error))?;
        let cgroup = order.cgroup.as_ref().map(File::open).transpose();
        let cgroup = cgroup.map_err(|error| errors::spawn_failed("cannot open the cgroup", &error))?;
        let child = Child::fork(&Plan {
            candidates: &strings.candidates,
            argv: &strings.argv,
            env: &strings.env,
            cwd: &strings.cwd,
            stdio: streams.stdio(),
            controlling: match order.spec.io {
                Io::Tty(_) => Controlling::Stdin,
                Io::Pipes(_) => Controlling::None,
            },
            cgroup: cgroup.as_ref().map(AsFd::as_fd),
            timer_slack_ns: order.timer_slack_ns,
            open_files: super::open_files::for_programs(),
            report: report_writer.as_fd(),
        })
        .map_err(|error| errors::spawn_failed("cannot fork", &error))?;
        Ok(Self { child, streams, report })
    }

    /// Readable once the child has become its program, or cannot.
    pub(super) fn report(&self) -> BorrowedFd<'_> {
        self.report.as_fd()
    }

    /// Waits for that. Blocks, but not longer than [`EXEC_LIMIT`].
    pub(super) fn finish(self, spec: &StartSpec) -> Result<(Child, Ends), StartError> {
        let Self { mut child, streams, report } = self;
        match read_report(report) {
            Ok(None) => Ok((child, streams.into_ends())),
            Ok(Some(failure)) => {
                child.reap();
                Err(errors::child_failed(failure, spec))
            }
            Err(error) => Err(not_executed(&error)),
        }
    }

    /// Gives up: the child is killed and left to whoever reaps it.
    pub(super) fn give_up(self) -> (Child, StartError) {
        let _ = crate::sys::signal::send(self.child.pidfd(), libc::SIGKILL);
        (self.child, not_executed(&io::ErrorKind::TimedOut.into()))
    }
}

fn not_executed(error: &io::Error) -> StartError {
    errors::spawn_failed("the new process did not execute its program", error)
}

/// Waits for the exec, which closes the pipe, or for the child's word on why there will be none.
fn read_report(report: OwnedFd) -> io::Result<Option<Failure>> {
    let limit = Timespec { tv_sec: EXEC_LIMIT.as_secs().cast_signed(), tv_nsec: 0 };
    let mut polled = [PollFd::new(&report, PollFlags::IN)];
    let ready = loop {
        match rustix::event::poll(&mut polled, Some(&limit)) {
            Err(rustix::io::Errno::INTR) => {}
            other => break other?,
        }
    };
    if ready == 0 {
        return Err(io::ErrorKind::TimedOut.into());
    }
    let mut bytes = [0; Failure::BYTES];
    match File::from(report).read(&mut bytes)? {
        0 => Ok(None),
        Failure::BYTES => Ok(Some(Failure::from_bytes(bytes))),
        _ => Err(io::ErrorKind::UnexpectedEof.into()),
    }
}

/// The program's ends of its streams, and ours.
struct Streams {
    stdin: OwnedFd,
    /// Output and errors; `None` when both go where the input comes from, to the tty.
    stdout: Option<OwnedFd>,
    ours: Ends,
}

impl Streams {
    fn open(io: Io) -> io::Result<Self> {
        match io {
            Io::Tty(size) => {
                let tty::Pair { master, slave } = tty::open(size)?;
                Ok(Self { stdin: above_stdio(slave)?, stdout: None, ours: Ends::Tty(master) })
            }
            Io::Pipes(stdin) => {
                let (output, stdout) = rustix::pipe::pipe_with(PipeFlags::CLOEXEC)?;
                tty::set_nonblocking(&output)?;
                let (stdin, input) = match stdin {
                    Stdin::Null => (File::open("/dev/null")?.into(), None),
                    Stdin::Pipe => {
                        let (stdin, input) = rustix::pipe::pipe_with(PipeFlags::CLOEXEC)?;
                        tty::set_nonblocking(&input)?;
                        (stdin, Some(input))
                    }
                };
                Ok(Self {
                    stdin: above_stdio(stdin)?,
                    stdout: Some(above_stdio(stdout)?),
                    ours: Ends::Pipes { output, input },
                })
            }
        }
    }

    fn stdio(&self) -> [BorrowedFd<'_>; 3] {
        let stdout = self.stdout.as_ref().unwrap_or(&self.stdin).as_fd();
        [self.stdin.as_fd(), stdout, stdout]
    }

    fn into_ends(self) -> Ends {
        self.ours
    }
}

/// Moves a descriptor out of the way of the standard streams, which the child is about to overwrite.
fn above_stdio(fd: OwnedFd) -> io::Result<OwnedFd> {
    use std::os::fd::AsRawFd;
    if fd.as_raw_fd() > 2 { Ok(fd) } else { Ok(rustix::io::fcntl_dupfd_cloexec(&fd, 3)?) }
}

/// Whether this process may start children in the cgroup behind `dir`: tries it, with a child that exits at once.
pub(super) fn can_start_in(dir: BorrowedFd<'_>) -> io::Result<()> {
    let null: OwnedFd = above_stdio(File::options().read(true).write(true).open("/dev/null")?.into())?;
    let root = c"/".to_owned();
    let null = null.as_fd();
    let mut child = Child::fork(&Plan {
        candidates: &[],
        argv: &[],
        env: &[],
        cwd: &root,
        stdio: [null; 3],
        controlling: Controlling::None,
        cgroup: Some(dir),
        timer_slack_ns: None,
        open_files: None,
        report: null,
    })?;
    child.reap();
    Ok(())
}
