//! The handle of a terminal.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use ptyard_core::turn::StatusReport;
use ptyard_core::{ErrorCode, Exit, Limit, Size, TerminalId};
use ptyard_screen::Modes;
use tokio::sync::{Semaphore, mpsc, oneshot, watch};

use crate::actor::{
    self, Command, Killed, KilledBy, Look, Parts, Past, Place, Run, TimeLimits, Typed, Watched, Written,
};
use crate::backend::{
    Backend, ControlError, Earlier, Io, Removal, Signal, StartError, StartSpec, Started, Stdin, Target,
    TtyState,
};
use crate::clock::Clock;
use crate::cursor::SharedCursor;
use crate::log::{self, LogConfig, LogError, LogReader, LogWriter};
use crate::observed::{Observer, SharedObserved};
use crate::pause::Pauses;
use crate::progress::{Progress, Sealed};
use crate::sizes;

/// A terminal: one program, its log, its input queue and its life. Clones share it.
///
/// When the last clone is dropped, the program's whole tree is ended. Callers hold nothing but messages to the actor
/// and cursors of the log: dropping any future of this type cancels the wait and nothing else.
#[derive(Clone)]
pub struct Terminal {
    pub(crate) inner: Arc<Inner>,
}

pub(crate) struct Inner {
    pub(crate) id: TerminalId,
    pub(crate) io: Io,
    pub(crate) pid: Option<u32>,
    unheld: Vec<(Limit, String)>,
    removal: Removal,
    pub(crate) clock: Clock,
    pub(crate) log: LogReader,
    pub(crate) progress: watch::Receiver<Progress>,
    pub(crate) milestones: watch::Receiver<Progress>,
    pub(crate) commands: mpsc::Sender<Command>,
    /// Places in the input queue.
    input_places: Arc<Semaphore>,
    pub(crate) cursor: SharedCursor,
    pub(crate) observed: Arc<SharedObserved>,
    pub(crate) pauses: Pauses,
    pub(crate) status: watch::Receiver<Option<StatusReport>>,
}

