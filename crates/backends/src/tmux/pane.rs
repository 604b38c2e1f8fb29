//! A pane's streams.

use std::fmt::Write;
use std::future::Future;
use std::io;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, ready};

use ptyard_terminal::backend::{ControlError, Sink, Source};
use tokio::sync::{mpsc, watch};

use rustix::termios::LocalModes;

use super::joined::{Joined, Joining, line_discipline};
use super::link::{Follow, Link, Pieces, TmuxError};
use super::protocol::Pane;
use crate::shared::greeting::{Ending, any_word};

/// Bytes per command: tmux takes them one argument each, and parses a line at a time.
const BYTES_PER_COMMAND: usize = 1024;

/// The option of a pane that says which bytes were typed last: whoever has no answer looks there.
const TYPED: &str = "@ptyard-typed";

/// What a pane is followed by over one client: its streams, as soon as it was found.
pub(super) struct Feed {
    /// Over which: see [`Link::number`].
    pub(super) client: u64,
    /// What is shown before anything that the pane prints.
    pub(super) drawn: Vec<u8>,
    pub(super) pieces: Pieces,
    /// Listens for the end of a program that was started by us, and whom to tell of it.
    pub(super) ending: Option<(Ending, watch::Sender<Option<i32>>)>,
}

/// How many bytes of a pane's output were handed out, for its input, which has to know what came after a write. They are
/// counted from the moment on in which a client began to follow the pane.
#[derive(Debug, Clone, Default)]
pub(super) struct HandedOut(Arc<Mutex<Printed>>);

/// So many bytes, of what this client was told.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
struct Printed {
    client: u64,
    bytes: u64,
}

impl HandedOut {
    fn change(&self, change: impl FnOnce(&mut Printed)) {
        change(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner));
    }

    fn add(&self, bytes: usize) {
        self.change(|printed| printed.bytes += bytes as u64);
    }

    fn take_back(&self, bytes: usize) {
        self.change(|printed| printed.bytes -= bytes as u64);
    }

    /// How many bytes more than these. Over another client none: it was told of nothing that came before.
    fn beyond(&self, before: Printed) -> u64 {
        let now = *self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if now.client == before.client { now.bytes.saturating_sub(before.bytes) } else { 0 }
    }
}

/// Output of a pane.
pub(super) struct PaneSource {
    /// Where the pane comes from, each time that it is found. It ends when it will not be found again.
    feeds: mpsc::Receiver<Feed>,
    pieces: Option<Pieces>,
    current: Vec<u8>,
    read: usize,
    /// Whether `current` was printed, and neither drawn by us nor counted already.
    is_printed: bool,
    ending: Option<(Ending, watch::Sender<Option<i32>>)>,
    /// Of what was printed.
    handed_out: HandedOut,
}

impl PaneSource {
    /// That of a pane which is to be found.
    pub(super) fn new(feeds: mpsc::Receiver<Feed>, handed_out: HandedOut) -> Self {
        Self {
            feeds,
            pieces: None,
            current: Vec::new(),
            read: 0,
            is_printed: false,
            ending: None,
            handed_out,
        }
    }

