//! The process of one program of a keeper.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use ptyard_core::Exit;
use rustix::event::epoll::EventFlags;
use rustix::event::{PollFd, PollFlags, Timespec, poll};

use super::protocol::Parent;
use crate::local::fork::{Child, exit_of_orphan};
use crate::sys::exit_info;

/// A program's process, whoever its parent is.
#[derive(Debug)]
pub(super) enum Ward {
    /// A child: its end is known, and it is reaped, by the keeper.
    Child(Child),
    /// A child of a keeper that died. Somebody inherited it and reaps it; here only that it ended is seen.
    Orphan { pid: u32, pidfd: OwnedFd },
}

impl Ward {
    /// A process that another keeper, or this one before it became another program, started.
    pub(super) fn found(parent: Parent, pid: u32, pidfd: OwnedFd) -> Self {
        match parent {
            Parent::Keeper => Self::Child(Child::found(pid, pidfd)),
            Parent::Heir => Self::Orphan { pid, pidfd },
        }
    }

    pub(super) const fn parent(&self) -> Parent {
        match self {
            Self::Child(_) => Parent::Keeper,
            Self::Orphan { .. } => Parent::Heir,
        }
    }

    pub(super) const fn pid(&self) -> u32 {
        match self {
            Self::Child(child) => child.pid(),
            Self::Orphan { pid, .. } => *pid,
        }
    }

    pub(super) fn pidfd(&self) -> BorrowedFd<'_> {
        match self {
            Self::Child(child) => child.pidfd(),
            Self::Orphan { pidfd, .. } => pidfd.as_fd(),
        }
    }

    /// What of its pidfd tells that its end can be looked at.
    pub(super) fn tells(&self) -> EventFlags {
        match self {
            // Where the kernel will tell the end, it does once somebody has reaped it, and then the pidfd hangs up, which
            // need not be asked for. A server that comes before does not wait for ever.
            Self::Orphan { .. } if exit_info::is_told() => EventFlags::empty(),
            Self::Orphan { .. } | Self::Child(_) => EventFlags::IN,
        }
    }

    /// How it ended, as far as it can be known; `None` while it runs.
    pub(super) fn peek(&self) -> Option<Exit> {
        match self {
            Self::Child(child) => child.peek(),
            Self::Orphan { pidfd, .. } => {
                has_ended(pidfd).unwrap_or(false).then(|| exit_of_orphan(pidfd.as_fd()))
            }
        }
    }

    /// Reaps it, if that is this process's to do. It must have ended.
    pub(super) fn reap(&mut self) {
        if let Self::Child(child) = self {
            child.reap();
        }
    }
}

/// Whether the process of a pidfd has ended.
fn has_ended(pidfd: &OwnedFd) -> io::Result<bool> {
    let at_once = Timespec { tv_sec: 0, tv_nsec: 0 };
    Ok(poll(&mut [PollFd::new(pidfd, PollFlags::IN)], Some(&at_once))? > 0)
}
