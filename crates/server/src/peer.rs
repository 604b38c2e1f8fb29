//! The other end of a connection: who it is, and whether it is still there.

use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::pin::Pin;
use std::sync::{Arc, Weak};
use std::task::{Context, Poll, ready};

use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use ptyard_core::ErrorCode;
use rustix::event::{PollFd, PollFlags, Timespec};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpStream, UnixStream};
use tokio::sync::OwnedSemaphorePermit;

use crate::error::ApiError;
use crate::gate::Gate;

/// A connected socket.
#[derive(Debug)]
pub(crate) enum Socket {
    /// On the Unix socket.
    Unix(UnixStream),
    /// On loopback TCP.
    Tcp(TcpStream),
}

impl AsFd for Socket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        match self {
            Self::Unix(stream) => stream.as_fd(),
            Self::Tcp(stream) => stream.as_fd(),
        }
    }
}

/// Calls the method of the same name on whichever stream it is.
macro_rules! either {
    ($socket:expr, $stream:ident => $call:expr) => {
        match $socket {
            Socket::Unix($stream) => $call,
            Socket::Tcp($stream) => $call,
        }
    };
}

/// The bytes of a connection. The connection owns it; a [`Peer`] may look at the socket as long as it lives.
pub(crate) struct Wire(Arc<Socket>);

impl AsyncRead for Wire {
    fn poll_read(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        loop {
            ready!(either!(&*self.0, stream => stream.poll_read_ready(cx)))?;
            match either!(&*self.0, stream => stream.try_read(buf.initialize_unfilled())) {
                Ok(read) => {
                    buf.advance(read);
                    return Poll::Ready(Ok(()));
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                Err(error) => return Poll::Ready(Err(error)),
            }
        }
    }
}

impl Wire {
    fn poll_try_write(
        &self,
        cx: &mut Context<'_>,
        mut write: impl FnMut(&Socket) -> io::Result<usize>,
    ) -> Poll<io::Result<usize>> {
        loop {
            ready!(either!(&*self.0, stream => stream.poll_write_ready(cx)))?;
            match write(&self.0) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                done => return Poll::Ready(done),
            }
        }
    }
}

impl AsyncWrite for Wire {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        self.poll_try_write(cx, |socket| either!(socket, stream => stream.try_write(bytes)))
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        parts: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        self.poll_try_write(cx, |socket| either!(socket, stream => stream.try_write_vectored(parts)))
    }

    fn is_write_vectored(&self) -> bool {
        true
    }

    fn poll_flush(self: Pin<&mut Self>, _cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match rustix::net::shutdown(&*self.0, rustix::net::Shutdown::Write) {
            // The peer was faster.
            Err(rustix::io::Errno::NOTCONN) | Ok(()) => Poll::Ready(Ok(())),
            Err(error) => Poll::Ready(Err(error.into())),
        }
    }
}

/// How a peer came in.
#[derive(Clone)]
pub(crate) enum Entrance {
    /// Through the Unix socket: its user was checked when it connected.
    Unix,
    /// Through TCP: every request is checked.
    Tcp(Arc<Gate>),
    /// Through the Unix socket, as another user: every request is refused, with a word.
    Stranger,
}

/// The other end of a connection. Clones share it.
#[derive(Clone)]
pub(crate) struct Peer {
    entrance: Entrance,
    socket: Weak<Socket>,
    /// The connection's place among the most that are served at once, held until the last user of it is gone: an
    /// upgraded connection keeps it.
    _place: Arc<OwnedSemaphorePermit>,
}

impl Peer {
    /// Splits a socket into its bytes and what is known of its other end.
    pub(crate) fn split(socket: Socket, entrance: Entrance, place: OwnedSemaphorePermit) -> (Wire, Self) {
        let socket = Arc::new(socket);
        let peer = Self { entrance, socket: Arc::downgrade(&socket), _place: Arc::new(place) };
        (Wire(socket), peer)
    }

    /// How it came in.
    pub(crate) const fn entrance(&self) -> &Entrance {
        &self.entrance
    }

    /// Whether the other end is still there, asked of the kernel now.
    ///
    /// A peer that closed its end, or only its sending half, counts as gone: the runtime may hear of it a moment
    /// later, this does not.
    pub(crate) fn is_present(&self) -> bool {
        let Some(socket) = self.socket.upgrade() else { return false };
        let mut fds = [PollFd::new(&*socket, PollFlags::RDHUP)];
        match rustix::event::poll(&mut fds, Some(&Timespec { tv_sec: 0, tv_nsec: 0 })) {
            Ok(0) => true,
            Ok(_) => !fds[0].revents().intersects(PollFlags::RDHUP | PollFlags::HUP | PollFlags::ERR),
            // Not known to be gone.
            Err(_) => true,
        }
    }
}

impl<S: Sync> FromRequestParts<S> for Peer {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, _state: &S) -> Result<Self, ApiError> {
        parts.extensions.get().cloned().ok_or_else(|| {
            ApiError::new(ErrorCode::Internal, "a request came from a connection that was never let in")
        })
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use tokio::sync::Semaphore;

    use super::*;

    /// A connection within the process: the far end, the bytes and the peer.
    pub(crate) fn connected(entrance: Entrance) -> (UnixStream, Wire, Peer) {
        let (far, near) = UnixStream::pair().unwrap();
        let place = Arc::new(Semaphore::new(1)).try_acquire_owned().unwrap();
        let (wire, peer) = Peer::split(Socket::Unix(near), entrance, place);
        (far, wire, peer)
    }

    #[tokio::test]
    async fn a_peer_that_closed_is_gone_at_once_even_with_bytes_it_left_behind() {
        let (far, wire, peer) = connected(Entrance::Unix);
        assert!(peer.is_present());
        assert!(far.try_write(b"GET / HTTP/1.1\r\n").is_ok());
        assert!(peer.is_present());
        drop(far);
        assert!(!peer.is_present());
        drop(wire);
        assert!(!peer.is_present());
    }

    #[tokio::test]
    async fn a_peer_that_closed_its_sending_half_counts_as_gone() {
        let (far, _wire, peer) = connected(Entrance::Unix);
        rustix::net::shutdown(&far, rustix::net::Shutdown::Write).unwrap();
        assert!(!peer.is_present());
    }
}
