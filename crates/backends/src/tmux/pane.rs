//! A pane's streams.

use std::fmt::Write;
use std::future::Future;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll, ready};

use ptyard_terminal::backend::{ControlError, Sink, Source};
use tokio::sync::{oneshot, watch};

use rustix::termios::LocalModes;

use super::joined::{Joining, line_discipline};
use super::link::{Follow, Link, Pieces, TmuxError};
use super::protocol::Pane;
use crate::shared::greeting::Ending;

/// Bytes per command: tmux takes them one argument each, and parses a line at a time.
const BYTES_PER_COMMAND: usize = 1024;

/// What a pane is followed by: its streams, as soon as it was found.
pub(super) struct Feed {
    /// What is shown before anything that the pane prints.
    pub(super) drawn: Vec<u8>,
    pub(super) pieces: Pieces,
    /// Listens for the end of a program that was started by us, and whom to tell of it.
    pub(super) ending: Option<(Ending, watch::Sender<Option<i32>>)>,
}

/// How many bytes of a pane's output were handed out, for its input, which has to know what came after a write.
#[derive(Debug, Clone, Default)]
pub(super) struct HandedOut(Arc<AtomicU64>);

impl HandedOut {
    fn add(&self, bytes: usize) {
        self.0.fetch_add(bytes as u64, Ordering::Relaxed);
    }

    fn take_back(&self, bytes: usize) {
        self.0.fetch_sub(bytes as u64, Ordering::Relaxed);
    }

