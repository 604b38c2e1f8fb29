//! One program of a keeper.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};

use ptyard_core::{Exit, TerminalId};
use rustix::event::epoll::EventFlags;
use rustix::io::Errno;

use super::protocol::{KeptProgram, Parent};
use super::ward::Ward;
use crate::local::fork::Child;
use crate::local::launcher::Ends;
use crate::local::tree::procfs::Process;
use crate::log::{FillError, LogConfig, LogError, LogWriter};

/// Bytes read of one program before others get their turn.
const TURN_BYTES: usize = 256 << 10;

/// A program that runs, or whose end somebody still has to hear of.
///
/// # Invariants
/// 1. It is reaped only after its end is known, and at most once.
/// 2. `writer` is there only while no server is attached.
#[derive(Debug)]
pub(super) struct Kept {
    pub(super) id: TerminalId,
    ward: Ward,
    ends: Option<Ends>,
    started_ticks: Option<u64>,
    cgroup: Option<PathBuf>,
    timer_slack_ns: Option<u64>,
    exit: Option<Exit>,
    reaped: bool,
    /// No server wants to hear of it any more.
    forgotten: bool,
    writer: Option<LogWriter>,
    output: Output,
    unseen_from: Option<u64>,
}

/// What the keeper does with a program's output.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Output {
    /// It may have more.
    Open,
    /// It has ended, for this keeper; whoever reads next finds out by itself.
    Ended,
}

/// How reading a program's output went.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Drained {
    /// There is no more now, or others shall have their turn: read again when it is readable.
    ForNow,
    /// There will be no more.
    Ended,
    /// The log cannot be written: try again later.
    HeldBack,
}

impl Kept {
    /// A program that runs.
    pub(super) fn new(
        id: TerminalId,
        child: Child,
        ends: Ends,
        cgroup: Option<PathBuf>,
        timer_slack_ns: Option<u64>,
    ) -> Self {
        let started_ticks = Process::look(child.pid()).map(|process| process.started_ticks);
        Self {
            id,
            ward: Ward::Child(child),
            ends: Some(ends),
            started_ticks,
            cgroup,
            timer_slack_ns,
            exit: None,
            reaped: false,
            forgotten: false,
            writer: None,
            output: Output::Open,
            unseen_from: None,
        }
    }

    /// A program that another keeper started, or this one before it became another program. `descriptors` are as
    /// [`Kept::descriptors`] gave them; none but the pidfd when it is forgotten. `None` without even that.
    pub(super) fn found(program: KeptProgram, descriptors: Vec<OwnedFd>) -> Option<Self> {
        let mut descriptors = descriptors.into_iter();
        let ward = Ward::found(program.parent, program.pid, descriptors.next()?);
        let (output, input) = (descriptors.next(), descriptors.next());
        let ends =
            output.map(|output| if program.tty { Ends::Tty(output) } else { Ends::Pipes { output, input } });
        Some(Self {
            id: program.id,
            ward,
            started_ticks: program.started_ticks,
            cgroup: program.cgroup,
            timer_slack_ns: program.timer_slack_ns,
            exit: program.exit,
            reaped: program.reaped,
            forgotten: ends.is_none(),
            writer: None,
            output: if ends.is_some() { Output::Open } else { Output::Ended },
            ends,
            unseen_from: program.unseen_from,
        })
    }

    /// A child that was given up and only has to be reaped.
    pub(super) fn given_up(id: TerminalId, child: Child) -> Self {
        Self {
            id,
            ward: Ward::Child(child),
            ends: None,
            started_ticks: None,
            cgroup: None,
            timer_slack_ns: None,
            exit: None,
            reaped: false,
            forgotten: true,
            writer: None,
            output: Output::Ended,
            unseen_from: None,
        }
    }

    pub(super) fn pid(&self) -> u32 {
        self.ward.pid()
    }

