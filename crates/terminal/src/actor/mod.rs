//! The actor: one task owns one terminal.
//!
//! Everything that must be ordered is ordered because this task does it: reading output into the log, typing, answering
//! queries, changing the size, ending. One *turn* of the actor is one synchronous step over everything that is ready;
//! between two turns the task sleeps until a descriptor, a command or a deadline wakes it.

mod answer;
mod command;
mod dispatch;
mod input;
mod limits;
mod line;
mod look;
mod mail;
mod output;
mod resume;

use std::collections::VecDeque;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use ptyard_core::end::{EndRule, EndStep};
use ptyard_core::turn::{Evidence, StatusReport};
use ptyard_core::{Cause, Exit, Moment, Size};
use ptyard_screen::{Modes, Scanner};
use tokio::sync::{mpsc, oneshot, watch};
use tokio::time::Sleep;

use self::answer::{Answers, Asker};
pub(crate) use self::command::Command;
pub use self::command::{Killed, KilledBy, Look};
use self::dispatch::Attended;
use self::input::{InputQueue, Job};
pub(crate) use self::input::{Place, QUEUE_JOBS};
pub use self::input::{Typed, Written};
use self::limits::LimitWatch;
pub use self::limits::TimeLimits;
use self::look::Looks;
pub use self::look::Run;
pub(crate) use self::look::rebuild;
use crate::backend::{
    BoxFuture, Control, ControlError, Io, KillReport, Questions, Removal, Signal, Sink, Source, Started,
    Target,
};
use crate::clock::Clock;
use crate::intent::Intent;
use crate::log::{LogReader, LogWriter};
use crate::observed::{Observer, SharedObserved, TerminalEvent};
use crate::progress::{Progress, Sealed};
use crate::sizes;

