//! Windows: the driver that feeds the pure [`Collector`] from the log.
//!
//! A window is collected in its caller's own future from bytes that stay where they are. Until [`Ready::commit`], which
//! is one step without a suspension point, nothing has changed; dropping the future or the [`Ready`] at any moment, any
//! number of times, costs nothing.

use std::time::Duration;

use ptyard_core::turn::StatusReport;
use ptyard_core::window::{Collected, Collector, CollectorSpec, Condition, QuietAfter, Step};
use ptyard_core::{Exit, Moment};

use crate::cursor::Turn;
use crate::log::LogError;
use crate::progress::Progress;
use crate::terminal::Terminal;

/// Bytes read from the log at a time.
const READ_BYTES: usize = 64 * 1024;

/// How long the driver goes on reading what was there at the deadline. A reader that has fallen behind a flood leaves
/// the rest to the next window rather than make this one late.
const CATCH_UP: Duration = Duration::from_millis(20);

/// Silence after which the last line is taken for a prompt, when the shell does not mark its prompts (OSC 133) and the
/// program itself is in the foreground. Long enough for a line editor to finish drawing on a busy machine.
const PROMPT_SILENCE: Duration = Duration::from_millis(150);

/// Which cursor a window is taken with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WindowCursor {
    /// The shared one: windows on it take turns.
    Shared,
    /// The caller's own, at this offset; nothing shared moves.
    Own(u64),
}

/// What becomes of a window's text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TextUse {
    /// It is handed over.
    Kept,
    /// Only the conditions matter; without a pattern among them the log is not even read.
    Unread,
}

/// A window to take.
#[derive(Debug, Clone)]
pub struct WindowCall {
    /// The cursor.
    pub cursor: WindowCursor,
    /// Output from this offset on is new for the conditions; `None` is where the window begins.
    pub mark: Option<u64>,
    /// Most tokens of text; `None` is no cap.
    pub cap_tokens: Option<i64>,
    /// What ends the window before its deadline.
    pub conditions: Vec<Condition>,
    /// What `quiet` asks for.
    pub quiet_after: QuietAfter,
    /// Whether the text is wanted.
    pub text: TextUse,
    /// When the call began.
    pub started: Moment,
    /// When the window ends in any case; `None` waits as long as it takes.
    pub deadline: Option<Moment>,
}

/// A window that is ready and not yet handed over.
#[derive(Debug)]
pub struct Ready {
    collected: Collected,
    turn: Option<Turn>,
}

impl Ready {
    /// The window.
    #[must_use]
    pub fn collected(&self) -> &Collected {
        &self.collected
    }

    /// Hands the window over and moves the cursor, in one step.
    #[must_use]
    pub fn commit(self) -> Collected {
        let (collected, handover) = self.into_parts();
        handover.commit();
        collected
    }

    /// The window, to be made into something else, and the right to hand it over.
    #[must_use]
    pub fn into_parts(self) -> (Collected, Handover) {
        let Self { collected, turn } = self;
        let next = collected.next;
        (collected, Handover { turn, next })
    }
}

/// The right to hand a window over. Dropped, nothing has moved.
#[derive(Debug)]
pub struct Handover {
    turn: Option<Turn>,
    next: u64,
}

impl Handover {
    /// Whether handing it over moves the shared cursor.
    #[must_use]
    pub const fn is_shared(&self) -> bool {
        self.turn.is_some()
    }

    /// Moves the cursor.
    pub fn commit(self) {
        if let Some(turn) = self.turn {
            turn.commit(self.next);
        }
    }
}

/// What a window needs of the output.
#[derive(Debug, Clone, Copy)]
struct Wants {
    text: bool,
    prompt: bool,
    status: bool,
    /// Whether a condition can hold at any chunk; without one, milestones are enough.
    every_chunk: bool,
}

impl Wants {
    fn of(call: &WindowCall) -> Self {
        let any = |wanted: fn(&Condition) -> bool| call.conditions.iter().any(wanted);
        let pattern = any(|condition| matches!(condition, Condition::Regex(_)));
        let prompt = any(|condition| matches!(condition, Condition::Prompt));
        let quiet = any(|condition| matches!(condition, Condition::Quiet(_)));
        let status = any(|condition| matches!(condition, Condition::Status(_)));
        Self {
            text: call.text == TextUse::Kept || pattern,
            prompt,
            status,
            every_chunk: pattern || prompt || quiet,
        }
    }
}

/// Whether a status is one of after `mark`. A decision of the turn machine's own has no place in the log: it counts when it
/// was made since the call began.
fn is_new(report: &StatusReport, mark: u64, started: Moment) -> bool {
    let offset = report.position.and_then(|position| position.offset());
    offset.map_or(report.since >= started, |offset| offset > mark)
}

/// Tells what else was seen.
fn tell(collector: &mut Collector, seen: &Progress) {
    if let Some(last) = seen.last_output {
        collector.last_output(last);
    }
    if let Some(prompt) = seen.prompt {
        collector.prompt_at(prompt);
    }
}

