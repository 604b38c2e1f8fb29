//! What a terminal publishes about itself: the one value every waiter watches.

use ptyard_core::{Exit, Moment, Size};

/// How far a terminal is. Written by its actor alone, watched by everybody else.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Progress {
    /// Published end of the log.
    pub end: u64,
    /// When the last byte arrived.
    pub last_output: Option<Moment>,
    /// Offset after the last shell prompt marker (OSC 133 A or B).
    pub prompt: Option<u64>,
    /// Size of the tty.
    pub size: Size,
    /// The end, once it was reached.
    pub sealed: Option<Sealed>,
    /// Why output is held back, while it is.
    pub held_back: Option<String>,
    /// Set when the terminal was removed: nothing more will come and the log may be gone.
    pub removed: bool,
}

impl Progress {
    /// Output that a milestone stands for, at most.
    const MILESTONE_BYTES: u64 = 256 * 1024;

    /// Whether something happened since `before` that concerns even those who do not look at every byte.
    #[must_use]
    pub(crate) fn is_milestone_after(&self, before: &Self) -> bool {
        self.end / Self::MILESTONE_BYTES != before.end / Self::MILESTONE_BYTES
            || self.sealed != before.sealed
            || self.removed != before.removed
    }
}

/// The reported end of a terminal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sealed {
    /// How the program ended.
    pub exit: Exit,
    /// The end of the log then; bytes after it are a descendant's.
    pub end: u64,
    /// When.
    pub at: Moment,
}

impl Progress {
    /// The progress of a terminal that printed nothing yet.
    #[must_use]
    pub fn start(size: Size) -> Self {
        Self { end: 0, last_output: None, prompt: None, size, sealed: None, held_back: None, removed: false }
    }
}
