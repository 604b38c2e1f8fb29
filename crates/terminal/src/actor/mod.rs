//! The actor: one task owns one terminal.
//!
//! Everything that must be ordered is ordered because this task does it: reading output into the log, typing, answering
//! queries, changing the size, ending. One *turn* of the actor is one synchronous step over everything that is ready;
//! between two turns the task sleeps until a descriptor, a command or a deadline wakes it.

mod answer;
mod command;
mod dispatch;
mod ending;
mod input;
mod limits;
mod line;
mod look;
mod mail;
mod obey;
mod output;
mod resume;
mod typing;

use std::collections::VecDeque;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use ptyard_core::Moment;
use ptyard_core::end::EndRule;
use ptyard_core::turn::{Evidence, StatusReport};
use ptyard_screen::Scanner;
use tokio::sync::{mpsc, oneshot, watch};
use tokio::time::Sleep;

use self::answer::{Answers, Asker};
pub(crate) use self::command::Command;
pub use self::command::{Killed, KilledBy, Look};
use self::dispatch::Attended;
use self::input::InputQueue;
pub(crate) use self::input::{Place, QUEUE_JOBS};
use self::limits::LimitWatch;
pub use self::limits::TimeLimits;
use self::look::Looks;
pub use self::look::Run;
pub(crate) use self::look::rebuild;
pub use self::typing::{Typed, Written};
use crate::backend::{BoxFuture, Control, Io, KillReport, Questions, Sink, Source, Started};
use crate::clock::Clock;
use crate::log::{LogReader, LogWriter};
use crate::observed::{Observer, SharedObserved};
use crate::progress::Progress;

/// The actor's state.
///
/// # Invariants
/// 1. `progress.end` never exceeds the log's published end, and equals it after every turn.
/// 2. Exactly one end is reported: `progress.sealed` goes from `None` to `Some` once and never changes.
/// 3. After the source has closed it is never read again.
pub(crate) struct Actor {
    clock: Clock,
    io: Io,
    source: Option<Box<dyn Source>>,
    sink: Option<Box<dyn Sink>>,
    control: Box<dyn Control>,
    log: LogWriter,
    reader: LogReader,
    commands: mpsc::Receiver<Command>,
    /// All handles are gone, or [`Command::Close`] came: end the program and finish.
    closing: bool,
    queue: InputQueue,
    end: EndRule,
    /// When the end rule wants to look again.
    end_look: Option<Moment>,
    kills: Vec<(BoxFuture<'static, KillReport>, Option<oneshot::Sender<Killed>>)>,
    /// Kill replies that wait for the end to be reported.
    killed: VecDeque<(KillReport, oneshot::Sender<Killed>)>,
    killed_by: Option<KilledBy>,
    signalled: Option<i32>,
    scanner: Scanner,
    /// The request for bracketed paste that was seen last, by its offset, and the group in the foreground then.
    paste_asked: (u64, Option<u32>),
    answers: Answers,
    questions: Questions,
    looks: Looks,
    limits: LimitWatch,
    /// When a log that could not be written is tried again.
    held_back: Option<Moment>,
    /// Scratch: what the side parser saw in one read.
    signals: Vec<ptyard_screen::Signal>,
    progress: watch::Sender<Progress>,
    /// The same, but only told at milestones: for windows that need not wake at every chunk of a flood.
    milestones: watch::Sender<Progress>,
    /// The same as in `progress`, changed during a turn and published at its end.
    now: Progress,
    observed: Arc<SharedObserved>,
    observer: Arc<dyn Observer>,
    /// The agent that runs here, if one does.
    attended: Option<Attended>,
    /// The last that the place said of it.
    place_said: Option<Evidence>,
    status: watch::Sender<Option<StatusReport>>,
    timer: Option<(Moment, Pin<Box<Sleep>>)>,
}

/// What an actor is made of.
pub(crate) struct Parts {
    pub(crate) clock: Clock,
    pub(crate) io: Io,
    pub(crate) started: Started,
    pub(crate) log: LogWriter,
    pub(crate) reader: LogReader,
    pub(crate) observed: Arc<SharedObserved>,
    pub(crate) observer: Arc<dyn Observer>,
    pub(crate) limits: TimeLimits,
    pub(crate) past: Past,
}

/// What there was before the actor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Past {
    /// Nothing.
    None,
    /// Another server's actor. Output from `unseen_from` on was written when there was none.
    Earlier { unseen_from: Option<u64> },
}

/// An actor as its handle sees it.
pub(crate) struct Watched {
    pub(crate) commands: mpsc::Sender<Command>,
    pub(crate) progress: watch::Receiver<Progress>,
    pub(crate) milestones: watch::Receiver<Progress>,
    pub(crate) status: watch::Receiver<Option<StatusReport>>,
}

