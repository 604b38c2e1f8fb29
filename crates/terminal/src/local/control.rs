//! The remaining controls of a local program.

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use ptyard_core::{Exit, Limit, Size};
use tokio::runtime::Handle;
use tokio::sync::watch;
use tokio::task::JoinHandle;

use crate::agent::is_shell;
use crate::backend::{BoxFuture, Control, ControlError, KillReport, Signal, Target, TtyState};
use crate::sys;
use crate::sys::watched::WatchedFd;

use super::launcher::Copies;
use super::tree::Tree;
use super::{kill, streams, tty};

/// Controls of one program. Dropping them kills what lives of it: nobody could reach it any more.
///
/// # Invariants
/// 1. A process id or group is used for a signal only while `exit` is borrowed and empty; it is filled in the step
///    that reaps, so the number means the program meanwhile.
pub(super) struct LocalControl {
    pub(super) pid: u32,
    pub(super) pidfd: Arc<OwnedFd>,
    pub(super) tty: Option<Arc<WatchedFd>>,
    pub(super) tree: Arc<Tree>,
    pub(super) exit: watch::Receiver<Option<Exit>>,
    pub(super) end: End,
    /// Ready when there are too many processes; gone once that was told.
    pub(super) ceiling: Option<BoxFuture<'static, io::Result<()>>>,
    pub(super) runtime: Handle,
    /// Given up with this.
    pub(super) _copies: Option<Arc<dyn Copies>>,
}

/// The end of a program, as the one who asks for it sees it.
pub(super) enum End {
    Awaited(BoxFuture<'static, Exit>),
    Known(Exit),
}

impl End {
    pub(super) fn awaited(mut exit: watch::Receiver<Option<Exit>>) -> Self {
        Self::Awaited(Box::pin(async move {
            match exit.wait_for(Option::is_some).await {
                Ok(exit) => exit.clone().unwrap_or_else(Exit::lost),
                // The task that would have reaped was dropped together with the runtime.
                Err(_) => Exit::lost(),
            }
        }))
    }
}

impl LocalControl {
    fn master(&self) -> Result<&WatchedFd, ControlError> {
        self.tty.as_deref().ok_or(ControlError::NotATty)
    }

    /// Ends the tree in a task of its own. The tty stays open meanwhile: its number tells what belongs to the program, and
    /// the next program's tty shall not have it.
    fn end_tree(&self, grace: Duration) -> JoinHandle<KillReport> {
        let (tree, exit, tty) = (Arc::clone(&self.tree), self.exit.clone(), self.tty.clone());
        // Made here and not in the task: a runtime that shuts down drops tasks that never ran, and what was made kills then.
        let ending = kill::end_tree(tree, exit, grace);
        self.runtime.spawn(async move {
            let report = ending.await;
            drop(tty);
            report
        })
    }

    /// The process group that the keyboard's signals go to.
    fn foreground_group(&self) -> Option<u32> {
        let group = rustix::termios::tcgetpgrp(self.tty.as_ref()?.get_ref()).ok()?;
        Some(group.as_raw_nonzero().get().unsigned_abs())
    }
}

impl Control for LocalControl {
    fn poll_exit(&mut self, cx: &mut Context<'_>) -> Poll<Exit> {
        let exit = match &mut self.end {
            End::Known(exit) => return Poll::Ready(exit.clone()),
            End::Awaited(end) => ready!(end.as_mut().poll(cx)),
        };
        self.end = End::Known(exit.clone());
        Poll::Ready(exit)
    }

    fn resize(&mut self, size: Size) -> Result<(), ControlError> {
        let master = self.master()?.get_ref();
        tty::resize(master, size).map_err(|error| streams::os("resize", &error))
    }

    fn signal(&mut self, signal: Signal, target: Target) -> Result<(), ControlError> {
        let foreground = self.foreground_group();
        let exit = self.exit.borrow();
        if exit.is_some() {
            return Err(ControlError::Exited);
        }
        let sent = match target {
            Target::Program => sys::signal::send(self.pidfd.as_fd(), signal.0),
            Target::ForegroundGroup => sys::signal::send_group(foreground.unwrap_or(self.pid), signal.0),
        };
        sent.map_err(|error| match error.raw_os_error() {
            Some(libc::ESRCH) => ControlError::Exited,
            _ => streams::os("send the signal", &error),
        })
    }

    fn kill(&mut self, grace: Duration) -> BoxFuture<'static, KillReport> {
        let tree = Arc::clone(&self.tree);
        let kill = self.end_tree(grace);
        Box::pin(async move {
            match kill.await {
                Ok(report) => report,
                // The runtime is shutting down, and the kill has done without a grace.
                Err(_) => {
                    let survivors = tree.members();
                    let last_signal = Some(libc::SIGKILL);
                    KillReport { found: kill::count(&survivors), last_signal, survivors }
                }
            }
        })
    }

    fn descendants(&mut self) -> u32 {
        let mut members = self.tree.members();
        members.retain(|&pid| pid != self.pid);
        kill::count(&members)
    }

    fn poll_ceiling(&mut self, cx: &mut Context<'_>) -> Poll<Limit> {
        let Some(reached) = &mut self.ceiling else { return Poll::Pending };
        let reached = ready!(reached.as_mut().poll(cx));
        self.ceiling = None;
        match reached {
            Ok(()) => Poll::Ready(Limit::Processes),
            Err(error) => {
                // The kernel still refuses more processes.
                tracing::warn!(%error, "cannot watch a program's number of processes");
                Poll::Pending
            }
        }
    }

    fn tty_state(&mut self) -> Option<TtyState> {
        let modes = streams::attributes(self.tty.as_ref()?).ok()?;
        let foreground_group = self.foreground_group();
        Some(TtyState::of(&modes, foreground_group, self.pid))
    }

    fn foreground_command(&mut self) -> Option<String> {
        let group = self.foreground_group()?;
        let leader = name_in_group(group, group)?;
        if !is_shell(&leader) {
            return Some(leader);
        }
        // A shell without job control runs its programs in its own group: it is not the shell that reads then.
        let others = self.tree.members().into_iter().filter(|&pid| pid != group);
        let program = others.filter_map(|pid| name_in_group(pid, group)).find(|name| !is_shell(name));
        Some(program.unwrap_or(leader))
    }
}

/// The name of process `pid`, if it is in process group `group`.
fn name_in_group(pid: u32, group: u32) -> Option<String> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The name stands in parentheses and may hold any, so the last one ends it.
    let (_, rest) = stat.split_once('(')?;
    let (name, fields) = rest.rsplit_once(')')?;
    let its_group: u32 = fields.split_whitespace().nth(2)?.parse().ok()?;
    (its_group == group).then(|| name.to_owned())
}

impl Drop for LocalControl {
    fn drop(&mut self) {
        if self.tree.release() {
            return;
        }
        self.end_tree(Duration::ZERO);
    }
}
