//! Becoming another program, and having been another one before.

use std::collections::HashMap;
use std::ffi::{CStr, CString, c_char};
use std::io;
use std::os::fd::{FromRawFd, OwnedFd, RawFd};
use std::ptr;

/// Becomes another program, which gets the descriptors `kept`. Returns only when that fails, with nothing changed.
///
/// For a process without threads: whatever it forked meanwhile would get the descriptors too.
pub(crate) fn become_program(program: &CStr, argv: &[CString], kept: &[RawFd]) -> io::Error {
    let argv: Vec<*const c_char> = argv.iter().map(|arg| arg.as_ptr()).chain([ptr::null()]).collect();
    for &fd in kept {
        // SAFETY: fcntl(2) with F_SETFD takes numbers; of one that is not open it says so, and the successor will miss it.
        unsafe { libc::fcntl(fd, libc::F_SETFD, 0) };
    }
    // SAFETY: the path and the arguments are strings that end with a nul, the list ends with a null pointer, and all of
    // them live until the call returns.
    unsafe { libc::execv(program.as_ptr(), argv.as_ptr()) };
    let error = io::Error::last_os_error();
    for &fd in kept {
        // SAFETY: as above.
        unsafe { libc::fcntl(fd, libc::F_SETFD, libc::FD_CLOEXEC) };
    }
    error
}

/// Descriptors that the program before left open for this one, by number. Each is given once; those that nobody took are
/// closed.
#[derive(Debug, Default)]
pub(crate) struct Inherited(HashMap<RawFd, OwnedFd>);

impl Inherited {
    /// Takes descriptors, which close with the next exec from now on. They must have come from the program before: no
    /// other part of this process may have one of them.
    pub(crate) fn claim(numbers: &[RawFd]) -> io::Result<Self> {
        let mut all = HashMap::new();
        for &fd in numbers {
            if fd <= 2 || all.contains_key(&fd) {
                return Err(io::Error::new(io::ErrorKind::InvalidData, "a descriptor is handed over twice"));
            }
            // SAFETY: fcntl(2) with F_SETFD takes numbers.
            if unsafe { libc::fcntl(fd, libc::F_SETFD, libc::FD_CLOEXEC) } != 0 {
                return Err(io::Error::last_os_error());
            }
            // SAFETY: it is open, as was just seen; it was open before this program began, and is in nobody's hands, as
            // the caller sees to; and it is taken once, as the map shows.
            all.insert(fd, unsafe { OwnedFd::from_raw_fd(fd) });
        }
        Ok(Self(all))
    }

    /// One of them.
    pub(crate) fn take(&mut self, fd: RawFd) -> io::Result<OwnedFd> {
        self.0
            .remove(&fd)
            .ok_or_else(|| io::Error::new(io::ErrorKind::InvalidData, "a descriptor is missing"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::fd::IntoRawFd;

    #[test]
    fn a_descriptor_is_claimed_once_and_only_if_it_is_open() {
        let (reader, writer) = io::pipe().unwrap();
        let (reader, writer) = (reader.into_raw_fd(), writer.into_raw_fd());
        assert!(Inherited::claim(&[1]).is_err(), "a standard stream");
        assert!(Inherited::claim(&[1 << 20]).is_err(), "not open");
        let mut both = Inherited::claim(&[reader, writer]).unwrap();
        let reading = both.take(reader).unwrap();
        assert!(both.take(reader).is_err());
        // What nobody took is closed.
        drop(both);
        assert_eq!(rustix::io::read(&reading, &mut [0; 1]).unwrap(), 0);
    }
}
