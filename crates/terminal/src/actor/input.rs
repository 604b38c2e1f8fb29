//! The one queue that all input of a terminal passes.

use std::collections::VecDeque;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use ptyard_core::turn::{AttemptId, Keys};
use tokio::sync::{OwnedSemaphorePermit, oneshot};

use super::answer::Asker;
use super::line::{Line, LineTooLong};
use super::mail::{MailJob, MailStep, Mailed};
use crate::agent::keys;
use crate::backend::{ControlError, Sink};

/// How many writes may wait. Further callers wait outside for a [`Place`], until their own deadlines: in the commands
/// channel they would hold up the very kill that could end a program that does not read.
pub(crate) const QUEUE_JOBS: usize = 64;

/// The right to be in the queue. It is free again when the job is gone, however that goes.
pub(crate) type Place = OwnedSemaphorePermit;

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

impl Job {
    pub(super) fn new(
        typed: Typed,
        cancelled: oneshot::Receiver<()>,
        reply: oneshot::Sender<Result<Written, LineTooLong>>,
        place: Place,
    ) -> Self {
        Self::Type(Typing {
            typed,
            taken: 0,
            mark: None,
            cancelled: Some(cancelled),
            cancel: None,
            reply: Some(reply),
            answers: None,
            _place: Some(place),
        })
    }

    /// Keys of our own.
    pub(super) fn own(bytes: Vec<u8>) -> Self {
        Self::answer(bytes, None)
    }

    fn answer(bytes: Vec<u8>, answers: Option<Asker>) -> Self {
        Self::Type(Typing {
            typed: Typed::raw(bytes),
            taken: 0,
            mark: None,
            cancelled: None,
            cancel: None,
            reply: None,
            answers,
            _place: None,
        })
    }

    /// Whether another job must not come before it.
    fn goes_first(&self) -> bool {
        match self {
            Self::Type(typing) => typing.taken > 0 || typing.reply.is_none(),
            Self::Mail(mail) => mail.has_begun(),
            Self::Close(..) => false,
            Self::Closing(..) => true,
        }
    }
}

