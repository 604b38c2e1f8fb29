//! One write: what is typed, by whom it is taken back, and what is told of it.

use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use ptyard_core::turn::Keys;
use tokio::sync::oneshot;

use super::answer::Asker;
use super::input::Place;
use super::line::{Line, LineTooLong};
use crate::agent::keys;
use crate::backend::Sink;

/// What is typed, and what must be typed if it is cut short.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Typed {
    /// The bytes.
    pub bytes: Bytes,
    /// Typed instead of the rest when the write is taken back after it began (the end marker of a paste).
    pub if_cut: Bytes,
}

impl Typed {
    /// Bytes that may be cut anywhere.
    #[must_use]
    pub fn raw(bytes: impl Into<Bytes>) -> Self {
        Self { bytes: bytes.into(), if_cut: Bytes::new() }
    }
}

/// What became of a write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Written {
    /// Bytes the program's terminal took.
    pub taken: usize,
    /// Bytes that were taken back.
    pub taken_back: usize,
    /// End of the log right before the first byte was written: output from here on came after the write began.
    pub mark: u64,
    /// Whether the input had ended before everything was taken.
    pub input_ended: bool,
}

/// One write.
pub(super) struct Typing {
    typed: Typed,
    taken: usize,
    mark: Option<u64>,
    /// Resolves when the caller's deadline has come, or the caller is gone; `None` for our own replies to queries.
    cancelled: Option<oneshot::Receiver<()>>,
    /// What `cancelled` resolved to.
    cancel: Option<Cancel>,
    reply: Option<oneshot::Sender<Result<Written, LineTooLong>>>,
    /// Whose question this answers; it is dropped if that one is gone before it is written.
    answers: Option<Asker>,
    /// `None` for our own replies, whose number is bounded where they are made.
    _place: Option<Place>,
}

/// Why a write is taken back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Cancel {
    /// Its caller waits no longer.
    Deadline,
    /// Its caller is gone.
    Gone,
}

/// What one write came to.
pub(super) enum TypingStep {
    Waits(Typing),
    Finished,
    /// It was taken back after it began: this is typed in place of its rest.
    Cut(Bytes),
    Ended,
}

impl Typing {
    /// What somebody asked for.
    pub(super) fn asked(
        typed: Typed,
        cancelled: oneshot::Receiver<()>,
        reply: oneshot::Sender<Result<Written, LineTooLong>>,
        place: Place,
    ) -> Self {
        Self {
            typed,
            taken: 0,
            mark: None,
            cancelled: Some(cancelled),
            cancel: None,
            reply: Some(reply),
            answers: None,
            _place: Some(place),
        }
    }

    /// What we type ourselves.
    pub(super) fn own(bytes: Vec<u8>, answers: Option<Asker>) -> Self {
        Self {
            typed: Typed::raw(bytes),
            taken: 0,
            mark: None,
            cancelled: None,
            cancel: None,
            reply: None,
            answers,
            _place: None,
        }
    }

    /// Whether another job must not come before it: it has begun, or is our own.
    pub(super) const fn goes_first(&self) -> bool {
        self.taken > 0 || self.reply.is_none()
    }

    /// Whose question it answers, as long as nothing of it was written: half an answer is worse than one nobody waits for.
    pub(super) fn would_answer(&self) -> Option<Asker> {
        self.answers.filter(|_| self.taken == 0)
    }

    /// Writes what is taken.
    pub(super) fn poll_write(
        mut self,
        cx: &mut Context<'_>,
        sink: &mut dyn Sink,
        end: u64,
        typed: &mut Vec<(Keys, u64)>,
        line: &mut Line,
    ) -> TypingStep {
        loop {
            let rest = self.typed.bytes.len() - self.taken;
            if rest == 0 {
                self.finish(0, false, end);
                return TypingStep::Finished;
            }
            let cancel = self.poll_cancel(cx);
            // A deadline, even one that has passed when the write comes, still lets it be tried once.
            let untried = cancel == Some(Cancel::Deadline) && self.mark.is_none();
            if cancel.is_some() && !untried && !sink.is_under_way() {
                let cut = if self.taken > 0 { self.typed.if_cut.clone() } else { Bytes::new() };
                self.finish(rest, false, end);
                return if cut.is_empty() { TypingStep::Finished } else { TypingStep::Cut(cut) };
            }
            self.mark.get_or_insert(end);
            match sink.poll_write(cx, &self.typed.bytes[self.taken..]) {
                Poll::Pending if untried => {}
                Poll::Pending => return TypingStep::Waits(self),
                Poll::Ready(Ok(taken)) => {
                    // Our own answers to questions are no input that anybody composes.
                    if self.reply.is_some() {
                        if self.taken == 0 && taken > 0 {
                            let bytes = &self.typed.bytes[..];
                            let mark = end.saturating_sub(sink.run_ahead());
                            typed.extend(keys::classify(bytes).into_iter().map(|keys| (keys, mark)));
                        }
                        line.taken(&self.typed.bytes[self.taken..self.taken + taken]);
                    }
                    self.taken += taken;
                }
                Poll::Ready(Err(error)) => {
                    tracing::debug!(%error, "the program's input ended");
                    self.end(end);
                    return TypingStep::Ended;
                }
            }
        }
    }

    /// Why it is taken back, once it is.
    fn poll_cancel(&mut self, cx: &mut Context<'_>) -> Option<Cancel> {
        if self.cancel.is_none()
            && let Some(cancelled) = &mut self.cancelled
            && let Poll::Ready(told) = Pin::new(cancelled).poll(cx)
        {
            self.cancel = Some(if told.is_ok() { Cancel::Deadline } else { Cancel::Gone });
        }
        self.cancel
    }

    /// Itself, unless it was cancelled before it began: then it is answered.
    pub(super) fn unless_cancelled(mut self, cx: &mut Context<'_>, end: u64) -> Option<Self> {
        debug_assert_eq!(self.taken, 0, "invariant 1: only the first job has begun");
        if self.poll_cancel(cx).is_none() {
            return Some(self);
        }
        let all = self.typed.bytes.len();
        self.finish(all, false, end);
        None
    }

    /// The input ended before everything was taken.
    pub(super) fn end(self, end: u64) {
        let rest = self.typed.bytes.len() - self.taken;
        self.finish(rest, true, end);
    }

    fn finish(mut self, taken_back: usize, input_ended: bool, end: u64) {
        if let Some(reply) = self.reply.take() {
            let mark = self.mark.unwrap_or(end);
            let _gone = reply.send(Ok(Written { taken: self.taken, taken_back, mark, input_ended }));
        }
    }
}
