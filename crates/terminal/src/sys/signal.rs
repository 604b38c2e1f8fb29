//! Signals by number. The real-time ones have no name, so the typed interface of `rustix` does not fit.

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};
use std::ptr;

/// Signals a process by its pidfd: it can only ever reach the process the descriptor was opened for.
pub(crate) fn send(pidfd: BorrowedFd<'_>, signal: i32) -> io::Result<()> {
    // SAFETY: the arguments are a live descriptor, a number, a null siginfo (allowed) and no flags.
    let done = unsafe {
        libc::syscall(
            libc::SYS_pidfd_send_signal,
            pidfd.as_raw_fd(),
            signal,
            ptr::null::<libc::siginfo_t>(),
            0,
        )
    };
    if done == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Signals every process of a process group.
///
/// Groups have no descriptors: the caller sees to it that the number still means the group it thinks of.
pub(crate) fn send_group(group: u32, signal: i32) -> io::Result<()> {
    // Group 0 and 1 mean "my own group" and "everybody" to kill(2).
    let group = match i32::try_from(group) {
        Ok(group) if group > 1 => group,
        _ => return Err(io::ErrorKind::InvalidInput.into()),
    };
    // SAFETY: kill(2) takes two numbers.
    if unsafe { libc::kill(-group, signal) } == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}
