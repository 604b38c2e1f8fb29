//! Why something about agents is refused.

use ptyard_core::{ErrorCode, HandoffId};
use ptyard_store::StoreError;

use super::profile::{LibraryError, ProfileError};
use super::roster::RosterError;

/// Why something about agents is refused.
#[derive(Debug, thiserror::Error)]
pub enum AgentError {
    /// There is no such handoff.
    #[error("there is no handoff {0}")]
    UnknownHandoff(HandoffId),
    /// Who shows no token, or a wrong one, speaks for no terminal.
    #[error("the token is not that of the terminal")]
    NotThatTerminal,
    /// A profile was not found, or cannot be used.
    #[error(transparent)]
    Library(#[from] LibraryError),
    /// A text is no profile.
    #[error(transparent)]
    Profile(#[from] ProfileError),
    /// The roster refuses.
    #[error(transparent)]
    Roster(#[from] RosterError),
    /// The store refuses.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl AgentError {
    /// The stable code.
    #[must_use]
    pub fn code(&self) -> ErrorCode {
        match self {
            Self::UnknownHandoff(_) => ErrorCode::UnknownHandoff,
            Self::NotThatTerminal => ErrorCode::Forbidden,
            Self::Library(LibraryError::Unknown { .. }) => ErrorCode::UnknownProfile,
            Self::Library(LibraryError::Broken { .. }) | Self::Profile(_) => ErrorCode::InvalidProfile,
            Self::Roster(error) => error.code(),
            Self::Store(error) => error.code(),
        }
    }
}
