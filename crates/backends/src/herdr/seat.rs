//! One terminal's seat in herdr: which pane shows it, and what herdr says of the agent there.
//!
//! herdr numbers nothing, and tells what it saw a moment ago. So that what it saw before a write is never taken for what
//! came of it, evidence has for its [`Position`] *how many writes came before it for certain*: after each write that
//! holds an Enter herdr is asked what it sees (`look`), and what was asked for behind the write, and what is told behind
//! the answer, is from after it. What is told in between keeps the position from before, and confirms nothing. An answer
//! may also be from before what was told meanwhile, so then it says nothing of the agent, and herdr is asked again.
//!
//! herdr takes an agent for idle whose screen no rule of its own knows, and every agent at its start. So its `idle`
//! says something only of an agent that it has seen at work; before that, and whenever it says `unknown` (a wrapped
//! agent it cannot see), the other sources decide.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

use ptyard_core::TerminalId;
use ptyard_core::turn::{BlockedOn, Evidence, Position, Question, Rule, Source, Status};

use super::look::{Before, Found};
use super::wire::{AgentStatus, Pane};

/// Most that herdr said and nobody took; of more, the oldest is forgotten: the newest says where the agent is.
const SAID: usize = 64;

/// A seat.
///
/// # Invariants
/// 1. Positions of what was said do not go back.
/// 2. At most [`SAID`] wait to be taken.
#[derive(Debug)]
pub(super) struct Seat {
    pub(super) id: TerminalId,
    /// The name of its program, for herdr, if it is one that can be typed as it is.
    pub(super) agent: Option<String>,
    /// Writes with an Enter so far.
    written: AtomicU64,
    inner: Mutex<Inner>,
}

#[derive(Debug, Default)]
struct Inner {
    /// The pane that shows it.
    pane: Option<String>,
    /// herdr's id of that pane's terminal.
    terminal: Option<String>,
    /// It was seen to be there, on this connection.
    seen: bool,
    /// Whether a pane is being made for it.
    opening: bool,
    /// A person has closed the pane.
    closed: bool,
    has_worked: bool,
    /// How often something was told of the agent.
    told: u64,
    /// So many writes came before whatever is said now.
    covers: u64,
    last: Option<Evidence>,
    said: VecDeque<Evidence>,
    taker: Option<Waker>,
}

/// What an answer says of the agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Seen {
    /// What is so.
    Now,
    /// What is so, or what was before something that was told meanwhile.
    OrBefore,
}

/// What is to be done about a pane that is not there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Missing {
    /// A person closed it: the program is told.
    WasClosed,
    /// It gets another one.
    Reopen,
    /// Somebody does already.
    Nothing,
}

