//! Output and input of a local program, without a thread and without a copy.

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::{Arc, Weak};
use std::task::{Context, Poll, ready};

use rustix::event::{PollFd, PollFlags, Timespec};
use rustix::io::Errno;
use rustix::termios::{LocalModes, SpecialCodeIndex, Termios};
use tokio::io::Interest;
use tokio::io::unix::AsyncFdReadyGuard;

use crate::backend::{ControlError, Sink, Source};
use crate::sys;
use crate::sys::watched::WatchedFd;

use super::flood::{FLOOD_BYTES, let_the_kernel_fill};
use super::launcher::Copies;

/// A value of a special character that switches the character off.
const DISABLED: u8 = 0;

/// Reads a master or the reading end of a pipe.
///
/// # Invariants
/// 1. Once the end was told it is told for good, even if something opens the tty again.
pub(super) struct FdSource {
    fd: Arc<WatchedFd>,
    /// A read that gave fewer bytes than this, and than it was asked for, took all there was.
    more_from: usize,
    /// The last read was one of many.
    flooded: bool,
    ended: bool,
}

impl FdSource {
    /// Reads a master.
    pub(super) const fn tty(fd: Arc<WatchedFd>) -> Self {
        Self { fd, more_from: FLOOD_BYTES, flooded: false, ended: false }
    }

    /// Reads the reading end of a pipe.
    pub(super) const fn pipe(fd: Arc<WatchedFd>) -> Self {
        Self { fd, more_from: usize::MAX, flooded: false, ended: false }
    }
}

impl Source for FdSource {
    fn poll_read(&mut self, cx: &mut Context<'_>, into: &mut [u8]) -> Poll<io::Result<usize>> {
        if self.ended || into.is_empty() {
            return Poll::Ready(Ok(0));
        }
        let mut flooded = std::mem::take(&mut self.flooded);
        loop {
            let mut ready = ready!(self.fd.poll_read_ready(cx))?;
            if std::mem::take(&mut flooded) {
                let_the_kernel_fill();
            }
            let read = match rustix::io::read(ready.get_inner(), &mut *into) {
                Err(Errno::AGAIN) => {
                    ready.clear_ready();
                    continue;
                }
                Err(Errno::INTR) => continue,
                // Linux's word for "no process has the slave open any more". What was printed came before it.
                Err(Errno::IO) => 0,
                other => other?,
            };
            // Less than asked for: nothing is left now, and more will wake us. Asking the kernel again to hear "would
            // block" costs as much as a read, on a tty more: it waits for the line discipline's worker first.
            if read > 0 && read < into.len().min(self.more_from) && sys::empties_at_once() {
                ready.clear_ready();
            }
            self.flooded = read >= self.more_from;
            self.ended = read == 0;
            return Poll::Ready(Ok(read));
        }
    }
}

/// Writes to a master.
pub(super) struct TtySink {
    /// Watched for output alone: a master that is watched for room as well wakes its server twice for everything that
    /// is typed, when the program reads it and when it answers.
    fd: Arc<WatchedFd>,
    /// A copy of it that is watched for room, while it takes nothing.
    room: Option<WatchedFd>,
    closing: Closing,
}

/// How far the end of a tty's input is.
enum Closing {
    Open,
    /// These end-of-file characters are still to be typed.
    Typing {
        eof: u8,
        left: usize,
    },
    Closed,
}

impl TtySink {
    pub(super) const fn new(fd: Arc<WatchedFd>) -> Self {
        Self { fd, room: None, closing: Closing::Open }
    }

    /// The character that ends the input.
    fn eof_character(&self) -> Result<u8, ControlError> {
        let modes = attributes(&self.fd).map_err(|error| os("read the tty's modes", &error))?;
        match modes.special_codes[SpecialCodeIndex::VEOF] {
            eof if eof != DISABLED && modes.local_modes.contains(LocalModes::ICANON) => Ok(eof),
            _ => Err(ControlError::RawMode),
        }
    }
}

impl Sink for TtySink {
    fn poll_write(&mut self, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        if !matches!(self.closing, Closing::Open) {
            return Poll::Ready(Err(io::ErrorKind::BrokenPipe.into()));
        }
        poll_type(&self.fd, &mut self.room, cx, bytes)
    }

    /// Types the end-of-file character twice. The first one hands over a line that was begun, and is the end of
    /// input only on an empty line; whether the line is empty is the line discipline's secret. When the first one was
    /// enough, the second waits for the next program that reads this tty, for which the input has ended just as well.
    fn poll_close(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), ControlError>> {
        loop {
            match &mut self.closing {
                Closing::Closed => return Poll::Ready(Err(ControlError::StdinClosed)),
                Closing::Open => self.closing = Closing::Typing { eof: self.eof_character()?, left: 2 },
                Closing::Typing { eof, left } => {
                    let typed = ready!(poll_type(&self.fd, &mut self.room, cx, &[*eof; 2][..*left]));
                    *left -= typed.map_err(|error| match error.kind() {
                        io::ErrorKind::BrokenPipe => ControlError::Exited,
                        _ => os("end the input", &error),
                    })?;
                    if *left == 0 {
                        self.closing = Closing::Closed;
                        return Poll::Ready(Ok(()));
                    }
                }
            }
        }
    }
}