/// Why a terminal could not be started or asked.
#[derive(Debug, thiserror::Error)]
pub enum TerminalError {
    /// The program did not start.
    #[error(transparent)]
    Start(#[from] StartError),
    /// The log could not be made or read.
    #[error(transparent)]
    Log(#[from] LogError),
    /// The control did nothing.
    #[error(transparent)]
    Control(#[from] ControlError),
    /// It has no stdin.
    #[error("stdin is not available for this program")]
    NoStdin,
    /// Nothing was typed: the line discipline, in line mode, would drop the end of a line of this many bytes.
    #[error("a line of {0} bytes is longer than a tty in line mode takes")]
    LineTooLong(usize),
}

impl TerminalError {
    /// The stable code.
    #[must_use]
    pub fn code(&self) -> ErrorCode {
        match self {
            Self::Start(error) => error.code,
            Self::Log(error) => error.code(),
            Self::Control(error) => error.code(),
            Self::NoStdin => ErrorCode::NoStdin,
            Self::LineTooLong(_) => ErrorCode::InvalidArgument,
        }
    }
}

/// What a terminal is started with, beside the program itself.
pub struct Surroundings {
    /// The clock.
    pub clock: Clock,
    /// Limits of the log.
    pub log: LogConfig,
    /// Who is told what happens.
    pub observer: Arc<dyn Observer>,
    /// When the program has had its time.
    pub limits: TimeLimits,
    /// Pause points for tests.
    pub pauses: Pauses,
}

/// What is known of a terminal of an earlier server, beside its log.
#[derive(Debug, Clone, Copy)]
pub struct Resumed<'a> {
    /// Its streams, with the size it was started with.
    pub io: Io,
    /// The directory of its log.
    pub directory: &'a Path,
    /// Where its shared cursor stood.
    pub position: u64,
}

impl Terminal {
    /// Starts the program and its actor.
    ///
    /// The log comes first: a program that cannot be recorded is not started.
    pub async fn start(
        backend: &dyn Backend,
        spec: StartSpec,
        log: LogWriter,
        surroundings: Surroundings,
    ) -> Result<Self, TerminalError> {
        let (id, io) = (spec.id, spec.io);
        let started = backend.start(spec).await?;
        let sizes = vec![(0, io.size())];
        Ok(Self::run(id, io, started, log, sizes, SharedCursor::default(), Past::None, surroundings))
    }

    /// Goes on with a program that an earlier server started, from its log as it is. Blocks for some milliseconds when
    /// the log is long.
    pub fn resume(
        earlier: Earlier,
        log: LogWriter,
        resumed: Resumed<'_>,
        surroundings: Surroundings,
    ) -> Self {
        let Earlier { id, started, unseen_from } = earlier;
        let Resumed { io, directory, position } = resumed;
        let io = match io {
            Io::Tty(size) => Io::Tty(size),
            Io::Pipes(_) if started.sink.is_some() => Io::Pipes(Stdin::Pipe),
            Io::Pipes(_) => Io::Pipes(Stdin::Null),
        };
        let sizes = sizes::of(directory, io.size());
        let cursor = SharedCursor::at(position.min(log.end()));
        Self::run(id, io, started, log, sizes, cursor, Past::Earlier { unseen_from }, surroundings)
    }

    #[expect(clippy::too_many_arguments, reason = "all that a terminal is made of, in one place")]
    fn run(
        id: TerminalId,
        io: Io,
        mut started: Started,
        log: LogWriter,
        sizes: Vec<(u64, Size)>,
        cursor: SharedCursor,
        past: Past,
        surroundings: Surroundings,
    ) -> Self {
        let (reader, pid) = (log.reader(), started.pid);
        let unheld = std::mem::take(&mut started.unheld);
        let removal = started.control.removal();
        let observed = Arc::new(SharedObserved::default());
        observed.lock().sizes = sizes;
        let Watched { commands, progress, milestones, status } = actor::spawn(Parts {
            clock: surroundings.clock,
            io,
            started,
            log,
            reader: reader.clone(),
            observed: Arc::clone(&observed),
            observer: surroundings.observer,
            limits: surroundings.limits,
            past,
        });
        let inner = Inner {
            id,
            io,
            pid,
            unheld,
            removal,
            clock: surroundings.clock,
            log: reader,
            progress,
            milestones,
            commands,
            input_places: Arc::new(Semaphore::new(actor::QUEUE_JOBS)),
            cursor,
            observed,
            pauses: surroundings.pauses,
            status,
        };
        Self { inner: Arc::new(inner) }
    }

    /// A terminal of an earlier server, to be read: it has ended, with cause `lost` unless its end was written down.
    pub fn past(id: TerminalId, resumed: Resumed<'_>, clock: Clock) -> Result<Self, TerminalError> {
        let Resumed { io, directory, position } = resumed;
        let found = log::recover(directory)?;
        let noted = found
            .seal
            .map(|seal| (serde_json::from_str(&seal.note).unwrap_or_else(|_| Exit::lost()), seal.at));
        let (exit, sealed_end) = noted.unwrap_or_else(|| (Exit::lost(), found.end));
        let sizes = sizes::of(directory, io.size());
        let size = sizes.last().map_or(io.size(), |(_, size)| *size);
        let now = clock.now();
        let sealed = Some(Sealed { exit, end: sealed_end, at: now });
        let (_, progress) = watch::channel(Progress { end: found.end, sealed, ..Progress::start(size) });
        let observed = SharedObserved::default();
        {
            let mut observed = observed.lock();
            observed.sizes = sizes;
            // Nobody has scanned the log, so nothing in it is known to be plain.
            observed.run = Run { plain_since: found.end, pen_since: found.end };
        }
        let inner = Inner {
            id,
            io,
            pid: None,
            unheld: Vec::new(),
            removal: Removal::Ends,
            clock,
            log: found.reader,
            milestones: progress.clone(),
            progress,
            commands: mpsc::channel(1).0,
            input_places: Arc::new(Semaphore::new(actor::QUEUE_JOBS)),
            cursor: SharedCursor::at(position.min(found.end)),
            observed: Arc::new(observed),
            pauses: Pauses::default(),
            status: watch::channel(None).1,
        };
        Ok(Self { inner: Arc::new(inner) })
    }

    /// Its id.
    #[must_use]
    pub fn id(&self) -> TerminalId {
        self.inner.id
    }

    /// Its streams, with the size it was started with.
    #[must_use]
    pub fn io(&self) -> Io {
        self.inner.io
    }

    /// The process id on its backend.
    #[must_use]
    pub fn pid(&self) -> Option<u32> {
        self.inner.pid
    }

    /// The ceilings that it was started without, each with the reason.
    #[must_use]
    pub fn unheld(&self) -> &[(Limit, String)] {
        &self.inner.unheld
    }

    /// What becomes of the program when this is removed.
    #[must_use]
    pub fn removal(&self) -> Removal {
        self.inner.removal
    }

    /// Its log.
    #[must_use]
    pub fn log(&self) -> &LogReader {
        &self.inner.log
    }

    /// The cursor its windows share.
    #[must_use]
    pub fn cursor(&self) -> &SharedCursor {
        &self.inner.cursor
    }

    /// A watch of how far it is.
    #[must_use]
    pub fn progress(&self) -> watch::Receiver<Progress> {
        self.inner.progress.clone()
    }

    /// What its output said about itself.
    #[must_use]
    pub fn observed(&self) -> &SharedObserved {
        &self.inner.observed
    }

    /// How it ended, once that was reported.
    #[must_use]
    pub fn exit(&self) -> Option<Exit> {
        self.inner.progress.borrow().sealed.as_ref().map(|sealed| sealed.exit.clone())
    }

    /// Types; resolves when everything was taken, or with what was taken when the input ended.
    ///
    /// Dropped, the write is taken back: what the program took stays taken, the rest is never typed.
    pub async fn type_in(&self, typed: Typed) -> Result<Written, TerminalError> {
        self.type_until(typed, None).await
    }

    /// Types until `deadline`; then the rest is taken back.
    pub async fn type_until(
        &self,
        typed: Typed,
        deadline: Option<ptyard_core::Moment>,
    ) -> Result<Written, TerminalError> {
        if self.inner.io == Io::Pipes(Stdin::Null) {
            return Err(TerminalError::NoStdin);
        }
        let place = tokio::select! {
            biased;
            place = self.input_place() => place,
            () = self.inner.clock.sleep_until(deadline) => {
                let mark = self.inner.progress.borrow().end;
                return Ok(Written { taken: 0, taken_back: typed.bytes.len(), mark, input_ended: false });
            }
        };
        let (cancel, cancelled) = oneshot::channel();
        let (reply, mut answer) = oneshot::channel();
        self.command(Command::Type { typed, cancelled, reply, place }).await?;
        let in_time = tokio::select! {
            biased;
            written = &mut answer => Some(written),
            () = self.inner.clock.sleep_until(deadline) => None,
        };
        let written = match in_time {
            Some(written) => written,
            None => {
                // If the answer is on its way already, nobody listens, and that is well.
                let _answered = cancel.send(());
                answer.await
            }
        };
        let written = written.map_err(|_gone| ControlError::Exited)?;
        written.map_err(|refused| TerminalError::LineTooLong(refused.bytes))
    }

    /// Ends the input, behind everything typed before.
    pub async fn close_stdin(&self) -> Result<(), TerminalError> {
        if self.inner.io == Io::Pipes(Stdin::Null) {
            return Err(TerminalError::NoStdin);
        }
        let place = self.input_place().await;
        self.ask(|reply| Command::CloseStdin { reply, place }).await?.map_err(Into::into)
    }

    /// A place in the input queue; waits for one, first come first served.
    async fn input_place(&self) -> Place {
        let places = Arc::clone(&self.inner.input_places);
        places.acquire_owned().await.expect("invariant: the places are never closed")
    }

    /// Changes the size.
    pub async fn resize(&self, size: Size) -> Result<(), TerminalError> {
        self.ask(|reply| Command::Resize { size, reply }).await?.map_err(Into::into)
    }

    /// Sends a signal.
    pub async fn signal(&self, signal: Signal, target: Target) -> Result<(), TerminalError> {
        self.ask(|reply| Command::Signal { signal, target, reply }).await?.map_err(Into::into)
    }

    /// Ends the program and its whole tree, and waits for its end to be reported. The kill goes on when this is dropped.
    pub async fn kill(&self, grace: Duration, by: KilledBy) -> Killed {
        match self.ask(|reply| Command::Kill { grace, by, reply }).await {
            Ok(killed) => killed,
            Err(_ended) => Killed { report: crate::backend::KillReport::default(), exit: self.exit() },
        }
    }

    /// The line discipline now.
    pub async fn tty_state(&self) -> Result<Option<TtyState>, TerminalError> {
        self.ask(|reply| Command::TtyState { reply }).await
    }

    /// The modes the program set.
    pub async fn modes(&self) -> Result<Modes, TerminalError> {
        self.ask(|reply| Command::Modes { reply }).await
    }

    /// What a person would see now, with up to `scrollback` lines of history.
    pub async fn look(&self, scrollback: usize) -> Result<Look, TerminalError> {
        if let Ok(look) = self.ask(|reply| Command::Look { scrollback, reply }).await {
            return Ok(look);
        }
        let (inner, now) = (Arc::clone(&self.inner), self.inner.clock.now());
        let rebuilt = tokio::task::spawn_blocking(move || {
            let observed = inner.observed.lock().clone();
            actor::rebuild(inner.io, &inner.log, &observed.sizes, observed.run, scrollback, now)
        });
        match rebuilt.await {
            Ok(look) => Ok(look?),
            Err(panic) => std::panic::resume_unwind(panic.into_panic()),
        }
    }

    /// Ends the program, if it runs and is ours to end, and the actor; resolves when both are gone and their descriptors closed.
    pub async fn close(&self) {
        let mut progress = self.progress();
        let _ended = self.inner.commands.send(Command::Close).await;
        // The actor owns the sending half: an error means that it and its descriptors are gone.
        while progress.changed().await.is_ok() {}
    }

    pub(crate) async fn command(&self, command: Command) -> Result<(), TerminalError> {
        self.inner.commands.send(command).await.map_err(|_| ControlError::Exited.into())
    }

    pub(crate) async fn ask<T>(
        &self,
        command: impl FnOnce(oneshot::Sender<T>) -> Command,
    ) -> Result<T, TerminalError> {
        let (reply, answer) = oneshot::channel();
        self.command(command(reply)).await?;
        answer.await.map_err(|_| ControlError::Exited.into())
    }
}
