//! A program's streams on a connection that was a request.
//!
//! With a tty the bytes come as they are. Without, each piece has a header that says whose it is (1 output, 2 errors,
//! 3 the engine's own trouble) and how long; pieces and headers may be split anywhere. It is known which of both it is,
//! and never guessed from the bytes: a program may print what looks like a header.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use ptyard_terminal::backend::Source;
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt, ReadBuf, ReadHalf, WriteHalf};
use tokio::sync::watch;

/// How output is packed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Framing {
    /// Not at all: it is a tty's.
    Raw,
    /// In pieces with headers.
    Pieces,
}

const HEADER: usize = 8;

/// Where in a framed stream the reader is.
///
/// # Invariants
/// 1. `filled < HEADER` whenever `left == 0`: a header that is complete is taken apart at once.
#[derive(Debug, Default)]
struct Unpacking {
    header: [u8; HEADER],
    filled: usize,
    /// Bytes of the current piece that have not been read.
    left: usize,
}

/// Output of a program.
pub(super) struct StreamSource<S> {
    half: ReadHalf<S>,
    framing: Framing,
    unpacking: Unpacking,
    /// Told when the stream has ended, however it did.
    ended: watch::Sender<bool>,
}

impl<S: AsyncRead> StreamSource<S> {
    pub(super) fn new(half: ReadHalf<S>, framing: Framing, ended: watch::Sender<bool>) -> Self {
        Self { half, framing, unpacking: Unpacking::default(), ended }
    }

    fn poll_some(&mut self, cx: &mut Context<'_>, into: &mut [u8]) -> Poll<io::Result<usize>> {
        let mut buf = ReadBuf::new(into);
        ready!(Pin::new(&mut self.half).poll_read(cx, &mut buf))?;
        Poll::Ready(Ok(buf.filled().len()))
    }

    fn poll_unpacked(&mut self, cx: &mut Context<'_>, into: &mut [u8]) -> Poll<io::Result<usize>> {
        loop {
            if self.unpacking.left > 0 {
                let most = into.len().min(self.unpacking.left);
                let read = ready!(self.poll_some(cx, &mut into[..most]))?;
                if read == 0 {
                    return Poll::Ready(Err(io::ErrorKind::UnexpectedEof.into()));
                }
                self.unpacking.left -= read;
                return Poll::Ready(Ok(read));
            }
            let filled = self.unpacking.filled;
            debug_assert!(filled < HEADER, "invariant 1");
            let mut rest = [0; HEADER];
            let read = ready!(self.poll_some(cx, &mut rest[filled..]))?;
            if read == 0 {
                return Poll::Ready(match filled {
                    0 => Ok(0),
                    _ => Err(io::ErrorKind::UnexpectedEof.into()),
                });
            }
            self.unpacking.header[filled..filled + read].copy_from_slice(&rest[filled..filled + read]);
            self.unpacking.filled += read;
            if self.unpacking.filled == HEADER {
                let [_, _, _, _, length @ ..] = self.unpacking.header;
                self.unpacking =
                    Unpacking { left: u32::from_be_bytes(length) as usize, ..Default::default() };
            }
        }
    }
}

impl<S: AsyncRead + Send> Source for StreamSource<S> {
    fn poll_read(&mut self, cx: &mut Context<'_>, into: &mut [u8]) -> Poll<io::Result<usize>> {
        let read = ready!(match self.framing {
            Framing::Raw => self.poll_some(cx, into),
            Framing::Pieces => self.poll_unpacked(cx, into),
        });
        if !matches!(read, Ok(1..)) {
            self.ended.send_replace(true);
        }
        Poll::Ready(read)
    }
}

/// Input of a program.
pub(super) struct StreamSink<S> {
    half: WriteHalf<S>,
}

impl<S: AsyncWrite> StreamSink<S> {
    pub(super) const fn new(half: WriteHalf<S>) -> Self {
        Self { half }
    }

    /// Writes all of it.
    pub(super) async fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.half.write_all(bytes).await?;
        self.half.flush().await
    }

    /// Closes our half of the connection: the end of a pipe.
    pub(super) async fn close(&mut self) -> io::Result<()> {
        self.half.shutdown().await
    }
}

#[cfg(test)]
mod tests;