impl Typing {
    fn finish(mut self, taken_back: usize, input_ended: bool, end: u64) {
        if let Some(reply) = self.reply.take() {
            let mark = self.mark.unwrap_or(end);
            let _gone = reply.send(Ok(Written { taken: self.taken, taken_back, mark, input_ended }));
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
                // Half an answer is worse than one nobody waits for: one that began is written to its end.
                Some(Job::Type(typing)) if typing.taken == 0 && typing.answers.is_some_and(&mut *is_gone) => {
                }
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

/// What one write came to.
enum TypingStep {
    Waits(Typing),
    Finished,
    /// It was taken back after it began: this is typed in place of its rest.
    Cut(Bytes),
    Ended,
}

impl Typing {
    fn poll_write(
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
    fn unless_cancelled(mut self, cx: &mut Context<'_>, end: u64) -> Option<Self> {
        debug_assert_eq!(self.taken, 0, "invariant 1: only the first job has begun");
        if self.poll_cancel(cx).is_none() {
            return Some(self);
        }
        let all = self.typed.bytes.len();
        self.finish(all, false, end);
        None
    }

    /// The input ended before everything was taken.
    fn end(self, end: u64) {
        let rest = self.typed.bytes.len() - self.taken;
        self.finish(rest, true, end);
    }
}

#[cfg(test)]
mod tests {
    use std::io;
    use std::sync::{Arc, Mutex};
    use std::task::Waker;

    use super::*;

    #[derive(Clone, Default)]
    struct Slow {
        got: Arc<Mutex<Vec<u8>>>,
        room: Arc<Mutex<usize>>,
    }

    impl Sink for Slow {
        fn poll_write(&mut self, _: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
            let mut room = self.room.lock().unwrap();
            let n = bytes.len().min(*room);
            if n == 0 {
                return Poll::Pending;
            }
            *room -= n;
            self.got.lock().unwrap().extend_from_slice(&bytes[..n]);
            Poll::Ready(Ok(n))
        }
        fn poll_close(&mut self, _: &mut Context<'_>) -> Poll<Result<(), ControlError>> {
            Poll::Ready(Ok(()))
        }
    }

    fn place() -> Place {
        Arc::new(tokio::sync::Semaphore::new(1)).try_acquire_owned().unwrap()
    }

    fn job(typed: Typed) -> (Job, oneshot::Sender<()>, oneshot::Receiver<Result<Written, LineTooLong>>) {
        let (cancel, cancelled) = oneshot::channel();
        let (reply, answer) = oneshot::channel();
        (Job::new(typed, cancelled, reply, place()), cancel, answer)
    }

    fn turn(queue: &mut InputQueue, sink: &mut Option<Box<dyn Sink>>) -> InputStep {
        queue.poll_write(&mut Context::from_waker(Waker::noop()), sink, 10, &mut |_| false)
    }

    #[test]
    fn law_07_a_cut_paste_is_closed_and_nothing_comes_between() {
        let slow = Slow::default();
        let mut sink: Option<Box<dyn Sink>> = Some(Box::new(slow.clone()));
        let mut queue = InputQueue::default();
        let paste = Typed { bytes: Bytes::from_static(b"<hello>"), if_cut: Bytes::from_static(b">") };
        let (first, cancel, mut answer) = job(paste);
        let (second, _keep, _answer) = job(Typed::raw(&b"next"[..]));
        queue.push(first);
        queue.push(second);
        *slow.room.lock().unwrap() = 3;
        turn(&mut queue, &mut sink);
        queue.push_answer(b"R".to_vec(), Asker::default(), sink.as_deref());
        drop(cancel);
        turn(&mut queue, &mut sink);
        *slow.room.lock().unwrap() = 100;
        turn(&mut queue, &mut sink);
        assert_eq!(*slow.got.lock().unwrap(), b"<he>Rnext");
        assert_eq!(
            answer.try_recv().unwrap().unwrap(),
            Written { taken: 3, taken_back: 4, mark: 10, input_ended: false }
        );
        assert!(queue.is_empty());
    }

    /// Says only when it is asked again what it took, and then how much was printed since.
    #[derive(Default)]
    struct Late {
        got: Arc<Mutex<Vec<u8>>>,
        under_way: Option<Vec<u8>>,
    }

    impl Sink for Late {
        fn poll_write(&mut self, _: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
            match self.under_way.take() {
                Some(taken) => {
                    assert!(bytes.starts_with(&taken), "others came before what was under way");
                    Poll::Ready(Ok(taken.len()))
                }
                None => {
                    self.got.lock().unwrap().extend_from_slice(bytes);
                    self.under_way = Some(bytes.to_vec());
                    Poll::Pending
                }
            }
        }
        fn is_under_way(&self) -> bool {
            self.under_way.is_some()
        }
        fn run_ahead(&self) -> u64 {
            4
        }
        fn poll_close(&mut self, _: &mut Context<'_>) -> Poll<Result<(), ControlError>> {
            Poll::Ready(Ok(()))
        }
    }

    #[test]
    fn nothing_comes_before_bytes_that_are_on_their_way_and_none_of_them_are_taken_back() {
        let got = Arc::default();
        let mut sink: Option<Box<dyn Sink>> = Some(Box::new(Late { got: Arc::clone(&got), under_way: None }));
        let mut queue = InputQueue::default();
        let (first, cancel, mut answer) = job(Typed::raw(&b"first"[..]));
        queue.push(first);
        turn(&mut queue, &mut sink);
        queue.push_answer(b"R".to_vec(), Asker::default(), sink.as_deref());
        drop(cancel);
        turn(&mut queue, &mut sink);
        turn(&mut queue, &mut sink);
        assert_eq!(*got.lock().unwrap(), b"firstR");
        assert_eq!(
            answer.try_recv().unwrap().unwrap(),
            Written { taken: 5, taken_back: 0, mark: 10, input_ended: false }
        );
        assert!(matches!(queue.take_typed()[..], [(Keys::Text, 6)]), "from before what was printed since");
    }

    #[test]
    fn case_sec01_an_answer_is_not_written_when_its_asker_has_gone_while_it_waited() {
        let slow = Slow::default();
        let mut sink: Option<Box<dyn Sink>> = Some(Box::new(slow.clone()));
        let mut queue = InputQueue::default();
        let (first, _keep, _answer) = job(Typed::raw(&b"typed"[..]));
        queue.push(first);
        *slow.room.lock().unwrap() = 2;
        turn(&mut queue, &mut sink);
        queue.push_answer(b"ANSWER".to_vec(), Asker::default(), sink.as_deref());
        *slow.room.lock().unwrap() = 100;
        let mut cx = Context::from_waker(Waker::noop());
        queue.poll_write(&mut cx, &mut sink, 10, &mut |_| true);
        assert_eq!(*slow.got.lock().unwrap(), b"typed");
        // One that began goes on: half of it would be read as keys.
        *slow.room.lock().unwrap() = 2;
        queue.push_answer(b"<ANSWER>".to_vec(), Asker::default(), sink.as_deref());
        queue.poll_write(&mut cx, &mut sink, 10, &mut |_| false);
        *slow.room.lock().unwrap() = 100;
        queue.poll_write(&mut cx, &mut sink, 10, &mut |_| true);
        assert_eq!(*slow.got.lock().unwrap(), b"typed<ANSWER>");
        assert!(queue.is_empty());
    }

    #[test]
    fn a_write_whose_deadline_has_passed_is_tried_once_and_one_whose_caller_is_gone_is_not() {
        let slow = Slow::default();
        let mut sink: Option<Box<dyn Sink>> = Some(Box::new(slow.clone()));
        let mut queue = InputQueue::default();
        let (late, cancel, mut answer) = job(Typed::raw(&b"late"[..]));
        let (abandoned, gone, mut unheard) = job(Typed::raw(&b"gone"[..]));
        queue.push(late);
        cancel.send(()).unwrap();
        *slow.room.lock().unwrap() = 3;
        turn(&mut queue, &mut sink);
        let taken = answer.try_recv().unwrap().unwrap();
        assert_eq!((taken.taken, taken.taken_back), (3, 1));
        queue.push(abandoned);
        drop(gone);
        *slow.room.lock().unwrap() = 100;
        turn(&mut queue, &mut sink);
        assert_eq!(unheard.try_recv().unwrap().unwrap().taken_back, 4);
        assert_eq!(*slow.got.lock().unwrap(), b"lat");
    }

    #[test]
    fn a_write_that_never_began_is_taken_back_whole() {
        let slow = Slow::default();
        let mut sink: Option<Box<dyn Sink>> = Some(Box::new(slow.clone()));
        let mut queue = InputQueue::default();
        let (first, cancel, mut answer) =
            job(Typed { bytes: Bytes::from_static(b"abc"), if_cut: Bytes::from_static(b">") });
        queue.push(first);
        turn(&mut queue, &mut sink);
        drop(cancel);
        *slow.room.lock().unwrap() = 100;
        turn(&mut queue, &mut sink);
        assert!(slow.got.lock().unwrap().is_empty());
        assert_eq!(answer.try_recv().unwrap().unwrap().taken_back, 3);
    }

    #[test]
    fn case_h01_a_write_behind_one_that_is_stuck_is_taken_back_at_its_own_deadline() {
        let slow = Slow::default();
        let mut sink: Option<Box<dyn Sink>> = Some(Box::new(slow.clone()));
        let mut queue = InputQueue::default();
        let (stuck, _keep, _never) = job(Typed::raw(&b"stuck"[..]));
        let (second, cancel, mut answer) = job(Typed::raw(&b"second"[..]));
        let (third, _keep_third, mut later) = job(Typed::raw(&b"third"[..]));
        for job in [stuck, second, third] {
            queue.push(job);
        }
        *slow.room.lock().unwrap() = 2;
        turn(&mut queue, &mut sink);
        drop(cancel);
        turn(&mut queue, &mut sink);
        let taken_back = Written { taken: 0, taken_back: 6, mark: 10, input_ended: false };
        assert_eq!(answer.try_recv().unwrap().unwrap(), taken_back);
        *slow.room.lock().unwrap() = 100;
        turn(&mut queue, &mut sink);
        assert_eq!(*slow.got.lock().unwrap(), b"stuckthird");
        assert_eq!(later.try_recv().unwrap().unwrap().taken, 5);
    }

    #[test]
    fn case_e05_the_end_of_the_input_waits_for_what_was_typed_before_it() {
        let slow = Slow::default();
        let mut sink: Option<Box<dyn Sink>> = Some(Box::new(slow.clone()));
        let mut queue = InputQueue::default();
        let (first, _keep, _answer) = job(Typed::raw(&b"abc"[..]));
        let (reply, mut closed) = oneshot::channel();
        queue.push(first);
        queue.push(Job::Close(reply, place()));
        turn(&mut queue, &mut sink);
        assert!(sink.is_some() && closed.try_recv().is_err(), "still open while bytes wait");
        *slow.room.lock().unwrap() = 100;
        turn(&mut queue, &mut sink);
        assert_eq!(*slow.got.lock().unwrap(), b"abc");
        assert!(sink.is_none());
        assert_eq!(closed.try_recv().unwrap(), Ok(()));
    }

    #[test]
    fn writes_to_an_input_that_ended_are_answered_so() {
        let mut queue = InputQueue::default();
        let (first, _cancel, mut answer) = job(Typed::raw(&b"abc"[..]));
        queue.push(first);
        let mut cx = Context::from_waker(Waker::noop());
        assert_eq!(queue.poll_write(&mut cx, &mut None, 5, &mut |_| false), InputStep::Ended);
        assert!(answer.try_recv().unwrap().unwrap().input_ended);
    }
}