    fn now(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

/// Output of a pane.
pub(super) struct PaneSource {
    /// Where the pane comes from that is still being looked for.
    awaited: Option<oneshot::Receiver<Feed>>,
    pieces: Option<Pieces>,
    current: Vec<u8>,
    read: usize,
    /// Whether `current` was printed, and not drawn by us.
    is_printed: bool,
    ending: Option<(Ending, watch::Sender<Option<i32>>)>,
    /// Of what was printed.
    handed_out: HandedOut,
}

impl PaneSource {
    pub(super) fn new(feed: Feed, handed_out: HandedOut) -> Self {
        let Feed { drawn, pieces, ending } = feed;
        Self {
            awaited: None,
            pieces: Some(pieces),
            current: drawn,
            read: 0,
            is_printed: false,
            ending,
            handed_out,
        }
    }

    /// That of a pane which is still being looked for.
    pub(super) fn awaited(feed: oneshot::Receiver<Feed>, handed_out: HandedOut) -> Self {
        Self {
            awaited: Some(feed),
            pieces: None,
            current: Vec::new(),
            read: 0,
            is_printed: false,
            ending: None,
            handed_out,
        }
    }

    /// What of this is output. The rest is done with.
    fn heard(&mut self, bytes: Vec<u8>) -> Vec<u8> {
        let printed = bytes.len();
        let output = self.without_ending(bytes);
        self.handed_out.add(printed.saturating_sub(output.len()));
        output
    }

    fn without_ending(&mut self, bytes: Vec<u8>) -> Vec<u8> {
        let Some((ending, told)) = &mut self.ending else { return bytes };
        let mut output = Vec::with_capacity(bytes.len());
        if let Some(code) = ending.hear(&bytes, &mut output) {
            told.send_replace(Some(code));
        }
        output
    }

    /// The next piece, for whoever looks at it before the program's output begins.
    pub(super) async fn piece(&mut self) -> Option<Vec<u8>> {
        debug_assert_eq!(self.read, self.current.len(), "nothing was put back");
        let piece = self.pieces.as_mut()?.recv().await?;
        self.handed_out.add(piece.len());
        Some(piece)
    }

    /// The end of the last piece, which comes before all that was not read.
    pub(super) fn put_back(&mut self, bytes: Vec<u8>) {
        debug_assert_eq!(self.read, self.current.len(), "one piece at a time");
        self.handed_out.take_back(bytes.len());
        (self.current, self.read, self.is_printed) = (self.heard(bytes), 0, true);
    }

    fn poll_piece(&mut self, cx: &mut Context<'_>) -> Poll<Option<Vec<u8>>> {
        if let Some(feed) = &mut self.awaited {
            // An error: it was not found, so there is nothing to come.
            let feed = ready!(Pin::new(feed).poll(cx));
            self.awaited = None;
            if let Ok(feed) = feed {
                *self = Self::new(feed, self.handed_out.clone());
                return Poll::Ready(Some(Vec::new()));
            }
        }
        let Some(pieces) = &mut self.pieces else { return Poll::Ready(None) };
        let piece = ready!(pieces.poll_recv(cx));
        Poll::Ready(piece.map(|piece| self.heard(piece)))
    }
}

impl Source for PaneSource {
    fn poll_read(&mut self, cx: &mut Context<'_>, into: &mut [u8]) -> Poll<io::Result<usize>> {
        while self.read == self.current.len() {
            match ready!(self.poll_piece(cx)) {
                // What was drawn when the pane was found stands there already.
                Some(piece) if piece.is_empty() => {}
                Some(piece) => (self.current, self.read, self.is_printed) = (piece, 0, true),
                None => {
                    let held = self.ending.take().map(|(mut ending, _)| ending.rest()).unwrap_or_default();
                    if held.is_empty() {
                        return Poll::Ready(Ok(0));
                    }
                    (self.current, self.read) = (held, 0);
                }
            }
        }
        let taken = into.len().min(self.current.len() - self.read);
        into[..taken].copy_from_slice(&self.current[self.read..self.read + taken]);
        self.read += taken;
        if self.is_printed {
            self.handed_out.add(taken);
        }
        Poll::Ready(Ok(taken))
    }
}

/// Types bytes into a pane, as they are. A person who scrolls back in it is brought to its end: keys would go to the
/// scrolling otherwise. How much the pane had printed when the last byte was taken; `None` when nobody follows it.
pub(super) async fn type_into(link: &Link, pane: Pane, bytes: &[u8]) -> Result<Option<u64>, TmuxError> {
    let mut printed = None;
    for bytes in bytes.chunks(BYTES_PER_COMMAND) {
        let mut command = format!("send-keys -t {pane} -H");
        for byte in bytes {
            let _infallible = write!(command, " {byte:02x}");
        }
        // Leaves every mode, and does nothing in none. One command, one answer: what `if-shell` runs is answered too.
        let leave = (format!("copy-mode -q -t {pane}"), Follow::Nothing);
        let [left, typed] = link.ask_at_once([leave, (command, Follow::Printed(pane))]).await;
        left?;
        printed = typed?.printed;
    }
    Ok(printed)
}

type Typing = Pin<Box<dyn Future<Output = Result<Option<u64>, TmuxError>> + Send>>;

/// Input of a pane: one command under way at a time. A byte counts as taken when tmux took it.
pub(super) struct PaneSink {
    place: Joining,
    /// With the bytes that it types.
    under_way: Option<(Vec<u8>, Typing)>,
    at_line_start: bool,
    is_closed: bool,
    handed_out: HandedOut,
    /// Bytes that were printed when the last write was taken.
    printed: Option<u64>,
}

impl PaneSink {
    pub(super) fn new(place: Joining, handed_out: HandedOut) -> Self {
        Self { place, under_way: None, at_line_start: true, is_closed: false, handed_out, printed: None }
    }

    /// Types as soon as the pane is there.
    fn typing(&self, bytes: Vec<u8>) -> Typing {
        let mut place = self.place.clone();
        Box::pin(async move {
            let joined =
                place.joined().await.ok_or_else(|| TmuxError::Gone("the pane is not there".to_owned()))?;
            type_into(&joined.link, joined.pane, &bytes).await
        })
    }
}

impl Sink for PaneSink {
    fn poll_write(&mut self, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        loop {
            let (these, mut typing) = self.under_way.take().unwrap_or_else(|| {
                let these = bytes[..bytes.len().min(BYTES_PER_COMMAND)].to_vec();
                (these.clone(), self.typing(these))
            });
            let Poll::Ready(typed) = typing.as_mut().poll(cx) else {
                self.under_way = Some((these, typing));
                return Poll::Pending;
            };
            let Ok(printed) = typed else { return Poll::Ready(Err(io::ErrorKind::BrokenPipe.into())) };
            self.printed = printed;
            if let Some(last) = these.last() {
                self.at_line_start = matches!(last, b'\n' | b'\r');
            }
            // Somebody gave up what was under way; it was typed, and these are others.
            if bytes.starts_with(&these) {
                return Poll::Ready(Ok(these.len()));
            }
        }
    }

    fn is_under_way(&self) -> bool {
        self.under_way.is_some()
    }

    fn run_ahead(&self) -> u64 {
        self.printed.map_or(0, |printed| self.handed_out.now().saturating_sub(printed))
    }

    fn poll_close(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), ControlError>> {
        if self.under_way.is_none() && !self.is_closed {
            let tty = self.place.now().and_then(|joined| line_discipline(&joined.tty));
            if tty.is_some_and(|modes| !modes.local_modes.contains(LocalModes::ICANON)) {
                return Poll::Ready(Err(ControlError::RawMode));
            }
            let ends: &[u8] = if self.at_line_start { &[4] } else { &[4, 4] };
            self.is_closed = true;
            self.under_way = Some((ends.to_vec(), self.typing(ends.to_vec())));
        }
        if let Some((_, typing)) = &mut self.under_way {
            let _gone = ready!(typing.as_mut().poll(cx));
            self.under_way = None;
        }
        Poll::Ready(Ok(()))
    }
}
