//! What a network and a vendor do to clients, to be switched on.

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

/// Refusals to come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Refusal {
    /// Part of a path, as `/sandboxes` or `SendInput`.
    pub path: &'static str,
    /// The status.
    pub status: u16,
    /// How often.
    pub times: u32,
}

impl Faults {
    /// The status that a request for this path is refused with, which counts.
    pub(super) fn refuses(&mut self, path: &str) -> Option<u16> {
        let refusal =
            self.refuse.as_mut().filter(|refusal| refusal.times > 0 && path.contains(refusal.path))?;
        refusal.times -= 1;
        Some(refusal.status)
    }
}
