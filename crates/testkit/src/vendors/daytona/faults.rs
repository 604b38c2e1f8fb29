//! What a network and a vendor do to clients, to be switched on.

use crate::vendors::Refusal;

/// Faults of a server. None by default.
#[derive(Debug, Clone)]
pub struct Faults {
    /// Output comes in messages of at most this many bytes, whatever characters that splits.
    pub output_piece_bytes: Option<usize>,
    /// The socket that makes a terminal is cut before this message of it; 0 is the one that says it is connected.
    pub cut_before_message: Option<usize>,
    /// How many pieces of output may wait for a client before the daemon lets go of it, with 1008.
    pub most_pieces_behind: usize,
    /// The end of a terminal is told in the reason of the close only, as to clients that did not ask for more.
    pub no_exit_message: bool,
    /// A new sandbox is found starting this often before it runs.
    pub looks_until_started: u32,
    /// A sandbox is made, and the connection breaks instead of an answer, this often.
    pub lose_makes: u32,
    /// Requests with this in their path are refused with this status, this many times.
    pub refuse: Option<Refusal>,
}

impl Default for Faults {
    fn default() -> Self {
        Self {
            output_piece_bytes: None,
            cut_before_message: None,
            most_pieces_behind: 256,
            no_exit_message: false,
            looks_until_started: 0,
            lose_makes: 0,
            refuse: None,
        }
    }
}
