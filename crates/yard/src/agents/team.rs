//! What a yard knows of its agents.

use std::io;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use ptyard_core::TerminalId;
use ptyard_providers::{Dialog, Provider};
use ptyard_terminal::agent::{Agent, Earlier, TurnEvents};
use ptyard_terminal::{Outlives, replace_file};
use tokio::sync::watch;

use super::editions::{Editions, Known};
use super::handoff::Handoffs;
use super::judge;
use super::launch::GENERIC;
use super::listen::door::Doors;
use super::roster::{Member, Roster};
use crate::entry::Entry;

/// What is written down of a member, beside its terminal's log.
const MEMBER: &str = "member.json";

/// The agents of a yard.
#[derive(Default)]
pub(crate) struct Team {
    roster: Mutex<Roster>,
    pub(super) editions: Editions,
    pub(super) doors: Doors,
    /// Made when the first one is begun, or an earlier server left some.
    pub(super) handoffs: OnceLock<Handoffs>,
}

impl Team {
    /// Who works with whom. Not held across a wait.
    pub(crate) fn roster(&self) -> MutexGuard<'_, Roster> {
        // Every change leaves it whole.
        self.roster.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The providers, in the editions that are in use now.
    pub(crate) fn providers(&self, state: &Path) -> Arc<Known> {
        self.editions.now(state)
    }

    /// A provider, or that of any program when it is not known any more.
    pub(super) fn provider(&self, state: &Path, id: &str) -> Option<Arc<Provider>> {
        let known = self.providers(state);
        known.library.get(id).or_else(|| known.library.get(GENERIC)).cloned()
    }

    /// Tells a terminal's actor what runs in it. What it tells of its turns from now on, and the dialogs it shows.
    /// `earlier` is what is on record of it.
    pub(crate) async fn attend(
        &self,
        state: &Path,
        entry: &Entry,
        provider: &str,
        earlier: Option<Earlier>,
    ) -> Option<(TurnEvents, watch::Receiver<Option<Dialog>>)> {
        // Before the edition is asked for, so that none falls in between.
        let editions = self.editions.follow();
        let provider = self.provider(state, provider)?;
        let (agent, dialogs) = judge::agent(&provider, editions);
        match entry.terminal.attend(Agent { earlier, ..agent }).await {
            Ok(events) => Some((events, dialogs)),
            Err(error) => {
                tracing::debug!(%error, id = %entry.id(), "it ended before it was attended");
                None
            }
        }
    }

    /// Forgets an agent whose terminal is removed.
    pub(crate) fn forget(&self, id: TerminalId) {
        self.roster().leave(id);
    }
}

/// Writes a member down in its terminal's directory, whole or not at all.
pub(crate) fn keep(member: &Member, directory: &Path) -> io::Result<()> {
    replace_file(&directory.join(MEMBER), &serde_json::to_vec(member)?, Outlives::Process)
}

/// The member whose terminal has this directory; `None` when no agent was started there.
pub(crate) fn kept(directory: &Path) -> Option<Member> {
    serde_json::from_slice(&std::fs::read(directory.join(MEMBER)).ok()?).ok()
}
