//! Output of a program that somebody follows.

use std::io;
use std::task::{Context, Poll, ready};

use bytes::{Buf, Bytes};
use ptyard_terminal::backend::{Io, Source};
use tokio::sync::mpsc;

/// A line of our own among the output, which begins and ends as lines do there.
#[cfg(any(feature = "cloudflare", feature = "daytona", feature = "e2b"))]
pub(crate) fn own_line(io: Io, words: &str) -> Vec<u8> {
    let end = match io {
        Io::Tty(_) => "\r\n",
        Io::Pipes(_) => "\n",
    };
    [end, words, end].concat().into_bytes()
}

/// Output, as it was followed: whoever follows waits while nobody reads it.
pub(crate) struct Output {
    pieces: mpsc::Receiver<Bytes>,
    current: Bytes,
}

impl Output {
    pub(crate) fn new(pieces: mpsc::Receiver<Bytes>) -> Self {
        Self { pieces, current: Bytes::new() }
    }
}

impl Source for Output {
    fn poll_read(&mut self, cx: &mut Context<'_>, into: &mut [u8]) -> Poll<io::Result<usize>> {
        while self.current.is_empty() {
            match ready!(self.pieces.poll_recv(cx)) {
                Some(piece) => self.current = piece,
                None => return Poll::Ready(Ok(0)),
            }
        }
        let taken = into.len().min(self.current.len());
        self.current.copy_to_slice(&mut into[..taken]);
        Poll::Ready(Ok(taken))
    }
}
