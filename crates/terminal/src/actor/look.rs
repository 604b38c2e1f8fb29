//! The screen on demand: made when somebody looks or a query needs the cursor, fed from the log, dropped when idle.

use std::task::Context;
use std::time::Duration;

use ptyard_core::{Moment, Size};
use ptyard_screen::catch_up::{Pen, skip_point};
use ptyard_screen::{Cursor, DEFAULT_SCROLLBACK_LINES, Scanner, Screen, View, new_screen};
use tokio::sync::oneshot;

use super::{Actor, Look};
use crate::backend::Io;
use crate::log::{LogError, LogReader};

/// Bytes fed in one turn, about 3 ms of emulation, before output and commands get their turn again.
const BYTES_PER_TURN: u64 = 256 * 1024;

/// How far a live screen may lag behind the log before it is fed although nobody looks: about 45 ms of emulation, so
/// that the next look is answered at once.
const LAG_BYTES: u64 = 4 * 1024 * 1024;

/// From this lag on it is tried to skip a run of plain output: below, feeding costs less than finding the place.
const SKIP_BYTES: u64 = 512 * 1024;

/// A screen nobody looked at for this long is dropped; the next look rebuilds it from the log.
const IDLE: Duration = Duration::from_secs(30);

/// Most bytes fed to build a screen from the log, about a third of a second. Of more, the last of these are fed.
const REBUILD_BYTES: u64 = 32 * 1024 * 1024;

/// A screen and how far it has come.
///
/// # Invariants
/// 1. The screen shows exactly what emulating the log from `since` to `at` shows, at the sizes the tty had.
struct Live {
    screen: Box<dyn Screen>,
    at: u64,
    since: u64,
    sizes_applied: usize,
    newlines: Newlines,
    last_look: Moment,
    buffer: Vec<u8>,
}

/// What the side parser knows about the end of the log.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Run {
    /// See [`Scanner::plain_since`].
    pub plain_since: u64,
    /// See [`Scanner::pen_since`].
    pub pen_since: u64,
}

impl From<&Scanner> for Run {
    fn from(scanner: &Scanner) -> Self {
        Self { plain_since: scanner.plain_since(), pen_since: scanner.pen_since() }
    }
}

/// Who turns a line feed into a new line.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Newlines {
    /// The tty did.
    Tty,
    /// Nobody: a program on a pipe. A screen does it then, as a tty would have.
    Screen,
}

/// The looks that wait, and the screen they wait for.
#[derive(Default)]
pub(super) struct Looks {
    live: Option<Live>,
    waiting: Vec<Waiting>,
}

struct Waiting {
    scrollback: usize,
    /// The end of the log when it was asked for: a flood cannot put the answer off.
    target: Option<u64>,
    reply: oneshot::Sender<Look>,
}

impl Looks {
    pub(super) fn ask(&mut self, scrollback: usize, reply: oneshot::Sender<Look>) {
        self.waiting.push(Waiting { scrollback, target: None, reply });
    }

    pub(super) fn is_idle(&self) -> bool {
        self.waiting.is_empty()
    }

    /// When a synchronized update that is going on is shown unfinished.
    pub(super) fn held_until(&self) -> Option<Moment> {
        self.live.as_ref().and_then(|live| live.screen.deadline())
    }

    pub(super) fn deadline(&self) -> Option<Moment> {
        self.live.as_ref().map(|live| live.last_look + IDLE)
    }
}

impl Actor {
    /// Feeds the screen a turn's share and answers the looks it has caught up with.
    pub(super) fn poll_looks(&mut self, cx: &mut Context<'_>, now: Moment) {
        self.looks.waiting.retain(|waiting| !waiting.reply.is_closed());
        if self.looks.waiting.is_empty() {
            match &self.looks.live {
                Some(live) if now >= live.last_look + IDLE => self.looks.live = None,
                Some(live) if self.now.end - live.at > LAG_BYTES => self.feed(cx, self.now.end, now),
                _ => {}
            }
            return;
        }
        let end = self.now.end;
        let mut target = 0;
        for waiting in &mut self.looks.waiting {
            target = target.max(*waiting.target.get_or_insert(end));
        }
        self.feed(cx, target, now);
        let Some(live) = &mut self.looks.live else { return };
        live.last_look = now;
        let at = live.at;
        for waiting in
            self.looks.waiting.extract_if(.., |waiting| waiting.target.is_some_and(|target| target <= at))
        {
            let _gone = waiting.reply.send(live.look(waiting.scrollback, now));
        }
    }

    fn feed(&mut self, cx: &mut Context<'_>, target: u64, now: Moment) {
        let run = Run::from(&self.scanner);
        let live = self.looks.live.get_or_insert_with(|| Live::start(self.io, &self.reader, run, now));
        let sizes = self.observed.lock().sizes.clone();
        if let Err(error) = live.feed(&self.reader, &sizes, target, BYTES_PER_TURN, run, now) {
            tracing::warn!(%error, "the screen could not be fed from the log");
            live.at = target;
        }
        if live.at < target {
            cx.waker().wake_by_ref();
        }
    }