impl Seat {
    pub(super) fn new(id: TerminalId, program: Option<&str>) -> Self {
        let agent = program.and_then(|path| path.rsplit('/').next()).filter(|name| {
            !name.is_empty()
                && name.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.'))
        });
        let seat =
            Self { id, agent: agent.map(str::to_owned), written: AtomicU64::new(0), inner: Mutex::default() };
        // What comes later is later than this, also for whoever writes before herdr has said anything.
        seat.say(Status::Unknown, "herdr.unseen");
        seat
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// An Enter was written.
    pub(super) fn wrote(&self) {
        self.written.fetch_add(1, Ordering::AcqRel);
    }

    /// How it is before a look.
    pub(super) fn before(&self) -> Before {
        let told = self.lock().told;
        Before { written: self.written.load(Ordering::Acquire), told }
    }

    /// A pane was made for it.
    pub(super) fn sits_in(&self, pane: String) {
        let mut inner = self.lock();
        inner.pane = Some(pane);
        inner.terminal = None;
        inner.seen = false;
    }

    /// Which of these panes shows it.
    pub(super) fn find<'a>(&self, panes: &'a [Found]) -> Option<&'a Found> {
        let inner = self.lock();
        if let (true, Some(terminal)) = (inner.seen, &inner.terminal) {
            return panes.iter().find(|found| found.pane.terminal.as_ref() == Some(terminal));
        }
        let label = self.id.to_string();
        let ours = || panes.iter().filter(|found| found.label.as_ref() == Some(&label));
        ours().find(|found| Some(&found.pane.pane) == inner.pane.as_ref()).or_else(|| ours().next())
    }

    /// A look that began behind `before` found it here.
    pub(super) fn was_found(&self, pane: &Pane, before: Before) -> Seen {
        let mut inner = self.lock();
        inner.pane = Some(pane.pane.clone());
        inner.terminal.clone_from(&pane.terminal);
        inner.seen = true;
        debug_assert!(inner.covers <= before.written, "invariant 1: looks follow each other");
        inner.covers = inner.covers.max(before.written);
        if inner.told != before.told {
            return Seen::OrBefore;
        }
        drop(inner);
        self.hear(pane.status.unwrap_or(AgentStatus::Unknown));
        Seen::Now
    }

    /// A look that began when it had a pane did not find it.
    pub(super) fn is_missing(&self) -> Missing {
        let mut inner = self.lock();
        if inner.closed || inner.opening {
            return Missing::Nothing;
        }
        if inner.seen {
            inner.closed = true;
            inner.taker.take().inspect(Waker::wake_by_ref);
            return Missing::WasClosed;
        }
        inner.opening = true;
        Missing::Reopen
    }

    /// Nobody makes a pane for it any more.
    pub(super) fn opened(&self) {
        self.lock().opening = false;
    }

    /// Whether its pane was found on this connection.
    pub(super) fn is_seen(&self) -> bool {
        self.lock().seen
    }

    /// Whether an event is about it. `settled` says that the ids of panes have not moved since they were looked at.
    pub(super) fn is_in(&self, pane: &Pane, settled: bool) -> bool {
        let inner = self.lock();
        match (&pane.terminal, &inner.terminal) {
            (Some(told), Some(known)) => inner.seen && told == known,
            _ => settled && inner.seen && inner.pane.as_ref() == Some(&pane.pane),
        }
    }

    /// herdr tells this of the agent by itself.
    pub(super) fn was_told(&self, status: AgentStatus) {
        self.lock().told += 1;
        self.hear(status);
    }

    /// herdr says this of the agent.
    fn hear(&self, status: AgentStatus) {
        let has_worked = {
            let mut inner = self.lock();
            inner.has_worked |= status == AgentStatus::Working;
            inner.has_worked
        };
        match status {
            AgentStatus::Working => self.say(Status::Processing, "herdr.working"),
            AgentStatus::Blocked => self.say(Status::WaitingUserAnswer, "herdr.blocked"),
            AgentStatus::Done => self.say(Status::Completed, "herdr.done"),
            AgentStatus::Idle if has_worked => self.say(Status::Completed, "herdr.idle"),
            AgentStatus::Idle => self.say(Status::Unknown, "herdr.idle"),
            AgentStatus::Unknown => self.say(Status::Unknown, "herdr.unknown"),
        }
    }

    /// Nobody hears herdr any more: what it said last is not what is.
    pub(super) fn herdr_is_gone(&self) {
        let mut inner = self.lock();
        inner.seen = false;
        inner.terminal = None;
        drop(inner);
        self.say(Status::Unknown, "herdr.gone");
    }

    fn say(&self, status: Status, rule: &'static str) {
        let mut inner = self.lock();
        let position = Position::Sequence(inner.covers);
        let mut evidence = Evidence::new(Source::Hook, position, status, Rule::named(rule));
        if status == Status::WaitingUserAnswer {
            evidence.blocked_on = Some(BlockedOn { kind: Question::Dialog, message: None });
        }
        if inner.last.as_ref() == Some(&evidence) {
            return;
        }
        inner.last = Some(evidence.clone());
        if inner.said.len() == SAID {
            inner.said.pop_front();
        }
        inner.said.push_back(evidence);
        debug_assert!(inner.said.len() <= SAID, "invariant 2");
        inner.taker.take().inspect(Waker::wake_by_ref);
    }

    /// The next that was said. One task takes it.
    pub(super) fn poll_said(&self, cx: &mut Context<'_>) -> Poll<Evidence> {
        let mut inner = self.lock();
        match inner.said.pop_front() {
            Some(evidence) => Poll::Ready(evidence),
            None => {
                inner.taker = Some(cx.waker().clone());
                Poll::Pending
            }
        }
    }

    /// Ready when a person has closed the pane.
    pub(super) fn poll_closed(&self, cx: &mut Context<'_>) -> Poll<()> {
        let mut inner = self.lock();
        if inner.closed {
            return Poll::Ready(());
        }
        inner.taker = Some(cx.waker().clone());
        Poll::Pending
    }
}

#[cfg(test)]
mod tests;
