//! Named groups of terminals that work together.

use std::fmt;
use std::time::SystemTime;

use ptyard_core::TerminalId;

use crate::answer::Answer;

/// The name of a session: 1 to [`SessionName::MOST_BYTES`] bytes of letters, digits, `_`, `-` and `.`, the first one a
/// letter or a digit.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SessionName(String);

impl SessionName {
    /// Longest name, which every multiplexer takes.
    pub const MOST_BYTES: usize = 64;

    /// The name, if it is one.
    #[must_use]
    pub fn new(name: impl Into<String>) -> Option<Self> {
        let name = name.into();
        let plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.');
        let begins = name.bytes().next().is_some_and(|byte| byte.is_ascii_alphanumeric());
        (begins && name.len() <= Self::MOST_BYTES && name.bytes().all(plain)).then_some(Self(name))
    }

    /// The name as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for SessionName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// A session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionRow {
    /// Its name.
    pub name: SessionName,
    /// The terminal that leads it.
    pub conductor: Option<TerminalId>,
    /// When it was made, for people to read.
    pub created_at: SystemTime,
}

/// The sessions. Every answer survives the machine.
pub trait Sessions {
    /// Writes a session down; one that is there keeps its time and gets the conductor.
    fn put_session(&self, row: SessionRow) -> Answer<'_, ()>;

    /// Forgets a session. Its terminals stay, without one.
    fn remove_session(&self, name: SessionName) -> Answer<'_, ()>;

    /// All sessions, in the order in which they were made.
    fn sessions(&self) -> Answer<'_, Vec<SessionRow>>;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_what_every_multiplexer_takes() {
        for good in ["a", "team-1", "0.b_c", &"x".repeat(64)] {
            assert!(SessionName::new(good).is_some(), "{good}");
        }
        for bad in ["", "-a", ".a", "a b", "a\n", "a:b", "ä", &"x".repeat(65)] {
            assert!(SessionName::new(bad).is_none(), "{bad:?}");
        }
    }
}
