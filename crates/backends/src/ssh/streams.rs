//! A far program's streams, on the streams of the client that carries them.

use std::io;
use std::task::{Context, Poll, ready};

use ptyard_terminal::backend::{ControlError, Io, Sink, Source};
use tokio::sync::watch;

use crate::shared::greeting::Ending;

/// Output: the client's, without the far shell's last word.
pub(super) struct SshSource {
    client: Box<dyn Source>,
    ending: Option<Ending>,
    ended: watch::Sender<Option<i32>>,
    current: Vec<u8>,
    read: usize,
    room: Vec<u8>,
}

/// Bytes read from the client at a time.
const ROOM: usize = 64 << 10;

impl SshSource {
    /// `first` came before the source was made.
    pub(super) fn new(
        client: Box<dyn Source>,
        ending: Ending,
        ended: watch::Sender<Option<i32>>,
        first: &[u8],
    ) -> Self {
        let mut source =
            Self { client, ending: Some(ending), ended, current: Vec::new(), read: 0, room: vec![0; ROOM] };
        source.take(first);
        source
    }

    fn take(&mut self, bytes: &[u8]) {
        self.current.clear();
        self.read = 0;
        match &mut self.ending {
            Some(ending) => {
                if let Some(code) = ending.hear(bytes, &mut self.current) {
                    self.ended.send_replace(Some(code));
                }
            }
            None => self.current.extend_from_slice(bytes),
        }
    }
}

impl Source for SshSource {
    fn poll_read(&mut self, cx: &mut Context<'_>, into: &mut [u8]) -> Poll<io::Result<usize>> {
        while self.read == self.current.len() {
            let mut room = std::mem::take(&mut self.room);
            let read = self.client.poll_read(cx, &mut room);
            if let Poll::Ready(Ok(n @ 1..)) = read {
                self.take(&room[..n]);
            }
            self.room = room;
            match ready!(read) {
                Ok(0) => {
                    let held = self.ending.take().map(|mut ending| ending.rest()).unwrap_or_default();
                    if held.is_empty() {
                        return Poll::Ready(Ok(0));
                    }
                    (self.current, self.read) = (held, 0);
                }
                Ok(_) => {}
                Err(error) => return Poll::Ready(Err(error)),
            }
        }
        let taken = into.len().min(self.current.len() - self.read);
        into[..taken].copy_from_slice(&self.current[self.read..self.read + taken]);
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
