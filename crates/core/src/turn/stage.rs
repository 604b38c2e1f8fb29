//! How far an attempt is.

use super::attempt::AttemptId;

/// How far the attempt under way is. Whether a turn runs beside it is another thing: a turn outlives its attempt.
///
/// ```text
/// Free -> Noting -> Pasting -> Pausing -> Entering <-> Written -> Free
///           |          |          |          |           ^
///           +-> Free   +----------+----------+-----------+     nothing written: Free; a part: Written, in doubt
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Stage {
    /// No attempt is under way.
    Free,
    /// Its note is being written. Not a byte went out.
    Noting(AttemptId),
    /// Its paste is being written.
    Pasting(AttemptId),
    /// Its paste was taken; its Enter waits for the pause.
    Pausing(AttemptId),
    /// An Enter of it is being written.
    Entering(AttemptId),
    /// All was written, and nothing shows yet that the program took it.
    Written(AttemptId),
    /// Somebody else submitted something, and nothing shows yet what came of it.
    HumanWrote,
}

impl Stage {
    /// The attempt under way.
    pub(super) const fn attempt(self) -> Option<AttemptId> {
        match self {
            Self::Noting(attempt)
            | Self::Pasting(attempt)
            | Self::Pausing(attempt)
            | Self::Entering(attempt)
            | Self::Written(attempt) => Some(attempt),
            Self::Free | Self::HumanWrote => None,
        }
    }

    /// Whether bytes went out, or are going out, and nothing shows that they were taken.
    pub(super) const fn is_unconfirmed(self) -> bool {
        !matches!(self, Self::Free | Self::Noting(_))
    }
}
