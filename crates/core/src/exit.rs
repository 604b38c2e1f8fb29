//! How a program ended.

use serde::{Deserialize, Serialize};

/// Why a program ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Cause {
    /// It ended by itself with a code.
    Exited,
    /// A signal that we did not send ended it.
    Signaled,
    /// We ended it; [`Exit::by`] says who asked.
    Killed,
    /// Its end was not seen: the process that could have known is gone.
    Lost,
    /// It ended and nobody could say how.
    Unknown,
}

/// The end of a program, reported once, with its last bytes.
///
/// # Invariants
/// 1. `code` is set only when the program returned it; it is never invented.
/// 2. `code` and `signal` are never both set.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Exit {
    /// The code the program returned, 0..=255.
    pub code: Option<i32>,
    /// The signal that ended it, 1..=64.
    pub signal: Option<i32>,
    /// Why it ended.
    pub cause: Cause,
    /// Who or what ended it, when we did: `kill`, `prune`, `stop`, a limit's name.
    pub by: Option<String>,
    /// How many descendants still lived when the end was reported.
    pub descendants: u32,
}

impl Exit {
    /// A program that returned `code`.
    #[must_use]
    pub fn exited(code: i32) -> Self {
        Self { code: Some(code), signal: None, cause: Cause::Exited, by: None, descendants: 0 }
    }

    /// A program ended by `signal`, which we did not send.
    #[must_use]
    pub fn signaled(signal: i32) -> Self {
        Self { code: None, signal: Some(signal), cause: Cause::Signaled, by: None, descendants: 0 }
    }

    /// A program whose end nobody saw.
    #[must_use]
    pub fn lost() -> Self {
        Self { code: None, signal: None, cause: Cause::Lost, by: None, descendants: 0 }
    }

    /// The code a shell would show: the code, or 128 + the signal; `None` when unknown.
    #[must_use]
    pub fn shell_code(&self) -> Option<i32> {
        self.code.or_else(|| self.signal.map(|s| 128 + s))
    }
}
