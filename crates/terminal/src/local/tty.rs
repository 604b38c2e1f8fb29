//! Pseudo terminals.

use std::io;
use std::os::fd::{AsFd, OwnedFd};

use ptyard_core::Size;
use rustix::fs::OFlags;
use rustix::pty::OpenptFlags;
use rustix::termios::{InputModes, OptionalActions, Winsize};

/// The two sides of a new pseudo terminal.
#[derive(Debug)]
pub(super) struct Pair {
    /// Ours; non-blocking.
    pub(super) master: OwnedFd,
    /// The program's.
    pub(super) slave: OwnedFd,
}

/// Opens a pseudo terminal of the given size.
///
/// Its line discipline has the kernel's defaults (line editing, echo, signals) but for two flags: IXON is off, so
/// that a stray 0x13 in the input cannot stop the output; IUTF8 is on, so that erasing takes whole characters.
pub(super) fn open(size: Size) -> io::Result<Pair> {
    let flags = OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC;
    let master = rustix::pty::openpt(flags)?;
    rustix::pty::grantpt(&master)?;
    rustix::pty::unlockpt(&master)?;
    // Not by its name: the name may mean another terminal in another mount namespace.
    let slave = rustix::pty::ioctl_tiocgptpeer(&master, flags)?;
    resize(&master, size)?;
    let mut modes = rustix::termios::tcgetattr(&slave)?;
    modes.input_modes.remove(InputModes::IXON);
    modes.input_modes.insert(InputModes::IUTF8);
    rustix::termios::tcsetattr(&slave, OptionalActions::Now, &modes)?;
    set_nonblocking(&master)?;
    Ok(Pair { master, slave })
}

/// Sets the size; the foreground process group gets SIGWINCH when it differs from before.
pub(super) fn resize(master: impl AsFd, size: Size) -> io::Result<()> {
    let window = Winsize { ws_row: size.rows(), ws_col: size.cols(), ws_xpixel: 0, ws_ypixel: 0 };
    Ok(rustix::termios::tcsetwinsize(master, window)?)
}

/// The device number of the slave, as `/proc/<pid>/stat` writes it.
pub(super) fn device(master: impl AsFd) -> io::Result<u64> {
    /// Major number of the slaves of Unix 98 pseudo terminals, whatever their count.
    const SLAVE_MAJOR: u64 = 136;
    let name = rustix::pty::ptsname(master, Vec::new())?;
    let minor = name.to_str().ok().and_then(|name| name.rsplit('/').next()?.parse::<u64>().ok());
    let minor = minor.ok_or(io::ErrorKind::InvalidData)?;
    Ok((minor & 0xff) | (SLAVE_MAJOR << 8) | ((minor & !0xff) << 12))
}

/// Makes reads and writes answer "would block" instead of waiting.
pub(super) fn set_nonblocking(fd: impl AsFd) -> io::Result<()> {
    let flags = rustix::fs::fcntl_getfl(&fd)?;
    Ok(rustix::fs::fcntl_setfl(&fd, flags | OFlags::NONBLOCK)?)
}
