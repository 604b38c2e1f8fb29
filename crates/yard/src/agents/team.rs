//! What a yard knows of its agents.

use std::fs::OpenOptions;
use std::io::{self, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use ptyard_core::TerminalId;
use ptyard_providers::library::{Reloaded, files};
use ptyard_providers::{Dialog, Library, Origin, Provider};
use ptyard_terminal::agent::{Agent, Earlier, TurnEvents};
use tokio::sync::watch;

use super::handoff::Handoffs;
use super::judge;
use super::launch::GENERIC;
use super::roster::{Member, Roster};
use crate::entry::Entry;

/// What is written down of a member, beside its terminal's log.
const MEMBER: &str = "member.json";

/// The agents of a yard.
#[derive(Default)]
pub(crate) struct Team {
    roster: Mutex<Roster>,
    providers: OnceLock<Library>,
    /// Made when the first one is begun, or an earlier server left some.
    pub(super) handoffs: OnceLock<Handoffs>,
}

impl Team {
    /// Who works with whom. Not held across a wait.
    pub(crate) fn roster(&self) -> MutexGuard<'_, Roster> {
        // Every change leaves it whole.
        self.roster.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The providers: those built in, with those of the state directory over them. Read when first asked for.
    pub(crate) fn providers(&self, state: &Path) -> &Library {
        self.providers.get_or_init(|| {
            let mut library = Library::bundled().unwrap_or_else(|error| {
                tracing::error!(%error, "a built-in manifest is broken");
                Library::default()
            });
            let directory = state.join("providers");
            match files::read_directory(&directory, Origin::Local) {
                Ok(found) => {
                    for reloaded in library.reload(&found) {
                        if let Reloaded::Refused { place, error } = reloaded {
                            tracing::warn!(%place, %error, "a manifest is not used");
                        }
                    }
                }
                Err(error) => tracing::warn!(%error, directory = %directory.display(), "no manifests"),
            }
            library
        })
    }

    /// A provider, or that of any program when it is not known any more.
    pub(super) fn provider(&self, state: &Path, id: &str) -> Option<Arc<Provider>> {
        let library = self.providers(state);
        library.get(id).or_else(|| library.get(GENERIC)).cloned()
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
        let provider = self.provider(state, provider)?;
        let (agent, dialogs) = judge::agent(&provider);
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
    let part = directory.join("member.json.part");
    let mut file = OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&part)?;
    file.write_all(&serde_json::to_vec(member)?)?;
    drop(file);
    std::fs::rename(&part, directory.join(MEMBER))
}

/// The member whose terminal has this directory; `None` when no agent was started there.
pub(crate) fn kept(directory: &Path) -> Option<Member> {
    serde_json::from_slice(&std::fs::read(directory.join(MEMBER)).ok()?).ok()
}
