//! How a process ended, asked of its pidfd by somebody who is not its parent. Since Linux 6.15.

use std::os::fd::{AsRawFd, BorrowedFd};

/// The kernel's `struct pidfd_info`, in its first size. Only these fields are used.
#[repr(C)]
#[derive(Default)]
struct PidfdInfo {
    mask: u64,
    cgroup: u64,
    ids: [u32; 11],
    wait_status: i32,
}

/// Asks for, or says that there is, the status of a process that was reaped.
const PIDFD_INFO_EXIT: u64 = 1 << 3;

/// `_IOWR(0xFF, 11, struct pidfd_info)`
const PIDFD_GET_INFO: libc::Ioctl = {
    let (read_write, size, kind, number) = (3, size_of::<PidfdInfo>() as u32, 0xFF, 11);
    (read_write << 30 | size << 16 | kind << 8 | number) as libc::Ioctl
};

/// Whether this kernel tells.
pub(crate) fn is_told() -> bool {
    crate::sys::is_linux(6, 15)
}

/// The wait status of a process that ended and was reaped, by whomever. `None` when it was not, or on an older kernel.
pub(crate) fn wait_status(pidfd: BorrowedFd<'_>) -> Option<i32> {
    let mut info = PidfdInfo { mask: PIDFD_INFO_EXIT, ..PidfdInfo::default() };
    // SAFETY: the request's number holds the size of the structure behind the pointer, which the kernel fills.
    let done = unsafe { libc::ioctl(pidfd.as_raw_fd(), PIDFD_GET_INFO, &raw mut info) };
    (done == 0 && info.mask & PIDFD_INFO_EXIT != 0).then_some(info.wait_status)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sys::spawn::open_pidfd;
    use std::os::fd::AsFd;

    #[test]
    fn the_end_of_a_reaped_process_is_told_as_it_was_or_not_at_all() {
        let mut child = std::process::Command::new("sh").args(["-c", "exit 7"]).spawn().unwrap();
        let pidfd = open_pidfd(child.id()).unwrap();
        child.wait().unwrap();
        match wait_status(pidfd.as_fd()) {
            Some(status) => assert!(libc::WIFEXITED(status) && libc::WEXITSTATUS(status) == 7, "{status}"),
            None => println!("skipped: this kernel does not tell"),
        }
        let own = open_pidfd(std::process::id()).unwrap();
        assert_eq!(wait_status(own.as_fd()), None, "it lives");
    }
}