/// Writes to a pipe; dropping the pipe ends the input.
pub(super) struct PipeSink {
    fd: Option<Arc<WatchedFd>>,
    copies: Option<Arc<dyn Copies>>,
}

impl PipeSink {
    pub(super) fn new(fd: OwnedFd, copies: Option<Arc<dyn Copies>>) -> io::Result<Self> {
        Ok(Self { fd: Some(Arc::new(WatchedFd::new(fd, Interest::WRITABLE)?)), copies })
    }

    /// What it writes to, for as long as that is open.
    pub(super) fn lend(&self) -> Weak<WatchedFd> {
        self.fd.as_ref().map(Arc::downgrade).unwrap_or_default()
    }

    /// Closes every copy of the pipe; says whether it was open.
    fn close(&mut self) -> bool {
        let was_open = self.fd.take().is_some();
        if was_open && let Some(copies) = &self.copies {
            copies.close_input();
        }
        was_open
    }
}

impl Drop for PipeSink {
    fn drop(&mut self) {
        self.close();
    }
}

impl Sink for PipeSink {
    fn poll_write(&mut self, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        match &self.fd {
            Some(fd) => poll_write(fd, cx, bytes),
            None => Poll::Ready(Err(io::ErrorKind::BrokenPipe.into())),
        }
    }

    fn poll_close(&mut self, _cx: &mut Context<'_>) -> Poll<Result<(), ControlError>> {
        Poll::Ready(if self.close() { Ok(()) } else { Err(ControlError::StdinClosed) })
    }
}

/// Writes what a master takes without waiting. That nobody can read it any more is a broken pipe.
fn poll_type(
    master: &WatchedFd,
    room: &mut Option<WatchedFd>,
    cx: &mut Context<'_>,
    bytes: &[u8],
) -> Poll<io::Result<usize>> {
    if bytes.is_empty() {
        return Poll::Ready(Ok(0));
    }
    // A master goes on taking bytes when the last process that could read them has gone.
    if is_hung_up(master)? {
        return Poll::Ready(Err(io::ErrorKind::BrokenPipe.into()));
    }
    loop {
        let ready = match room {
            Some(room) => Some(ready!(room.poll_write_ready(cx))?),
            None => None,
        };
        if ready.as_ref().is_some_and(|ready| ready.ready().is_write_closed()) {
            return Poll::Ready(Err(io::ErrorKind::BrokenPipe.into()));
        }
        if let Some(taken) = write_now(master, bytes)? {
            *room = None;
            return Poll::Ready(Ok(taken));
        }
        match ready {
            Some(mut ready) => ready.clear_ready(),
            None => {
                let copy = master.get_ref().try_clone()?;
                *room = Some(WatchedFd::new(copy, Interest::WRITABLE)?);
            }
        }
    }
}

/// Whether no process has the slave of this master open.
fn is_hung_up(master: &WatchedFd) -> io::Result<bool> {
    let mut looked = [PollFd::new(master.get_ref(), PollFlags::empty())];
    rustix::event::poll(&mut looked, Some(&Timespec::default()))?;
    Ok(looked[0].revents().contains(PollFlags::HUP))
}

/// Writes what a pipe takes without waiting. A reader that is gone for good is a broken pipe.
///
/// It is tried before the runtime is asked, which may not know yet that there is room.
fn poll_write(fd: &WatchedFd, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
    if bytes.is_empty() {
        return Poll::Ready(Ok(0));
    }
    let mut ready: Option<AsyncFdReadyGuard<'_, OwnedFd>> = None;
    loop {
        if let Some(taken) = write_now(fd, bytes)? {
            return Poll::Ready(Ok(taken));
        }
        if let Some(mut was_ready) = ready.take() {
            was_ready.clear_ready();
        }
        ready = Some(ready!(fd.poll_write_ready(cx))?);
    }
}

/// Writes what is taken at this moment; `None` when that is nothing. A reader that is gone for good is a broken pipe, on a
/// tty too.
fn write_now(fd: &WatchedFd, bytes: &[u8]) -> io::Result<Option<usize>> {
    loop {
        return match rustix::io::write(fd.get_ref(), bytes) {
            Err(Errno::INTR) => continue,
            // A tty that takes nothing says so with 0 or with "would block", depending on where it is full.
            Err(Errno::AGAIN) | Ok(0) => Ok(None),
            Err(Errno::IO | Errno::PIPE) => Err(io::ErrorKind::BrokenPipe.into()),
            other => Ok(Some(other?)),
        };
    }
}

/// The line discipline's settings; on Linux the master answers for its slave.
pub(super) fn attributes(master: &WatchedFd) -> io::Result<Termios> {
    Ok(rustix::termios::tcgetattr(master.get_ref().as_fd())?)
}

pub(super) fn os(action: &'static str, error: &io::Error) -> ControlError {
    ControlError::Os { action, message: error.to_string() }
}