    /// Begins with these streams, and says what is shown first.
    pub(super) fn take(&mut self, feed: Feed) -> Vec<u8> {
        let Feed { client, drawn, pieces, ending } = feed;
        (self.pieces, self.ending) = (Some(pieces), ending);
        self.handed_out.change(|printed| *printed = Printed { client, bytes: 0 });
        drawn
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

    /// The next piece, and whether it was printed and is not counted yet.
    fn poll_piece(&mut self, cx: &mut Context<'_>) -> Poll<Option<(Vec<u8>, bool)>> {
        if let Some(pieces) = &mut self.pieces {
            if let Some(piece) = ready!(pieces.poll_recv(cx)) {
                return Poll::Ready(Some((self.heard(piece), true)));
            }
            self.pieces = None;
            let held = self.ending.take().map(|(mut ending, _)| ending.rest());
            return Poll::Ready(Some((held.unwrap_or_default(), false)));
        }
        let feed = ready!(self.feeds.poll_recv(cx));
        Poll::Ready(feed.map(|feed| (self.take(feed), false)))
    }
}

impl Source for PaneSource {
    fn poll_read(&mut self, cx: &mut Context<'_>, into: &mut [u8]) -> Poll<io::Result<usize>> {
        while self.read == self.current.len() {
            let Some((piece, is_printed)) = ready!(self.poll_piece(cx)) else { return Poll::Ready(Ok(0)) };
            (self.current, self.read, self.is_printed) = (piece, 0, is_printed);
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
/// scrolling otherwise.
pub(super) async fn type_into(link: &Link, pane: Pane, bytes: &[u8]) -> Result<(), TmuxError> {
    for bytes in bytes.chunks(BYTES_PER_COMMAND) {
        typed(link, pane, bytes, None).await?;
    }
    Ok(())
}

/// One command of it. The word is in the pane's option from the moment on in which the bytes are typed.
async fn typed(link: &Link, pane: Pane, bytes: &[u8], word: Option<&str>) -> Result<Option<u64>, TmuxError> {
    let mut keys = format!("send-keys -t {pane} -H");
    for byte in bytes {
        let _infallible = write!(keys, " {byte:02x}");
    }
    // Leaves every mode, and does nothing in none. One command, one answer: what `if-shell` runs is answered too.
    let leave = (format!("copy-mode -q -t {pane}"), Follow::Nothing);
    let keys = (keys, Follow::Printed(pane));
    let Some(word) = word else {
        let [left, typed] = link.ask_at_once([leave, keys]).await;
        return left.and(typed).map(|answer| answer.printed);
    };
    let note = (format!("set-option -p -t {pane} {TYPED} {word}"), Follow::Nothing);
    let [left, noted, typed] = link.ask_at_once([leave, note, keys]).await;
    left.and(noted).and(typed).map(|answer| answer.printed)
}

/// Types as many bytes as one command takes, exactly once: when its client goes before it answers, the pane is asked
/// over the next one whether they were taken.
async fn type_once(place: &mut Joining, bytes: &[u8], word: &str) -> Result<Option<Printed>, TmuxError> {
    let gone = || TmuxError::Gone("the pane is not there any more".to_owned());
    loop {
        let joined = place.live().await.ok_or_else(gone)?;
        let Joined { link, pane, .. } = &*joined;
        match typed(link, *pane, bytes, Some(word)).await {
            Ok(bytes) => return Ok(bytes.map(|bytes| Printed { client: link.number, bytes })),
            Err(TmuxError::Gone(_)) => {}
            Err(error) => return Err(error),
        }
        // Asked until it is answered: nothing is typed again before that is known.
        let last = loop {
            let joined = place.live().await.ok_or_else(gone)?;
            match joined.link.ask(format!("show-options -p -q -v -t {pane} {TYPED}")).await {
                Err(TmuxError::Gone(_)) => {}
                answered => break answered?,
            }
        };
        if last.trim_end() == word {
            return Ok(None);
        }
    }
}

type Typing = Pin<Box<dyn Future<Output = Result<Option<Printed>, TmuxError>> + Send>>;

/// Input of a pane: one command under way at a time. A byte counts as taken when tmux took it.
pub(super) struct PaneSink {
    place: Joining,
    /// With the bytes that it types.
    under_way: Option<(Vec<u8>, Typing)>,
    at_line_start: bool,
    is_closed: bool,
    handed_out: HandedOut,
    /// What was printed when the last write was taken, as far as its client said so.
    printed: Option<Printed>,
    /// What is written down of each command, before its number.
    word: String,
    commands: u64,
}

impl PaneSink {
    pub(super) fn new(place: Joining, handed_out: HandedOut) -> Self {
        Self {
            place,
            under_way: None,
            at_line_start: true,
            is_closed: false,
            handed_out,
            printed: None,
            word: String::new(),
            commands: 0,
        }
    }

    /// Types as soon as the pane is there.
    fn typing(&mut self, bytes: Vec<u8>) -> Typing {
        if self.word.is_empty() {
            self.word = any_word().unwrap_or_default();
        }
        self.commands += 1;
        let (mut place, word) = (self.place.clone(), format!("{}-{}", self.word, self.commands));
        Box::pin(async move { type_once(&mut place, &bytes, &word).await })
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
        self.printed.map_or(0, |printed| self.handed_out.beyond(printed))
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
