//! The event socket: one subscription on one connection, read line by line.

use std::io;
use std::path::Path;

use tokio::io::AsyncWriteExt;
use tokio::net::UnixStream;

/// The one request of a connection: a second one resets it.
const SUBSCRIBE: &str = concat!(
    r#"{"id":"sub_all","method":"events.subscribe","params":{"subscriptions":["#,
    r#"{"type":"pane.updated"},{"type":"pane.closed"},{"type":"workspace.closed"}]}}"#,
    "\n"
);

/// Longest line that is read: 8 MiB. What is longer is passed over, and the panes are looked at instead.
const LINE_BYTES: usize = 8 << 20;

/// Bytes read at a time.
const ROOM: usize = 64 << 10;

/// Most reads at once, 16 MiB: whoever floods does not keep the task.
const READS: usize = 256;

/// A subscription.
#[derive(Debug)]
pub(super) struct Stream {
    socket: UnixStream,
    room: Vec<u8>,
    lines: Lines,
}

/// Whether everything was read that was there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Read {
    All,
    More,
}

/// A line, or that one was passed over.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Line {
    Whole(Vec<u8>),
    TooLong,
}

impl Stream {
    pub(super) async fn open(socket: &Path) -> io::Result<Self> {
        let mut socket = UnixStream::connect(socket).await?;
        socket.write_all(SUBSCRIBE.as_bytes()).await?;
        Ok(Self { socket, room: vec![0; ROOM], lines: Lines::default() })
    }

    /// Waits until something came or the connection ended. Cancel-safe: nothing is read.
    pub(super) async fn readable(&self) -> io::Result<()> {
        self.socket.readable().await
    }

    /// The lines that are there now.
    pub(super) fn take(&mut self) -> io::Result<(Vec<Line>, Read)> {
        let mut lines = Vec::new();
        for _ in 0..READS {
            match self.socket.try_read(&mut self.room) {
                // What came before is still to be had; the end comes again.
                Ok(0) if !lines.is_empty() => return Ok((lines, Read::All)),
                Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
                Ok(read) => self.lines.take(&self.room[..read], &mut lines),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok((lines, Read::All)),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if lines.is_empty() => return Err(error),
                Err(_) => return Ok((lines, Read::All)),
            }
        }
        Ok((lines, Read::More))
    }
}

/// Cuts what comes at line ends.
///
/// # Invariants
/// 1. At most [`LINE_BYTES`] are kept.
#[derive(Debug, Default)]
struct Lines {
    begun: Vec<u8>,
    /// The line that has begun is too long.
    passes_over: bool,
}

impl Lines {
    fn take(&mut self, bytes: &[u8], lines: &mut Vec<Line>) {
        for piece in bytes.split_inclusive(|&byte| byte == b'\n') {
            let (text, is_end) = match piece.split_last() {
                Some((b'\n', text)) => (text, true),
                _ => (piece, false),
            };
            if self.begun.len() + text.len() > LINE_BYTES {
                self.passes_over = true;
                self.begun = Vec::new();
            }
            if !self.passes_over {
                self.begun.extend_from_slice(text);
            }
            if is_end {
                let line = std::mem::take(&mut self.begun);
                lines.push(if std::mem::take(&mut self.passes_over) {
                    Line::TooLong
                } else {
                    Line::Whole(line)
                });
            }
            debug_assert!(self.begun.len() <= LINE_BYTES, "invariant 1");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(pieces: &[&[u8]]) -> Vec<Line> {
        let (mut cutter, mut lines) = (Lines::default(), Vec::new());
        pieces.iter().for_each(|piece| cutter.take(piece, &mut lines));
        lines
    }

    #[test]
    fn lines_are_whole_however_they_come() {
        let whole = |text: &str| Line::Whole(text.as_bytes().to_vec());
        assert_eq!(lines(&[b"a\nb", b"c\n\nd"]), [whole("a"), whole("bc"), whole("")]);
        let text = "x".repeat(1 << 20);
        let line = format!("{text}\n");
        let pieces: Vec<&[u8]> = line.as_bytes().chunks(1000).collect();
        assert_eq!(lines(&pieces), [whole(&text)]);
    }

    #[test]
    fn a_line_without_end_takes_no_more_room_and_what_follows_is_read() {
        let piece = vec![b'x'; 1 << 20];
        let mut pieces: Vec<&[u8]> = vec![&piece; 20];
        pieces.push(b"\nnext\n");
        assert_eq!(lines(&pieces), [Line::TooLong, Line::Whole(b"next".to_vec())]);
    }
}
