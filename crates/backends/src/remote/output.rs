//! Output of a program that somebody follows.

use std::io;
use std::task::{Context, Poll, ready};

use bytes::{Buf, Bytes};
use ptyard_terminal::backend::Source;
use tokio::sync::mpsc;

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
