//! Ending what servers that died left at the places of backends.
//!
//! What a backend made is asked for first, and only then which terminals live. A terminal is written down before anything is
//! made for it, so whatever is found belongs to one that is written down, or to none.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use ptyard_core::TerminalId;
use ptyard_terminal::backend::{Backend, Creation};
use tokio::task::JoinSet;
use tokio::time::timeout;

use crate::error::YardError;
use crate::yard::Yard;

/// How long a place may take to say what there is.
const ASK_LIMIT: Duration = Duration::from_secs(60);

/// How long the end of one thing may take.
const END_LIMIT: Duration = Duration::from_secs(120);

/// How many are ended at once.
const AT_ONCE: usize = 8;

/// What is to become of leftovers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sweep {
    /// They are ended.
    End,
    /// They are told of only.
    Look,
}

/// What became of one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// It is there.
    Found,
    /// It is gone.
    Ended,
    /// It may be there: why it was not ended.
    Stays(String),
}

/// Something that no living terminal owns.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Leftover {
    /// The backend's word.
    pub backend: &'static str,
    /// What it is, in words.
    pub what: String,
    /// The terminal it was made for, when that is known.
    pub terminal: Option<TerminalId>,
    /// What became of it.
    pub outcome: Outcome,
}

/// What was found.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Swept {
    /// What no living terminal owns, by backend.
    pub leftovers: Vec<Leftover>,
    /// Backends that could not be asked, and why.
    pub unreachable: Vec<(&'static str, String)>,
}

impl Yard {
    /// Finds what servers of this state made at the places of `backend`, or of all, and no living terminal owns; and ends it.
    /// Given up, it may have ended some of it.
    ///
    /// # Errors
    /// When there is no such backend, or what is written down cannot be read.
    pub async fn sweep(&self, backend: Option<&str>, how: Sweep) -> Result<Swept, YardError> {
        let backends: Vec<Arc<dyn Backend>> = match backend {
            None => self.inner.backends.values().cloned().collect(),
            Some(name) => match self.inner.backends.get(name) {
                Some(backend) => vec![Arc::clone(backend)],
                None => return Err(self.no_backend(name)),
            },
        };
        let mut asking = JoinSet::new();
        for backend in backends {
            asking.spawn(async move {
                let creations = timeout(ASK_LIMIT, backend.creations()).await;
                let creations = creations.map_err(|_| format!("no answer within {ASK_LIMIT:?}"));
                (backend.name(), creations.and_then(|creations| creations.map_err(|error| error.to_string())))
            });
        }
        let (mut swept, mut found) = (Swept::default(), Vec::new());
        for (backend, creations) in asking.join_all().await {
            match creations {
                Ok(creations) => found.extend(creations.into_iter().map(|creation| (backend, creation))),
                Err(why) => swept.unreachable.push((backend, why)),
            }
        }
        if !found.is_empty() {
            let owners = self.owners().await?;
            found.retain(|(_, creation)| creation.owner.is_none_or(|owner| !owners.contains(&owner)));
        }
        swept.leftovers = settle(found, how).await;
        swept.leftovers.sort_by(|a, b| (a.backend, &a.what).cmp(&(b.backend, &b.what)));
        swept.unreachable.sort();
        Ok(swept)
    }

    /// The terminals that may own something: those that live, and those that are being started.
    async fn owners(&self) -> Result<HashSet<TerminalId>, YardError> {
        let rows = self.inner.store.terminals().await?;
        let registry = self.registry();
        let known: HashSet<TerminalId> = registry.all().map(|entry| entry.id()).collect();
        let living = registry.all().filter(|entry| !entry.has_exited()).map(|entry| entry.id());
        let starting = rows.into_iter().map(|row| row.id).filter(|id| !known.contains(id));
        Ok(living.chain(starting).collect())
    }
}

async fn settle(found: Vec<(&'static str, Creation)>, how: Sweep) -> Vec<Leftover> {
    let (mut settled, mut ending) = (Vec::new(), JoinSet::new());
    for (backend, Creation { what, owner: terminal, end }) in found {
        let leftover = Leftover { backend, what, terminal, outcome: Outcome::Found };
        if how == Sweep::Look {
            settled.push(leftover);
            continue;
        }
        if ending.len() == AT_ONCE {
            settled.extend(ending.join_next().await.and_then(Result::ok));
        }
        ending.spawn(async move {
            let outcome = match timeout(END_LIMIT, end).await {
                Ok(Ok(())) => Outcome::Ended,
                Ok(Err(error)) => Outcome::Stays(error.to_string()),
                Err(_) => Outcome::Stays(format!("no answer within {END_LIMIT:?}")),
            };
            tracing::info!(backend, what = leftover.what, ?outcome, "a leftover");
            Leftover { outcome, ..leftover }
        });
    }
    settled.extend(ending.join_all().await);
    settled
}
