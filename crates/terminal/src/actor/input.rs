//! The one queue that all input of a terminal passes.

use std::collections::VecDeque;
use std::task::{Context, Poll};

use ptyard_core::turn::{AttemptId, Keys};
use tokio::sync::{OwnedSemaphorePermit, oneshot};

use super::answer::Asker;
use super::line::{Line, LineTooLong};
use super::mail::{MailJob, MailStep, Mailed};
use super::typing::{Typed, Typing, TypingStep, Written};
use crate::backend::{ControlError, Sink};

/// How many writes may wait. Further callers wait outside for a [`Place`], until their own deadlines: in the commands
/// channel they would hold up the very kill that could end a program that does not read.
pub(crate) const QUEUE_JOBS: usize = 64;

/// The right to be in the queue. It is free again when the job is gone, however that goes.
pub(crate) type Place = OwnedSemaphorePermit;

/// One entry of the queue.
pub(super) enum Job {
    /// Bytes to type.
    Type(Typing),
    /// The text of an attempt: paste, pause and Enter, with nothing between them.
    Mail(MailJob),
    /// The end of the input, behind everything that was typed before it.
    Close(oneshot::Sender<Result<(), ControlError>>, Place),
    /// The same, begun.
    Closing(oneshot::Sender<Result<(), ControlError>>, Place),
}

impl Job {
    pub(super) fn new(
        typed: Typed,
        cancelled: oneshot::Receiver<()>,
        reply: oneshot::Sender<Result<Written, LineTooLong>>,
        place: Place,
    ) -> Self {
        Self::Type(Typing::asked(typed, cancelled, reply, place))
    }

    /// Keys of our own.
    pub(super) fn own(bytes: Vec<u8>) -> Self {
        Self::answer(bytes, None)
    }

    fn answer(bytes: Vec<u8>, answers: Option<Asker>) -> Self {
        Self::Type(Typing::own(bytes, answers))
    }

    /// Whether another job must not come before it.
    fn goes_first(&self) -> bool {
        match self {
            Self::Type(typing) => typing.goes_first(),
            Self::Mail(mail) => mail.has_begun(),
            Self::Close(..) => false,
            Self::Closing(..) => true,
        }
    }
}

/// The queue.
///
/// # Invariants
/// 1. Bytes of different jobs never mix: a job is finished, taken back or cut before the next one begins.
/// 2. A job that began and is taken back leaves `if_cut` behind, nothing else.
#[derive(Default)]
pub(super) struct InputQueue {
    jobs: VecDeque<Job>,
    /// What became of mail, to be told the turn machine.
    mailed: Vec<Mailed>,
    /// What others typed since it was asked last, with the end of the log right before.
    typed: Vec<(Keys, u64)>,
    /// The line that others are typing.
    line: Line,
}

/// What one round of writing left.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum InputStep {
    /// Nothing waits, or the program does not take more now.
    Idle,
    /// The input ended; what waited was answered so.
    Ended,
}

impl InputQueue {
    /// Whether nothing waits and nothing is being written.
    pub(super) fn is_empty(&self) -> bool {
        self.jobs.is_empty()
    }

    pub(super) fn push(&mut self, job: Job) {
        self.jobs.push_back(job);
    }

    /// Puts an answer to a query next: behind the job that began, or whose bytes are on their way, before all others.
    pub(super) fn push_answer(&mut self, bytes: Vec<u8>, asker: Asker, sink: Option<&dyn Sink>) {
        let under_way = usize::from(sink.is_some_and(Sink::is_under_way)).min(self.jobs.len());
        let first = self.jobs.iter().take_while(|job| job.goes_first()).count().max(under_way);
        self.jobs.insert(first, Job::answer(bytes, Some(asker)));
    }

    /// Writes what the program takes, and takes back what waits in vain. `end` is the end of the log now; the caller drained
    /// the output just before. `is_gone` looks whether somebody else would read an answer.
    pub(super) fn poll_write(
        &mut self,
        cx: &mut Context<'_>,
        sink: &mut Option<Box<dyn Sink>>,
        end: u64,
        is_gone: &mut dyn FnMut(Asker) -> bool,
    ) -> InputStep {
        let step = self.poll_front(cx, sink, end, is_gone);
        self.take_back(cx, end);
        step
    }

