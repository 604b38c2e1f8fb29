//! What a network and a vendor do to clients, to be switched on.

use crate::vendors::Refusal;

/// Faults of a server. None by default.
#[derive(Debug, Clone, Default)]
pub struct Faults {
    /// Streams come in pieces of this many bytes, wherever their messages begin and end.
    pub stream_piece_bytes: Option<usize>,
    /// Output comes in messages of at most this many bytes, whatever characters that splits.
    pub output_piece_bytes: Option<usize>,
    /// A program's stream is cut before this message of it; 0 is the one that says that it runs.
    pub cut_before_message: Option<usize>,
    /// The end of a program is told before the last piece of its output.
    pub end_before_last_output: bool,
    /// A stream just closes behind the end of its program, without the envelope that ends it.
    pub no_end_of_stream: bool,
    /// This method takes effect, and the connection breaks instead of an answer.
    pub lose_answers_of: Option<&'static str>,
    /// Requests with this in their path are refused with this status, this many times.
    pub refuse: Option<Refusal>,
}
