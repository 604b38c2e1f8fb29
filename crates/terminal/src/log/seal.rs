//! The end of a program's output.

/// Where a program's output ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Seal {
    /// The end of the log when the program's end was known. Bytes of descendants may follow.
    pub at: u64,
    /// What the owner wants to find beside it, for example the exit as JSON; at most [`Seal::NOTE_BYTES`] are kept.
    pub note: String,
}

impl Seal {
    /// The longest note, in bytes: it must fit into the ring's header, where sealing can never hit a full disk.
    pub const NOTE_BYTES: usize = 3 << 10;
}
