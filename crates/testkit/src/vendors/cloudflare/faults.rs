//! What a network and a vendor do to clients, to be switched on.

use crate::vendors::Refusal;

/// Faults of a server. None by default.
#[derive(Debug, Clone, Default)]
pub struct Faults {
    /// Output of terminals comes in messages of at most this many bytes, whatever characters that splits.
    pub output_piece_bytes: Option<usize>,
    /// Events of a run come in pieces of this many bytes, wherever they begin and end.
    pub stream_piece_bytes: Option<usize>,
    /// The socket of a terminal is cut before this message of it; 0 is the replay, when there is one, or `ready`.
    pub cut_before_message: Option<usize>,
    /// This many sockets are closed before they are ready.
    pub close_before_ready: u32,
    /// This many sockets hear of an error instead.
    pub error_before_ready: u32,
    /// Terminals tell of the exit of their shell, as the vendor's types promise and its server does not do.
    pub tells_exits: bool,
    /// How much of its output a terminal replays, in bytes, instead of the vendor's 256 KiB.
    pub replay_bytes: Option<usize>,
    /// Requests that end with this take effect, and the connection breaks instead of an answer.
    pub lose_answers_of: Option<&'static str>,
    /// Requests with this in their path are refused with this status, this many times.
    pub refuse: Option<Refusal>,
}

/// What a socket hears instead of being ready.
pub(super) enum Instead {
    Close,
    Error,
}

impl Faults {
    /// What the next socket hears instead of being ready, which counts.
    pub(super) fn instead_of_ready(&mut self) -> Option<Instead> {
        let take = |left: &mut u32| {
            let is_left = *left > 0;
            *left = left.saturating_sub(1);
            is_left
        };
        if take(&mut self.close_before_ready) {
            return Some(Instead::Close);
        }
        take(&mut self.error_before_ready).then_some(Instead::Error)
    }

    /// The status that a request for this path is refused with, which counts.
    pub(super) fn refuses(&mut self, path: &str) -> Option<u16> {
        let refusal =
            self.refuse.as_mut().filter(|refusal| refusal.times > 0 && path.contains(refusal.path))?;
        refusal.times -= 1;
        Some(refusal.status)
    }
}