impl Terminal {
    /// Collects a window. Cancel-safe at every point.
    pub async fn window(&self, call: WindowCall) -> Result<Ready, LogError> {
        let pauses = &self.inner.pauses;
        pauses.point("window.before_turn").await;
        let turn = match call.cursor {
            WindowCursor::Own(_) => None,
            WindowCursor::Shared => tokio::select! {
                biased;
                turn = self.inner.cursor.turn() => Some(turn),
                () = self.inner.clock.sleep_until(call.deadline) => return Ok(self.nothing(&call)),
            },
        };
        let from = match (&turn, call.cursor) {
            (_, WindowCursor::Own(at)) => at,
            (Some(turn), WindowCursor::Shared) => turn.position(),
            (None, WindowCursor::Shared) => self.inner.cursor.position(),
        };
        pauses.point("window.after_turn").await;
        let collected = self.collect(from, call).await?;
        pauses.point("window.before_handover").await;
        Ok(Ready { collected, turn })
    }

    /// An empty window for a caller whose turn did not come before its deadline.
    fn nothing(&self, call: &WindowCall) -> Ready {
        let at = self.inner.cursor.position();
        let mut collector = Collector::new(CollectorSpec {
            from: at,
            mark: at,
            cap_tokens: call.cap_tokens,
            conditions: Vec::new(),
            quiet_after: call.quiet_after,
            started: call.started,
            deadline: call.deadline.or(Some(call.started)),
        });
        let _done = collector.step(self.inner.clock.now());
        Ready { collected: collector.finish(), turn: None }
    }

    async fn collect(&self, from: u64, call: WindowCall) -> Result<Collected, LogError> {
        let clock = self.inner.clock;
        let progress = self.progress();
        let wants = Wants::of(&call);
        let mut wake = if wants.every_chunk { progress.clone() } else { self.inner.milestones.clone() };
        let mark = call.mark.unwrap_or(from);
        let mut status = self.status();
        let any_status = call.quiet_after == QuietAfter::Anything;
        let mut collector = Collector::new(CollectorSpec {
            from,
            mark,
            cap_tokens: call.cap_tokens,
            conditions: call.conditions,
            quiet_after: call.quiet_after,
            started: call.started,
            deadline: call.deadline,
        });
        let mut at = from;
        let mut buffer = Vec::new();
        loop {
            wake.borrow_and_update();
            let seen = progress.borrow().clone();
            // First the end, so that nothing behind it is taken: what a descendant prints later is no part of any window.
            if let Some(sealed) = &seen.sealed {
                collector.sealed(sealed.exit.clone(), sealed.end);
            }
            if wants.text {
                at = self.feed(&mut collector, at, &seen, call.deadline, &mut buffer)?;
            } else {
                at = at.max(seen.end);
                collector.pass(at);
            }
            tell(&mut collector, &seen);
            if wants.status
                && let Some(report) = &*status.borrow_and_update()
                && (any_status || is_new(report, mark, call.started))
            {
                collector.status(report.status.as_str());
            }
            self.inner.pauses.point("window.before_step").await;
            let now = clock.now();
            let Step::Wait { until } = collector.step(now) else { break };
            let prompt_look = (wants.prompt && at > mark)
                .then(|| seen.last_output.map(|last| last + PROMPT_SILENCE))
                .flatten()
                .filter(|look| *look > now);
            self.inner.pauses.point("window.waiting").await;
            tokio::select! {
                biased;
                changed = wake.changed() => if changed.is_err() && progress.borrow().sealed.is_none() {
                    collector.sealed(Exit::lost(), at);
                },
                Ok(()) = status.changed(), if wants.status => {}
                () = clock.sleep_until(prompt_look), if prompt_look.is_some() => if self.at_prompt().await {
                    collector.prompt_at(at);
                },
                () = clock.sleep_until(until) => {}
            }
        }
        Ok(collector.finish())
    }

    /// Feeds what the log holds up to the end that was seen.
    fn feed(
        &self,
        collector: &mut Collector,
        mut at: u64,
        seen: &Progress,
        deadline: Option<Moment>,
        buffer: &mut Vec<u8>,
    ) -> Result<u64, LogError> {
        let clock = self.inner.clock;
        let late = deadline.map(|deadline| deadline + CATCH_UP);
        while at < seen.end {
            let now = clock.now();
            if late.is_some_and(|late| now > late) {
                return Ok(at);
            }
            buffer.clear();
            let want = usize::try_from(seen.end - at).unwrap_or(usize::MAX).min(READ_BYTES);
            let read = self.inner.log.read(at, want, buffer)?;
            if read.evicted > 0 {
                collector.gap(read.from);
            }
            collector.bytes(read.from, buffer, now);
            at = read.from + buffer.len() as u64;
        }
        Ok(at)
    }

    /// Whether the program waits at an unfinished line of its own: its group is in the foreground and the cursor is
    /// not at the start of a line.
    async fn at_prompt(&self) -> bool {
        let Ok(Some(tty)) = self.tty_state().await else { return false };
        tty.program_in_foreground && self.look(0).await.is_ok_and(|look| look.view.cursor.col > 0)
    }
}
