//! Sessions of the yard.

use std::time::Duration;

use ptyard_core::TerminalId;

use super::error::AgentError;
use super::roster::{Member, Session};
use crate::error::YardError;
use crate::spec::TerminalRef;
use crate::yard::Yard;

impl Yard {
    /// All sessions, by name.
    #[must_use]
    pub fn sessions(&self) -> Vec<Session> {
        self.inner.team.roster().sessions()
    }

    /// Who an agent is, as others work with it; `None` when no agent runs in the terminal.
    #[must_use]
    pub fn member(&self, id: TerminalId) -> Option<Member> {
        self.inner.team.roster().member(id).cloned()
    }

    /// A session.
    ///
    /// # Errors
    /// When there is none of this name.
    pub fn session(&self, name: &str) -> Result<Session, YardError> {
        Ok(self.inner.team.roster().session(name).map_err(AgentError::from)?)
    }

    /// Ends all programs of a session, at once, and removes its terminals. It goes on when the caller is gone.
    ///
    /// # Errors
    /// When there is no such session, or a program survived; what could be removed was.
    pub async fn shut_down_session(&self, name: &str, grace: Option<Duration>) -> Result<Session, YardError> {
        let session = self.session(name)?;
        let ends: Vec<_> = session
            .members
            .iter()
            .map(|member| {
                let (yard, at) = (self.clone(), TerminalRef::Id(member.id));
                tokio::spawn(async move {
                    yard.kill(&at, grace).await?;
                    yard.remove(&at).await
                })
            })
            .collect();
        let mut failed = None;
        for end in ends {
            match end.await {
                Ok(Ok(_) | Err(YardError::TerminalRemoved(_))) => {}
                Ok(Err(error)) => failed = Some(error),
                Err(error) => failed = Some(YardError::InvalidArgument(error.to_string())),
            }
        }
        failed.map_or(Ok(session), Err)
    }
}
