//! A far program's streams, on the streams of the client that carries them.

use std::io;
use std::task::{Context, Poll, ready};

use ptyard_terminal::backend::{ControlError, Io, Sink, Source};

/// Output: the carrier's, behind what came with the far shell's greeting.
pub(super) struct SshSource {
    carrier: Box<dyn Source>,
    first: Vec<u8>,
    read: usize,
}

impl SshSource {
    /// `first` came before the source was made.
    pub(super) fn new(carrier: Box<dyn Source>, first: Vec<u8>) -> Self {
        Self { carrier, first, read: 0 }
    }
}

impl Source for SshSource {
    fn poll_read(&mut self, cx: &mut Context<'_>, into: &mut [u8]) -> Poll<io::Result<usize>> {
        let left = &self.first[self.read..];
        if left.is_empty() {
            return self.carrier.poll_read(cx, into);
        }
        let taken = into.len().min(left.len());
        into[..taken].copy_from_slice(&left[..taken]);
        self.read += taken;
        Poll::Ready(Ok(taken))
    }
}

/// Input.
pub(super) struct SshSink {
    client: Box<dyn Sink>,
    kind: Kind,
}

enum Kind {
    Pipe,
    /// The far tty is not ours to look at, so its end of file is typed: twice in the middle of a line.
    Tty {
        at_line_start: bool,
        left: Option<u8>,
    },
}

impl SshSink {
    pub(super) fn new(client: Box<dyn Sink>, io: Io) -> Self {
        let kind = match io {
            Io::Tty(_) => Kind::Tty { at_line_start: true, left: None },
            Io::Pipes(_) => Kind::Pipe,
        };
        Self { client, kind }
    }
}

impl Sink for SshSink {
    fn poll_write(&mut self, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let written = ready!(self.client.poll_write(cx, bytes))?;
        if let (Kind::Tty { at_line_start, .. }, Some(last)) = (&mut self.kind, bytes[..written].last()) {
            *at_line_start = matches!(last, b'\n' | b'\r');
        }
        Poll::Ready(Ok(written))
    }

    fn poll_close(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), ControlError>> {
        let Kind::Tty { at_line_start, left } = &mut self.kind else { return self.client.poll_close(cx) };
        let left = left.get_or_insert(if *at_line_start { 1 } else { 2 });
        while *left > 0 {
            let written = ready!(self.client.poll_write(cx, &[4]));
            let written = written.map_err(|error| ControlError::Os {
                action: "close the input",
                message: error.to_string(),
            })?;
            *left = left.saturating_sub(u8::try_from(written).unwrap_or(1));
        }
        Poll::Ready(Ok(()))
    }
}
