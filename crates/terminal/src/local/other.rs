//! A process of this machine that somebody else started.

use std::io;
use std::os::fd::AsFd;

use rustix::process::{Pid, PidfdFlags, pidfd_open};
use tokio::io::Interest;

use crate::backend::Signal;
use crate::sys;
use crate::sys::watched::WatchedFd;

/// A process that is not a child of this one: its end can be waited for, though not learned, and it can be signalled
/// without ever meaning another process that got its number.
#[derive(Debug)]
pub struct OtherProcess {
    pidfd: WatchedFd,
}

impl OtherProcess {
    /// The process that has this number now. Call it in a runtime.
    ///
    /// # Errors
    /// When there is none.
    pub fn new(pid: u32) -> io::Result<Self> {
        let pid = Pid::from_raw(pid.cast_signed()).ok_or(io::ErrorKind::InvalidInput)?;
        let pidfd = pidfd_open(pid, PidfdFlags::empty())?;
        Ok(Self { pidfd: WatchedFd::new(pidfd, Interest::READABLE)? })
    }

    /// Waits until it has ended; its parent may not have heard of it yet.
    pub async fn ended(&self) {
        // An error means that the runtime is going away.
        let _ended = self.pidfd.readable().await;
    }

    /// Sends a signal.
    ///
    /// # Errors
    /// As of kill(2).
    pub fn signal(&self, signal: Signal) -> io::Result<()> {
        sys::signal::send(self.pidfd.get_ref().as_fd(), signal.0)
    }

    /// Sends a signal to a process group. Whether it is still the one that was meant nobody can promise.
    ///
    /// # Errors
    /// As of kill(2).
    pub fn signal_group(group: u32, signal: Signal) -> io::Result<()> {
        sys::signal::send_group(group, signal.0)
    }
}
