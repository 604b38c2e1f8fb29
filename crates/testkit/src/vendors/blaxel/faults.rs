//! What a network and a vendor do to clients, to be switched on.

use crate::vendors::Refusal;

/// Faults of a server. None by default.
#[derive(Debug, Clone, Default)]
pub struct Faults {
    /// Terminals are read in pieces of at most this many bytes instead of the vendor's 4,096, whatever characters that splits.
    pub output_piece_bytes: Option<usize>,
    /// Who connects to a terminal that has printed something gets the end of that, up to so many bytes of it, once more behind
    /// the replay: a piece that came between the two steps in which the vendor connects.
    pub replay_twice_bytes: usize,
    /// Every so many pieces of output one is dropped, as for a client that is slow.
    pub drop_every: Option<usize>,
    /// The next piece of output with this in it is dropped, which happens once.
    pub drop_with: Option<&'static str>,
    /// Messages begin their keys with capitals.
    pub capital_keys: bool,
    /// Before each message come others that say nothing: no JSON, no objects, no type.
    pub odd_messages: bool,
    /// The socket of a terminal is cut before this message of it.
    pub cut_before_message: Option<usize>,
    /// This many sockets are closed before anything is said.
    pub close_at_once: u32,
    /// This many sockets hear of an error, and are closed.
    pub error_at_once: u32,
    /// New sandboxes have little more than a shell.
    pub is_bare: bool,
    /// New sandboxes are found being deployed so often.
    pub looks_until_deployed: u32,
    /// So many sandboxes are made, and the connection breaks instead of an answer.
    pub lose_makes: u32,
    /// Requests with this in their method and path are refused.
    pub refuse: Option<Refusal>,
}

/// What becomes of a socket that is not served.
pub(super) enum Instead {
    Close,
    Error,
}

impl Faults {
    /// Whether this piece of output is to be dropped for what is in it, which counts.
    pub(super) fn drops(&mut self, piece: &[u8]) -> bool {
        let has = |text: &str| piece.windows(text.len()).any(|some| some == text.as_bytes());
        self.drop_with.take_if(|text| has(text)).is_some()
    }

    /// What becomes of the next socket instead, which counts.
    pub(super) fn instead(&mut self) -> Option<Instead> {
        let take = |left: &mut u32| {
            let is_left = *left > 0;
            *left = left.saturating_sub(1);
            is_left
        };
        if take(&mut self.close_at_once) {
            return Some(Instead::Close);
        }
        take(&mut self.error_at_once).then_some(Instead::Error)
    }
}