    /// Takes back the writes behind the first one whose callers no longer wait. They have not begun, so nothing is left
    /// of them; without this a program that does not read would hold every caller, whatever the deadline.
    fn take_back(&mut self, cx: &mut Context<'_>, end: u64) {
        let Some(first) = self.jobs.pop_front() else { return };
        let behind = std::mem::take(&mut self.jobs).into_iter().filter_map(|job| match job {
            Job::Type(typing) => typing.unless_cancelled(cx, end).map(Job::Type),
            other @ (Job::Mail(_) | Job::Close(..) | Job::Closing(..)) => Some(other),
        });
        self.jobs = std::iter::once(first).chain(behind).collect();
    }

    fn poll_front(
        &mut self,
        cx: &mut Context<'_>,
        sink: &mut Option<Box<dyn Sink>>,
        end: u64,
        is_gone: &mut dyn FnMut(Asker) -> bool,
    ) -> InputStep {
        loop {
            let Some(open) = sink else {
                return self.end_all(end);
            };
            match self.jobs.pop_front() {
                None => return InputStep::Idle,
                Some(Job::Close(reply, place) | Job::Closing(reply, place)) => match open.poll_close(cx) {
                    Poll::Pending => {
                        self.jobs.push_front(Job::Closing(reply, place));
                        return InputStep::Idle;
                    }
                    Poll::Ready(closed) => {
                        if closed.is_ok() {
                            *sink = None;
                        }
                        let _gone = reply.send(closed);
                    }
                },
                Some(Job::Type(typing)) if typing.would_answer().is_some_and(&mut *is_gone) => {}
                Some(Job::Mail(mut mail)) => {
                    match mail.poll_write(cx, open.as_mut(), end, &mut self.mailed) {
                        MailStep::Holds => {
                            self.jobs.push_front(Job::Mail(mail));
                            return InputStep::Idle;
                        }
                        MailStep::Finished => {}
                        MailStep::Ended => return self.end_all(end),
                    }
                }
                Some(Job::Type(typing)) => {
                    match typing.poll_write(cx, open.as_mut(), end, &mut self.typed, &mut self.line) {
                        TypingStep::Waits(typing) => {
                            self.jobs.push_front(Job::Type(typing));
                            return InputStep::Idle;
                        }
                        TypingStep::Finished => {}
                        TypingStep::Cut(if_cut) => self.jobs.push_front(Job::answer(if_cut.to_vec(), None)),
                        TypingStep::Ended => return self.end_all(end),
                    }
                }
            }
        }
    }

    /// What became of mail since this was asked last.
    pub(super) fn take_mailed(&mut self) -> Vec<Mailed> {
        std::mem::take(&mut self.mailed)
    }

    /// The line that others are typing.
    pub(super) fn line(&mut self) -> &mut Line {
        &mut self.line
    }

    /// What others typed since this was asked last.
    pub(super) fn take_typed(&mut self) -> Vec<(Keys, u64)> {
        std::mem::take(&mut self.typed)
    }

    /// Whether an Enter for this attempt could be written next.
    pub(super) fn is_free_for(&self, attempt: AttemptId) -> bool {
        self.jobs.front().is_none_or(|job| matches!(job, Job::Mail(mail) if mail.is(attempt)))
    }

    /// Presses the Enter of the mail that holds the input.
    pub(super) fn press_enter(&mut self, attempt: AttemptId) {
        if let Some(Job::Mail(mail)) = self.jobs.front_mut() {
            mail.press(attempt);
        }
    }

    /// Writes no more of this attempt. A paste that has begun is closed.
    pub(super) fn take_back_mail(&mut self, attempt: AttemptId) {
        let Some(at) = self.jobs.iter().position(|job| matches!(job, Job::Mail(mail) if mail.is(attempt)))
        else {
            return;
        };
        if let Some(Job::Mail(mail)) = self.jobs.remove(at)
            && let Some(rest) = mail.if_cut()
        {
            self.jobs.insert(at, Job::answer(rest, None));
        }
    }

    /// Answers everything that waits: the input has ended.
    pub(super) fn end_all(&mut self, end: u64) -> InputStep {
        if self.jobs.is_empty() {
            return InputStep::Idle;
        }
        for job in self.jobs.drain(..) {
            match job {
                Job::Type(typing) => typing.end(end),
                Job::Mail(mail) => mail.end(&mut self.mailed),
                Job::Close(reply, _) => {
                    let _gone = reply.send(Err(ControlError::StdinClosed));
                }
                // Far away, the end that it brings may be heard before its own answer.
                Job::Closing(reply, _) => {
                    let _gone = reply.send(Ok(()));
                }
            }
        }
        InputStep::Ended
    }
}

#[cfg(test)]
mod tests;
