//! The writing of one attempt: one job of the input queue, from the first byte of the paste to the Enter.

use std::task::{Context, Poll};

use ptyard_core::turn::{AttemptId, Taken};

use crate::backend::Sink;

/// What became of mail.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Mailed {
    /// The whole paste was taken.
    Pasted(AttemptId),
    /// The Enter was taken; the end of the log was this right before its first byte.
    Entered(AttemptId, u64),
    /// The input ended before everything was taken.
    NotTaken(AttemptId, Taken),
}

/// What one round of writing left.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum MailStep {
    /// It holds the input: the program does not take more now, or the Enter was not asked for yet.
    Holds,
    /// All was written.
    Finished,
    /// The input ended.
    Ended,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    Pasting,
    /// The paste is written, the Enter was not asked for.
    Holding,
    Entering,
}

/// The writing of one attempt.
///
/// # Invariants
/// 1. From the first byte of the paste to the last byte of the Enter, nothing else is written.
/// 2. No byte of the Enter is written before it was asked for.
pub(super) struct MailJob {
    attempt: AttemptId,
    paste: Vec<u8>,
    /// Closes a paste that was begun and is not finished.
    if_cut: &'static [u8],
    enter: Vec<u8>,
    phase: Phase,
    /// Bytes taken of what the phase writes.
    taken: usize,
    /// End of the log right before the first byte of the Enter.
    mark: Option<u64>,
}

impl MailJob {
    /// A paste that waits for its Enter.
    pub(super) fn paste(attempt: AttemptId, paste: Vec<u8>, if_cut: &'static [u8], enter: Vec<u8>) -> Self {
        Self { attempt, paste, if_cut, enter, phase: Phase::Pasting, taken: 0, mark: None }
    }

    /// An Enter alone, for a text that stands in the composer.
    pub(super) fn enter(attempt: AttemptId, enter: Vec<u8>) -> Self {
        Self { phase: Phase::Entering, ..Self::paste(attempt, Vec::new(), b"", enter) }
    }

    pub(super) fn is(&self, attempt: AttemptId) -> bool {
        self.attempt == attempt
    }

    /// Whether something of it was written, so that nothing may come before the rest.
    pub(super) fn has_begun(&self) -> bool {
        self.taken > 0 || self.phase != Phase::Pasting
    }

    pub(super) fn press(&mut self, attempt: AttemptId) {
        if self.is(attempt) && self.phase == Phase::Holding {
            self.phase = Phase::Entering;
            self.taken = 0;
        }
    }

    /// What closes the paste, if it has to be closed.
    pub(super) fn if_cut(&self) -> Option<Vec<u8>> {
        let is_open = self.phase == Phase::Pasting && self.taken > 0 && !self.if_cut.is_empty();
        is_open.then(|| self.if_cut.to_vec())
    }

    /// Writes what the program takes. `end` is the end of the log now; the output was drained just before.
    pub(super) fn poll_write(
        &mut self,
        cx: &mut Context<'_>,
        sink: &mut dyn Sink,
        end: u64,
        mailed: &mut Vec<Mailed>,
    ) -> MailStep {
        loop {
            let bytes = match self.phase {
                Phase::Pasting => &self.paste,
                Phase::Holding => return MailStep::Holds,
                Phase::Entering => &self.enter,
            };
            if self.taken == bytes.len() {
                if self.phase == Phase::Entering {
                    mailed.push(Mailed::Entered(self.attempt, self.mark.unwrap_or(end)));
                    return MailStep::Finished;
                }
                mailed.push(Mailed::Pasted(self.attempt));
                self.phase = Phase::Holding;
                continue;
            }
            match sink.poll_write(cx, &bytes[self.taken..]) {
                Poll::Pending => return MailStep::Holds,
                Poll::Ready(Ok(taken)) => {
                    // Not when the write was tried first: what came before the byte was taken is not from after it.
                    if self.phase == Phase::Entering && taken > 0 {
                        self.mark.get_or_insert(end.saturating_sub(sink.run_ahead()));
                    }
                    self.taken += taken;
                }
                Poll::Ready(Err(error)) => {
                    tracing::debug!(%error, "the program's input ended");
                    self.tell_end(mailed);
                    return MailStep::Ended;
                }
            }
        }
    }

    /// The input ended.
    pub(super) fn end(self, mailed: &mut Vec<Mailed>) {
        self.tell_end(mailed);
    }

    fn tell_end(&self, mailed: &mut Vec<Mailed>) {
        let taken = if self.has_begun() { Taken::Part } else { Taken::Nothing };
        mailed.push(Mailed::NotTaken(self.attempt, taken));
    }
}
