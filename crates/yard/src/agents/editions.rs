//! Providers as their manifests change: what is edited is in use in the next moment, if it is good.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Weak};

use ptyard_providers::library::{Reloaded, files};
use ptyard_providers::{Library, Origin, Provider};
use ptyard_terminal::{FileChange, FileChanges};
use tokio::sync::watch;

use crate::yard::{Inner, Yard};

/// The directory of the state directory with manifests of this machine.
const DIRECTORY: &str = "providers";

/// The providers that are in use, and the manifests that are not because they are broken.
#[derive(Debug, Clone, Default)]
pub struct Known {
    /// The providers.
    pub library: Library,
    /// What is not used.
    pub refused: Vec<Refusal>,
}

/// A manifest that is not used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    /// Which provider it was to be.
    pub id: String,
    /// Why, where, and what is used instead, for people.
    pub why: String,
}

/// A provider as it is listed.
#[derive(Debug, Clone)]
pub struct Row {
    /// Its id.
    pub id: String,
    /// What is used; `None` when its manifest is broken and there was none before.
    pub provider: Option<Arc<Provider>>,
    /// Why its manifest is not used, for people.
    pub problem: Option<String>,
}

impl Known {
    /// All of them by id, those too whose manifest is broken.
    #[must_use]
    pub fn rows(&self) -> Vec<Row> {
        let used = self.library.iter().map(|provider| (provider.id(), Some(provider)));
        let broken = self.refused.iter().map(|refusal| (refusal.id.as_str(), self.library.get(&refusal.id)));
        let all: BTreeMap<&str, Option<&Arc<Provider>>> = used.chain(broken).collect();
        let problem = |id: &str| self.refused.iter().find(|refusal| refusal.id == id);
        all.into_iter()
            .map(|(id, provider)| Row {
                id: id.to_owned(),
                provider: provider.cloned(),
                problem: problem(id).map(|refusal| refusal.why.clone()),
            })
            .collect()
    }

    /// What is built in, with the manifests in the state directory over it.
    #[must_use]
    pub fn read(state: &Path) -> Self {
        let library = Library::bundled().unwrap_or_else(|error| {
            tracing::error!(%error, "a built-in manifest is broken");
            Library::default()
        });
        Self { library, refused: Vec::new() }.reread(state)
    }

    /// The same after the files changed. What is broken now is used as it was.
    fn reread(&self, state: &Path) -> Self {
        let directory = directory(state);
        let found = match files::read_directory(&directory, Origin::Local) {
            Ok(found) => found,
            Err(error) => {
                let why = format!("{} cannot be read: {error}", directory.display());
                return Self { refused: vec![Refusal { id: String::new(), why }], ..self.clone() };
            }
        };
        let mut library = self.library.clone();
        let refusal = |reloaded| match reloaded {
            Reloaded::Loaded { .. } => None,
            Reloaded::Refused { id, place, in_use, error } => {
                let instead = in_use.map_or_else(
                    || "nothing of that name is in use".to_owned(),
                    |version| format!("version {version} stays in use"),
                );
                Some(Refusal { id, why: format!("{place}: {error}; {instead}") })
            }
        };
        let refused = library.reload(&found).into_iter().filter_map(refusal).collect();
        Self { library, refused }
    }
}

fn directory(state: &Path) -> PathBuf {
    state.join(DIRECTORY)
}

/// The editions that are in use; `None` until somebody asks.
#[derive(Debug)]
pub(crate) struct Editions(watch::Sender<Option<Arc<Known>>>);

impl Default for Editions {
    fn default() -> Self {
        Self(watch::Sender::new(None))
    }
}

impl Editions {
    /// What is in use. Read when it is asked for first.
    pub(crate) fn now(&self, state: &Path) -> Arc<Known> {
        let mut wanted = None;
        self.0.send_if_modified(|now| {
            let is_first = now.is_none();
            let known = now.get_or_insert_with(|| {
                let known = Known::read(state);
                tell(&known);
                Arc::new(known)
            });
            wanted = Some(Arc::clone(known));
            is_first
        });
        wanted.unwrap_or_default()
    }

    /// What will be in use.
    pub(super) fn follow(&self) -> watch::Receiver<Option<Arc<Known>>> {
        self.0.subscribe()
    }

    /// Takes over what the files say now, if somebody asked for it before. Returns the providers that are other ones.
    fn reload(&self, state: &Path) -> Vec<Arc<Provider>> {
        let mut changed = Vec::new();
        self.0.send_if_modified(|now| {
            let Some(before) = now else { return false };
            let next = before.reread(state);
            let is_another = |provider: &&Arc<Provider>| {
                before.library.get(provider.id()).is_none_or(|before| !Arc::ptr_eq(before, provider))
            };
            changed.extend(next.library.iter().filter(is_another).cloned());
            if next.refused != before.refused {
                tell(&next);
            }
            *now = Some(Arc::new(next));
            !changed.is_empty()
        });
        changed
    }
}

fn tell(known: &Known) {
    for refusal in &known.refused {
        tracing::warn!(why = refusal.why, "a manifest is not used");
    }
}

impl Yard {
    /// The providers that are in use.
    #[must_use]
    pub fn providers(&self) -> Arc<Known> {
        self.inner.team.providers(&self.inner.config.state)
    }

    /// From now on manifests are in use when they are written, also in the terminals that run.
    pub(crate) fn follow_manifests(&self) {
        let editions = self.inner.team.editions.follow();
        let (yard, state) = (Arc::downgrade(&self.inner), self.inner.config.state.clone());
        tokio::spawn(async move {
            tokio::select! {
                followed = follow(&yard, &state) => if let Err(error) = followed {
                    tracing::warn!(%error, "manifests that change are used after the next start");
                },
                () = gone(editions) => {}
            }
        });
    }

    /// Takes over the manifests as they are now.
    async fn reload_manifests(&self) {
        let changed = self.inner.team.editions.reload(&self.inner.config.state);
        for provider in &changed {
            tracing::info!(provider = provider.id(), version = provider.version(), "a manifest is in use");
        }
        let entries: Vec<_> = self.registry().all().filter(|entry| !entry.has_exited()).cloned().collect();
        for entry in entries {
            let goes_by = self.inner.team.roster().member(entry.id()).map(|member| member.provider.clone());
            if goes_by.is_some_and(|id| changed.iter().any(|provider| provider.id() == id)) {
                // One that has just ended is judged no more.
                let _ended = entry.terminal.judge_again().await;
            }
        }
    }
}

/// Until nobody uses them any more.
async fn gone(mut editions: watch::Receiver<Option<Arc<Known>>>) {
    while editions.changed().await.is_ok() {}
}

async fn follow(yard: &Weak<Inner>, state: &Path) -> std::io::Result<()> {
    let directory = directory(state);
    let mut changes = FileChanges::new()?;
    changes.watch(state)?;
    loop {
        // Most machines have none; when it comes, the state directory tells. What changes from here on is read again.
        let _none_yet = changes.watch(&directory);
        let Some(inner) = yard.upgrade() else { return Ok(()) };
        Yard { inner }.reload_manifests().await;
        loop {
            let concerns_us = |change: &FileChange| match change {
                FileChange::In(at, name) => *at == directory || name == DIRECTORY,
                FileChange::Gone(_) | FileChange::Missed => true,
            };
            if changes.next().await?.iter().any(concerns_us) {
                break;
            }
        }
    }
}
