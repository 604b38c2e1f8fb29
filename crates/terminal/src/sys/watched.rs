//! Descriptors that the runtime watches.

use std::io;
use std::ops::Deref;
use std::os::fd::OwnedFd;

use tokio::io::Interest;
use tokio::io::unix::AsyncFd;

/// A descriptor registered with the runtime. Only ever borrowed, so it stays the one that was registered.
#[derive(Debug)]
pub(crate) struct WatchedFd(AsyncFd<OwnedFd>);

impl WatchedFd {
    /// Registers `fd` for `interest`. Must be called in a runtime.
    pub(crate) fn new(fd: OwnedFd, interest: Interest) -> io::Result<Self> {
        // SAFETY: an owned descriptor is open until it is dropped, and it is dropped with the registration: nothing
        // outside this module gets it by value or by mutable reference.
        unsafe { AsyncFd::register_with_interest(fd, interest) }.map(Self).map_err(io::Error::from)
    }
}

impl Deref for WatchedFd {
    type Target = AsyncFd<OwnedFd>;

    fn deref(&self) -> &AsyncFd<OwnedFd> {
        &self.0
    }
}
