//! Signals by number. The real-time ones have no name, so the typed interface of `rustix` does not fit.

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
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

/// Blocks SIGCHLD in this thread and gives a descriptor that is readable when one has come. For a process of one thread.
pub(crate) fn ended_children() -> io::Result<OwnedFd> {
    // SAFETY: the set is initialised by sigemptyset before it is used, the pointers are to it or null where that is
    // allowed, and the descriptor that the last call returns is new and ours alone.
    unsafe {
        let mut set = std::mem::zeroed::<libc::sigset_t>();
        libc::sigemptyset(&raw mut set);
        libc::sigaddset(&raw mut set, libc::SIGCHLD);
        if libc::sigprocmask(libc::SIG_BLOCK, &raw const set, ptr::null_mut()) != 0 {
            return Err(io::Error::last_os_error());
        }
        match libc::signalfd(-1, &raw const set, libc::SFD_CLOEXEC | libc::SFD_NONBLOCK) {
            fd if fd >= 0 => Ok(OwnedFd::from_raw_fd(fd)),
            _ => Err(io::Error::last_os_error()),
        }
    }
}

/// Takes what [`ended_children`] has to say, so that it is readable at the next one.
pub(crate) fn take_ended_children(children: BorrowedFd<'_>) {
    let mut room = [0; 8 * size_of::<libc::signalfd_siginfo>()];
    while rustix::io::read(children, &mut room).is_ok_and(|count| count > 0) {}
}