/// Most commands handled in one turn, so that output and commands cannot starve each other.
const COMMANDS_PER_TURN: usize = 16;

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

    fn poll_commands(&mut self, cx: &mut Context<'_>) {
        for _ in 0..COMMANDS_PER_TURN {
            match self.commands.poll_recv(cx) {
                Poll::Pending => return,
                Poll::Ready(Some(command)) => self.follow(command),
                Poll::Ready(None) => {
                    self.close();
                    return;
                }
            }
        }
        cx.waker().wake_by_ref();
    }

    fn follow(&mut self, command: Command) {
        match command {
            Command::Type { typed, cancelled, reply, place } => {
                let tty = self.control.tty_state();
                if let Err(refused) = self.queue.line().check(tty.as_ref(), &typed.bytes) {
                    let _gone = reply.send(Err(refused));
                    return;
                }
                if typed.bytes.iter().any(|byte| matches!(byte, b'\r' | b'\n'))
                    && tty.is_some_and(|tty| !tty.line_mode)
                {
                    self.answers.line_entered();
                }
                self.typed();
                self.queue.push(Job::new(typed, cancelled, reply, place));
            }
            Command::CloseStdin { reply, .. } if self.now.sealed.is_some() => {
                let _gone = reply.send(Err(ControlError::Exited));
            }
            Command::CloseStdin { reply, place } => self.queue.push(Job::Close(reply, place)),
            Command::Resize { size, reply } => {
                let resized = self.resize(size);
                self.publish();
                let _gone = reply.send(resized);
            }
            Command::Signal { signal, target, reply } => {
                let _gone = reply.send(self.signal(signal, target));
            }
            Command::Kill { grace, by, reply } => self.kill(grace, by, Some(reply)),
            Command::Look { scrollback, reply } => self.looks.ask(scrollback, reply),
            Command::TtyState { reply } => {
                let _gone = reply.send(self.control.tty_state());
            }
            Command::Modes { reply } => {
                let _gone = reply.send(self.modes());
            }
            Command::Attend { agent, reply } => {
                let _gone = reply.send(self.attend(*agent, self.clock.now()));
            }
            Command::Dispatch { mail, reply } => {
                self.typed();
                self.offer(mail, reply);
            }
            Command::Hurry { haste } => self.hurry(haste, self.clock.now()),
            Command::ResetTurns { reply } => {
                self.reset_turns(self.clock.now());
                let _gone = reply.send(());
            }
            Command::Explain { reply } => {
                let _gone = reply.send(self.explain(self.clock.now()));
            }
            Command::Close => self.close(),
        }
    }

    fn signal(&mut self, signal: Signal, target: Target) -> Result<(), ControlError> {
        if self.now.sealed.is_some() {
            return Err(ControlError::Exited);
        }
        // The group in the foreground is the program's own unless it gave the foreground to another.
        let reaches_program =
            target == Target::Program || self.control.tty_state().is_none_or(|tty| tty.program_in_foreground);
        self.control.signal(signal, target)?;
        if reaches_program {
            self.signalled = Some(signal.0);
            self.note(&Intent::Signal(signal.0));
        }
        Ok(())
    }

    fn resize(&mut self, size: Size) -> Result<(), ControlError> {
        if self.now.sealed.is_some() {
            return Err(ControlError::Exited);
        }
        self.control.resize(size)?;
        self.resized(size);
        Ok(())
    }

    /// Follows a size that somebody else has set.
    fn poll_size(&mut self, cx: &mut Context<'_>) {
        while let Poll::Ready(size) = self.control.poll_size(cx) {
            if size != self.now.size && self.now.sealed.is_none() {
                self.resized(size);
            }
        }
    }

    fn resized(&mut self, size: Size) {
        self.now.size = size;
        self.observed.lock().sizes.push((self.now.end, size));
        if let Err(error) = sizes::note(self.reader.dir(), self.now.end, size) {
            tracing::warn!(%error, "a size is not written down: a screen after a restart may be wrong");
        }
        self.observer.event(TerminalEvent::Resized(size));
    }

    /// The modes in force for whoever reads now. A program that was killed leaves its request for bracketed paste
    /// behind: it does not hold for another group in the foreground, nor in line mode, where nobody reads brackets.
    fn modes(&mut self) -> Modes {
        let mut modes = self.scanner.modes().clone();
        if modes.bracketed_paste
            && let Some(tty) = self.control.tty_state()
        {
            let (_, asker) = self.paste_asked;
            modes.bracketed_paste = !tty.line_mode && (asker.is_none() || asker == tty.foreground_group);
        }
        modes
    }

    fn kill(&mut self, grace: Duration, by: KilledBy, reply: Option<oneshot::Sender<Killed>>) {
        if !self.end.is_reaped() {
            let by = self.killed_by.get_or_insert(by).clone();
            self.note(&Intent::Kill(by));
        }
        let kill = self.control.kill(grace);
        self.kills.push((kill, reply));
    }

    /// Writes down what was done, for the next server. A program that nobody can take over needs no note, but whether
    /// it is one is not known here.
    fn note(&self, intent: &Intent) {
        if let Err(error) = intent.note(self.reader.dir()) {
            tracing::debug!(%error, "what may end a program is not written down");
        }
    }

    fn close(&mut self) {
        if !self.closing {
            self.closing = true;
            self.commands.close();
            let is_left = !self.end.is_reaped() || self.control.descendants() > 0;
            if is_left && self.control.removal() == Removal::Ends {
                self.kill(Duration::ZERO, KilledBy("remove"), None);
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

    fn poll_exit(&mut self, cx: &mut Context<'_>, now: Moment) {
        if self.end.is_reaped() {
            return;
        }
        if let Poll::Ready(exit) = self.control.poll_exit(cx) {
            let exit = self.with_our_cause(exit);
            self.limits_saw(&exit);
            self.end.exited(exit, now);
            // Bytes written right before the exit may have come in after this turn's reading.
            self.poll_output(cx, now);
        }
    }

    /// An end that we caused carries our name.
    fn with_our_cause(&self, mut exit: Exit) -> Exit {
        if let Some(by) = &self.killed_by {
            exit.cause = Cause::Killed;
            exit.by = Some(by.0.to_owned());
        } else if exit.signal.is_some() && exit.signal == self.signalled {
            exit.cause = Cause::Killed;
            exit.by = Some("signal".to_owned());
        }
        exit
    }

    fn poll_kills(&mut self, cx: &mut Context<'_>) {
        let mut done = Vec::new();
        self.kills.retain_mut(|(kill, reply)| match kill.as_mut().poll(cx) {
            Poll::Pending => true,
            Poll::Ready(report) => {
                done.extend(reply.take().map(|reply| (report, reply)));
                false
            }
        });
        self.killed.extend(done);
    }

    /// Reports the end once the end rule says so, and the kills that waited for it.
    fn poll_end(&mut self, now: Moment) {
        if let Some(exit) = self.end_now(now) {
            self.queue.end_all(self.now.end);
            self.sink = None;
            // A server before this one that sealed it told of it, too, or left a gap that readers are told of.
            let is_news = !self.log.is_sealed();
            self.log.seal(&serde_json::to_string(&exit).unwrap_or_default());
            self.now.sealed = Some(Sealed { exit: exit.clone(), end: self.now.end, at: now });
            if is_news {
                self.observer.event(TerminalEvent::Exited(exit, now));
            }
            self.agent_exited(now);
        }
        let exit = self.now.sealed.as_ref().map(|sealed| sealed.exit.clone());
        if exit.is_some() || self.killed.iter().any(|(report, _)| !report.survivors.is_empty()) {
            // Whoever is answered, on another thread, finds it published.
            if !self.killed.is_empty() {
                self.publish();
            }
            for (report, reply) in self.killed.drain(..) {
                let _gone = reply.send(Killed { report, exit: exit.clone() });
            }
        }
    }

    /// The end, in the turn in which it can be reported.
    fn end_now(&mut self, now: Moment) -> Option<Exit> {
        // While the log holds reading back, quiet means nothing.
        if self.now.sealed.is_some() || !self.end.is_reaped() || (self.held_back.is_some() && !self.closing) {
            return None;
        }
        match self.end.look(now, self.control.descendants()) {
            EndStep::Seal(exit) => {
                self.end_look = None;
                Some(exit)
            }
            EndStep::Wait(until) => {
                self.end_look = until;
                None
            }
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
