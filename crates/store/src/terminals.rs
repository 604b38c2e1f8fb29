//! The terminals there are.

use ptyard_core::{SessionId, TerminalId};

use crate::answer::Answer;
use crate::sessions::SessionName;

/// How far a start came.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stage {
    /// The program is about to be started: when it is not there, it never was.
    Starting,
    /// It was started.
    Started,
}

/// A terminal, as far as the store tells one from another.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TerminalRow {
    /// Its full id.
    pub id: TerminalId,
    /// Its short id.
    pub short: SessionId,
    /// Its name.
    pub name: Option<String>,
    /// The group it works in.
    pub session: Option<SessionName>,
    /// How far its start came.
    pub stage: Stage,
    /// Everything else its owner wants to know again, as JSON. No value of a variable that a caller gave may be in it.
    pub details: String,
}

/// The terminals. Every answer survives the server: the programs end with the machine.
pub trait Terminals {
    /// Writes a terminal down, in place of what was known of it.
    fn put_terminal(&self, row: TerminalRow) -> Answer<'_, ()>;

    /// Forgets a terminal and its keys. Mail that waited for it failed with the reason `receiver_removed`; what was being
    /// delivered is uncertain. Nothing happens when there is none.
    fn remove_terminal(&self, id: TerminalId) -> Answer<'_, ()>;

    /// All terminals, oldest first.
    fn terminals(&self) -> Answer<'_, Vec<TerminalRow>>;
}