/// Starts the task of a terminal. The sizes it had so far stand in `observed`.
pub(crate) fn spawn(parts: Parts) -> Watched {
    let size = parts.observed.lock().sizes.last().map_or(parts.io.size(), |(_, size)| *size);
    let (commands, receiver) = mpsc::channel(command::COMMANDS);
    let now = Progress::start(size);
    let (progress, watched_progress) = watch::channel(now.clone());
    let (milestones, watched_milestones) = watch::channel(now.clone());
    let (status, watched_status) = watch::channel(None);
    let mut actor = Actor {
        clock: parts.clock,
        io: parts.io,
        source: Some(parts.started.source),
        sink: parts.started.sink,
        control: parts.started.control,
        log: parts.log,
        reader: parts.reader,
        commands: receiver,
        closing: false,
        queue: InputQueue::default(),
        end: EndRule::new(),
        end_look: None,
        kills: Vec::new(),
        killed: VecDeque::new(),
        killed_by: None,
        signalled: None,
        scanner: Scanner::new(),
        paste_asked: (0, None),
        answers: Answers::default(),
        questions: parts.started.questions,
        looks: Looks::default(),
        limits: LimitWatch::new(TimeLimits::default(), Moment::EPOCH),
        held_back: None,
        signals: Vec::new(),
        progress,
        milestones,
        now,
        observed: parts.observed,
        observer: parts.observer,
        attended: None,
        place_said: None,
        status,
        timer: None,
    };
    if let Past::Earlier { unseen_from } = parts.past {
        actor.resume(unseen_from);
    }
    actor.watch_limits(parts.limits);
    tokio::spawn(async move {
        std::future::poll_fn(|cx| actor.poll_turn(cx)).await;
        actor.finish();
    });
    Watched { commands, progress: watched_progress, milestones: watched_milestones, status: watched_status }
}

impl Actor {
    /// One turn; `Ready` when nothing is left to do for good.
    fn poll_turn(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        loop {
            let now = self.clock.now();
            self.poll_commands(cx);
            self.poll_size(cx);
            self.poll_output(cx, now);
            self.poll_exit(cx, now);
            self.poll_limits(cx, now);
            self.poll_evidence(cx, now);
            self.answer_queries(now);
            self.poll_input(cx);
            self.poll_attended(now);
            if self.attended.is_some() {
                // What the agent is to be given was put into the queue in this turn, and goes out in it.
                self.poll_input(cx);
                self.tell_written(now);
            }
            self.poll_kills(cx);
            self.poll_end(now);
            self.poll_looks(cx, now);
            self.publish();
            self.check_invariants();
            if self.is_finished() {
                return Poll::Ready(());
            }
            if self.poll_timer(cx, now).is_pending() {
                return Poll::Pending;
            }
        }
    }

    fn poll_input(&mut self, cx: &mut Context<'_>) {
        if !self.queue.is_empty() {
            let control = &mut self.control;
            let is_gone = &mut |asker: Asker| control.tty_state().is_none_or(|tty| asker.is_gone(&tty));
            self.queue.poll_write(cx, &mut self.sink, self.now.end, is_gone);
        }
    }

    fn publish(&mut self) {
        self.progress.send_if_modified(|published| {
            let changed = *published != self.now;
            if changed {
                published.clone_from(&self.now);
            }
            changed
        });
        self.milestones.send_if_modified(|published| {
            let is_milestone = self.now.is_milestone_after(published);
            if is_milestone {
                published.clone_from(&self.now);
            }
            is_milestone
        });
    }

    fn is_finished(&mut self) -> bool {
        if !self.kills.is_empty() || !self.killed.is_empty() {
            return false;
        }
        if self.closing {
            // The kill is done: either the end was reported, or something survived and is left behind.
            return self.now.sealed.is_some() || !self.end.is_reaped();
        }
        self.now.sealed.is_some()
            && self.source.is_none()
            && self.looks.is_idle()
            && self.commands.is_empty()
            && self.control.descendants() == 0
    }

    /// The last step: the log is closed before the watchers learn that the actor is gone.
    fn finish(mut self) {
        self.commands.close();
        self.now.removed = self.closing;
        self.agent_removed(self.clock.now());
        self.observed.lock().run = Run::from(&self.scanner);
        self.publish();
        if let Err(error) = self.log.close() {
            // The files are as after a death of the writer: complete, and readable as they are.
            tracing::warn!(%error, "the log stays as it is");
        }
    }

    /// Arms the timer for the next deadline; `Ready` when one has passed.
    fn poll_timer(&mut self, cx: &mut Context<'_>, now: Moment) -> Poll<()> {
        let wanted = [
            self.end_look,
            self.answers.deadline(),
            self.looks.deadline(),
            self.limits.deadline(),
            self.held_back,
            self.attended_deadline(),
        ];
        let wanted = wanted.into_iter().flatten().min();
        let Some(at) = wanted else {
            self.timer = None;
            return Poll::Pending;
        };
        if at <= now {
            return Poll::Ready(());
        }
        if self.timer.as_ref().is_none_or(|(armed, _)| *armed != at) {
            self.timer = Some((at, Box::pin(tokio::time::sleep_until(self.clock.instant(at)))));
        }
        let (_, sleep) = self.timer.as_mut().expect("invariant: the timer was just armed");
        sleep.as_mut().poll(cx)
    }

    fn check_invariants(&self) {
        if cfg!(debug_assertions) {
            let bounds = self.reader.bounds();
            assert_eq!(self.now.end, bounds.end, "invariant 1: the published end is the log's");
            let published = self.progress.borrow();
            assert!(
                published.sealed.is_none() || published.sealed == self.now.sealed,
                "invariant 2: one end"
            );
        }
    }
}