    pub(super) fn pidfd(&self) -> BorrowedFd<'_> {
        self.ward.pidfd()
    }

    /// What of the pidfd tells that its end can be looked at.
    pub(super) fn tells(&self) -> EventFlags {
        self.ward.tells()
    }

    pub(super) fn is_forgotten(&self) -> bool {
        self.forgotten
    }

    /// How it ended, once it is known to have.
    pub(super) fn exit(&self) -> Option<&Exit> {
        self.exit.as_ref()
    }

    /// Looks whether it has ended; says whether that is news.
    pub(super) fn look(&mut self) -> bool {
        let before = self.exit.is_some();
        if !before {
            self.exit = self.ward.peek();
            // Whoever inherited it may have reaped it by now.
            self.reaped = self.exit.is_some() && self.ward.parent() == Parent::Heir;
        }
        !before && self.exit.is_some()
    }

    /// Reaps it, if its end is known.
    pub(super) fn reap(&mut self) {
        if self.exit.is_some() && !self.reaped {
            self.reaped = true;
            self.ward.reap();
        }
    }

    /// Kills the program, though not what it started, and forgets it.
    pub(super) fn kill(&mut self) {
        // Fails when it has ended.
        let _ = crate::sys::signal::send(self.pidfd(), libc::SIGKILL);
        self.forget();
    }

    pub(super) fn close_input(&mut self) {
        if let Some(Ends::Pipes { input, .. }) = &mut self.ends {
            *input = None;
        }
    }

    /// Gives up the copies of its streams; its end will be told to nobody. The output must not be watched.
    pub(super) fn forget(&mut self) {
        self.forgotten = true;
        self.ends = None;
        self.writer = None;
        self.output = Output::Ended;
    }

    /// Whether nothing is left to do for it.
    pub(super) fn is_done(&self) -> bool {
        self.forgotten && (self.reaped || self.ward.parent() == Parent::Heir)
    }

    /// What another server is told of it.
    pub(super) fn describe(&self) -> KeptProgram {
        KeptProgram {
            id: self.id,
            pid: self.pid(),
            started_ticks: self.started_ticks,
            parent: self.ward.parent(),
            tty: matches!(self.ends, Some(Ends::Tty(_))),
            cgroup: self.cgroup.clone(),
            timer_slack_ns: self.timer_slack_ns,
            exit: self.exit.clone(),
            reaped: self.reaped,
            unseen_from: self.unseen_from,
        }
    }

    /// What is handed over with that.
    pub(super) fn descriptors(&self) -> Vec<BorrowedFd<'_>> {
        let mut all = vec![self.pidfd()];
        match &self.ends {
            Some(Ends::Tty(master)) => all.push(master.as_fd()),
            Some(Ends::Pipes { output, input }) => {
                all.push(output.as_fd());
                all.extend(input.as_ref().map(AsFd::as_fd));
            }
            None => {}
        }
        all
    }

    /// Where its output comes from.
    pub(super) fn source(&self) -> Option<BorrowedFd<'_>> {
        self.ends.as_ref().map(|(Ends::Tty(fd) | Ends::Pipes { output: fd, .. })| fd.as_fd())
    }

    /// The same, while it may have more.
    pub(super) fn output(&self) -> Option<BorrowedFd<'_>> {
        self.source().filter(|_| self.output == Output::Open)
    }

    /// A server reads from here on.
    pub(super) fn hand_over(&mut self) {
        self.writer = None;
        self.output = if self.ends.is_some() { Output::Open } else { Output::Ended };
    }

    /// Opens its log anew when there is more to read.
    pub(super) fn close_log(&mut self) {
        self.writer = None;
    }

    /// A server has looked at everything up to now: what comes next is unseen.
    pub(super) fn server_left(&mut self) {
        self.unseen_from = None;
    }

    /// Reads what is there into its log.
    pub(super) fn drain(&mut self, terminals: &Path, limits: LogConfig) -> Drained {
        let Some(Ends::Tty(source) | Ends::Pipes { output: source, .. }) = &self.ends else {
            return Drained::Ended;
        };
        let source = source.as_fd();
        let writer = match &mut self.writer {
            Some(writer) => writer,
            None => match LogWriter::reopen(&terminals.join(self.id.to_string()), limits) {
                Ok(writer) => {
                    self.unseen_from.get_or_insert(writer.end());
                    self.writer.insert(writer)
                }
                // Its terminal was removed: nobody can read this, and the program must not wait for somebody.
                Err(LogError::Removed { .. }) => return self.discard(),
                Err(_) => return Drained::HeldBack,
            },
        };
        let mut left = TURN_BYTES;
        while left > 0 {
            match writer.fill(|area| read(source, area).map_err(Into::into)) {
                Ok(0) => {
                    self.output = Output::Ended;
                    return Drained::Ended;
                }
                Ok(count) => left = left.saturating_sub(count),
                Err(FillError::Read(error)) if error.kind() == io::ErrorKind::WouldBlock => break,
                Err(FillError::Read(_)) => {
                    self.output = Output::Ended;
                    return Drained::Ended;
                }
                Err(FillError::Blocked(_)) => return Drained::HeldBack,
            }
        }
        Drained::ForNow
    }

    fn discard(&mut self) -> Drained {
        let Some(source) = self.output() else { return Drained::Ended };
        let mut nowhere = vec![0; 64 << 10];
        match read(source, &mut nowhere) {
            Ok(0) => {}
            Ok(_) | Err(Errno::AGAIN) => return Drained::ForNow,
            Err(_) => {}
        }
        self.output = Output::Ended;
        Drained::Ended
    }
}

/// Reads; 0 is the end, which a master tells by an error.
fn read(source: BorrowedFd<'_>, into: &mut [u8]) -> Result<usize, Errno> {
    loop {
        match rustix::io::read(source, &mut *into) {
            Err(Errno::INTR) => {}
            Err(Errno::IO) => return Ok(0),
            other => return other,
        }
    }
}
