//! What a network and a vendor do to clients, to be switched on.

use std::time::Duration;

use tonic::{Code, Status};

/// Faults of a server. None by default.
#[derive(Debug, Clone, Default)]
pub struct Faults {
    /// Answers come in frames of this many bytes, wherever their messages begin and end.
    pub frame_bytes: Option<usize>,
    /// Output comes in messages of at most this many bytes, whatever characters that splits.
    pub output_piece_bytes: Option<usize>,
    /// Before this message of output, counted over all reads, the read breaks; once.
    pub break_before_message: Option<(usize, Break)>,
    /// The last piece of output, and its end, come this long after the end of the program is told.
    pub last_output_late_by: Option<Duration>,
    /// This method takes effect, and the connection breaks instead of an answer, this many times.
    pub lose_answers_of: Option<(&'static str, u32)>,
    /// Calls of a method are refused.
    pub refuse: Option<Refusal>,
    /// How long tokens for a machine are good; an hour if nothing is said.
    pub token_life: Option<Duration>,
    /// How much the vendor's clock is ahead of this machine's, in seconds.
    pub clock_ahead_secs: i64,
    /// Tokens do not say when they were made.
    pub tokens_without_date: bool,
    /// A new sandbox has no machine for this many questions.
    pub questions_before_task: u32,
    /// A new image is being built for this many questions.
    pub questions_before_image: u32,
}

/// How a read breaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Break {
    /// The machine says that it cannot now.
    Unavailable,
    /// The machine says that the token is over.
    Unauthenticated,
    /// The connection breaks, with all that goes over it.
    Connection,
}

/// Refusals to come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Refusal {
    /// Part of the method's path, as `SandboxCreate`.
    pub method: &'static str,
    /// The status.
    pub code: Code,
    /// How often.
    pub times: u32,
}

impl Faults {
    /// What a call of this method is refused with, which counts.
    pub(super) fn refuses(&mut self, path: &str) -> Option<Status> {
        let refusal =
            self.refuse.as_mut().filter(|refusal| refusal.times > 0 && path.contains(refusal.method))?;
        refusal.times -= 1;
        Some(Status::new(refusal.code, "refused on purpose"))
    }

    /// Whether the answer to a call of this method is lost, which counts.
    pub(super) fn loses_answer(&mut self, path: &str) -> bool {
        match &mut self.lose_answers_of {
            Some((method, times)) if *times > 0 && path.contains(*method) => {
                *times -= 1;
                true
            }
            _ => false,
        }
    }
}