    /// The screen at the end of the log, and the offset it shows; `None` when the log cannot be read.
    pub(super) fn view_now(&mut self, now: Moment) -> Option<(View, u64)> {
        let (run, end) = (Run::from(&self.scanner), self.now.end);
        let live = self.looks.live.get_or_insert_with(|| Live::start(self.io, &self.reader, run, now));
        live.last_look = now;
        let sizes = self.observed.lock().sizes.clone();
        live.feed(&self.reader, &sizes, end, u64::MAX, run, now).ok()?;
        let Look { view, offset, .. } = live.look(0, now);
        Some((view, offset))
    }

    /// The cursor after the byte before `at`, or where it is now when the screen is already further.
    pub(super) fn cursor_at(&mut self, at: u64, now: Moment) -> Option<Cursor> {
        let run = Run::from(&self.scanner);
        let live = self.looks.live.get_or_insert_with(|| Live::start(self.io, &self.reader, run, now));
        live.last_look = now;
        let sizes = self.observed.lock().sizes.clone();
        live.feed(&self.reader, &sizes, at, u64::MAX, run, now).ok()?;
        Some(live.screen.cursor())
    }
}

impl Live {
    fn start(io: Io, reader: &LogReader, run: Run, now: Moment) -> Self {
        let bounds = reader.bounds();
        let plain_since = run.plain_since.clamp(bounds.start, bounds.end);
        let since = bounds.start.max(plain_since.saturating_sub(REBUILD_BYTES));
        let newlines = if matches!(io, Io::Tty(_)) { Newlines::Tty } else { Newlines::Screen };
        Self {
            screen: new_screen(io.size(), DEFAULT_SCROLLBACK_LINES),
            at: since,
            since,
            sizes_applied: 0,
            newlines,
            last_look: now,
            buffer: Vec::new(),
        }
    }

    /// Feeds at most `budget` bytes towards `target`, applying the sizes at their offsets.
    fn feed(
        &mut self,
        reader: &LogReader,
        sizes: &[(u64, Size)],
        target: u64,
        budget: u64,
        run: Run,
        now: Moment,
    ) -> Result<(), LogError> {
        let mut left = budget;
        loop {
            while let Some((from, size)) = sizes.get(self.sizes_applied).filter(|(from, _)| *from <= self.at)
            {
                debug_assert!(*from <= self.at);
                self.screen.resize(*size);
                self.sizes_applied += 1;
            }
            let until = sizes.get(self.sizes_applied).map_or(target, |(from, _)| target.min(*from));
            if self.at >= until || left == 0 {
                return Ok(());
            }
            if until == target && run.plain_since <= self.at && target - self.at >= SKIP_BYTES {
                self.skip(reader, target, run)?;
            }
            let want = (until - self.at).min(left).min(64 * 1024);
            self.buffer.clear();
            let read = reader.read(self.at, want as usize, &mut self.buffer)?;
            if self.buffer.is_empty() {
                return Ok(());
            }
            if read.evicted > 0 {
                self.since = read.from;
            }
            self.at = read.from + self.buffer.len() as u64;
            left = left.saturating_sub(self.buffer.len() as u64);
            match self.newlines {
                Newlines::Tty => self.screen.feed(&self.buffer, now),
                Newlines::Screen => self.screen.feed(&with_carriage_returns(&self.buffer), now),
            }
        }
    }

    /// Jumps over a run of plain output when the last lines of it alone decide what the screen shows.
    fn skip(&mut self, reader: &LogReader, target: u64, run: Run) -> Result<(), LogError> {
        if self.newlines == Newlines::Screen || !self.screen.can_skip() {
            return Ok(());
        }
        let from = target - SKIP_BYTES;
        self.buffer.clear();
        while (self.buffer.len() as u64) < SKIP_BYTES {
            let at = from + self.buffer.len() as u64;
            let before = self.buffer.len();
            let read = reader.read(at, (target - at) as usize, &mut self.buffer)?;
            if read.evicted > 0 || self.buffer.len() == before {
                return Ok(());
            }
        }
        let pen = if run.pen_since <= self.at { Pen::Unchanged } else { Pen::Unknown };
        if let Some(point) =
            skip_point(&self.buffer, self.screen.size().rows(), DEFAULT_SCROLLBACK_LINES, pen)
        {
            self.at = from + point as u64;
        }
        Ok(())
    }

    fn look(&mut self, scrollback: usize, now: Moment) -> Look {
        let view = self.screen.view(scrollback, now);
        Look { view, offset: self.at - self.screen.held() as u64, since: self.since }
    }
}

fn with_carriage_returns(bytes: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(bytes.len() + bytes.len() / 32);
    for piece in bytes.split_inclusive(|byte| *byte == b'\n') {
        match piece.split_last() {
            Some((b'\n', text)) => {
                out.extend_from_slice(text);
                out.extend_from_slice(b"\r\n");
            }
            _ => out.extend_from_slice(piece),
        }
    }
    out
}

/// The screen of a terminal whose actor has finished, built from its log. Blocks for up to a third of a second.
pub(crate) fn rebuild(
    io: Io,
    reader: &LogReader,
    sizes: &[(u64, Size)],
    run: Run,
    scrollback: usize,
    now: Moment,
) -> Result<Look, LogError> {
    let mut live = Live::start(io, reader, run, now);
    live.feed(reader, sizes, reader.bounds().end, u64::MAX, run, now)?;
    Ok(live.look(scrollback, now))
}
