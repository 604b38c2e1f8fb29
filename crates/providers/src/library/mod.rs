//! The providers that are known: those built in, and manifests of this machine over them.
//!
//! [`files`] is the only place of this crate that reads files.

pub mod files;

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::manifest::{ManifestError, Origin, Provider};

/// The manifests that are built in, by id.
const BUNDLED: &[(&str, &str)] = &[
    ("aider", include_str!("../../manifests/aider.toml")),
    ("antigravity_cli", include_str!("../../manifests/antigravity_cli.toml")),
    ("claude_code", include_str!("../../manifests/claude_code.toml")),
    ("cline", include_str!("../../manifests/cline.toml")),
    ("codex", include_str!("../../manifests/codex.toml")),
    ("copilot_cli", include_str!("../../manifests/copilot_cli.toml")),
    ("cursor_cli", include_str!("../../manifests/cursor_cli.toml")),
    ("gemini_cli", include_str!("../../manifests/gemini_cli.toml")),
    ("generic", include_str!("../../manifests/generic.toml")),
    ("grok_cli", include_str!("../../manifests/grok_cli.toml")),
    ("hermes", include_str!("../../manifests/hermes.toml")),
    ("kimi_cli", include_str!("../../manifests/kimi_cli.toml")),
    ("kiro_cli", include_str!("../../manifests/kiro_cli.toml")),
    ("mcode", include_str!("../../manifests/mcode.toml")),
    ("omp", include_str!("../../manifests/omp.toml")),
    ("opencode_cli", include_str!("../../manifests/opencode_cli.toml")),
    ("pi", include_str!("../../manifests/pi.toml")),
    ("qwen_code", include_str!("../../manifests/qwen_code.toml")),
    ("shell", include_str!("../../manifests/shell.toml")),
    ("vibe", include_str!("../../manifests/vibe.toml")),
];

/// All providers by id.
///
/// # Invariants
///
/// 1. Every provider passed its own tests, and stands under its id.
/// 2. What is built in is never lost: a manifest of this machine stands over it, and when that is gone it is back.
#[derive(Debug, Clone, Default)]
pub struct Library {
    providers: BTreeMap<String, Arc<Provider>>,
    /// What the providers that are not built in were read from.
    sources: BTreeMap<String, Found>,
}

/// A manifest as it was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Found {
    /// Where: a path, for people.
    pub place: String,
    /// Its text.
    pub source: String,
    /// How far it is trusted.
    pub origin: Origin,
}

/// What became of a manifest in a reload.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reloaded {
    /// It is in use, in this version.
    Loaded {
        /// Its id.
        id: String,
        /// Its version.
        version: String,
    },
    /// It is broken. What was in use before stays.
    Refused {
        /// Which one it was to be, by its file's name.
        id: String,
        /// The version that stays in use; `None` when there is none of that id.
        in_use: Option<String>,
        /// Where it was found.
        place: String,
        /// What is wrong.
        error: ManifestError,
    },
}

impl Library {
    /// The providers that are built in.
    ///
    /// # Errors
    ///
    /// When one of them is broken, which a test rules out.
    pub fn bundled() -> Result<Self, ManifestError> {
        let load =
            |&(id, source): &(&str, &str)| Ok((id.to_owned(), Provider::parse(source, Origin::Bundled)?));
        let providers = BUNDLED.iter().map(load).collect::<Result<_, _>>()?;
        Ok(Self { providers, sources: BTreeMap::new() })
    }

    /// A provider that is built in, by its id. Only this one is read.
    #[must_use]
    pub fn one_bundled(id: &str) -> Option<Result<Arc<Provider>, ManifestError>> {
        let source = BUNDLED.iter().find(|(bundled, _)| *bundled == id)?.1;
        Some(Provider::parse(source, Origin::Bundled))
    }

    /// The ids of the providers that are built in.
    pub fn bundled_ids() -> impl Iterator<Item = &'static str> {
        BUNDLED.iter().map(|(id, _)| *id)
    }

    /// A provider by its id.
    #[must_use]
    pub fn get(&self, id: &str) -> Option<&Arc<Provider>> {
        self.providers.get(id)
    }

    /// All of them, by id.
    pub fn iter(&self) -> impl Iterator<Item = &Arc<Provider>> {
        self.providers.values()
    }

    /// Takes over the manifests that stand over the bundled ones by now; those that are gone give place to what is
    /// built in. A broken one changes nothing: the last good edition stays, and the reply says why. A manifest that is as
    /// it was stays the very same provider.
    ///
    /// Terminals that are judged by another edition go on with it until [`Judge::replace`](crate::Judge::replace).
    pub fn reload(&mut self, found: &[Found]) -> Vec<Reloaded> {
        let mut over = BTreeMap::new();
        let mut sources = BTreeMap::new();
        let mut report = Vec::with_capacity(found.len());
        for found in found {
            let unchanged = self.sources.iter().find(|(_, source)| *source == found);
            let unchanged = unchanged.and_then(|(id, _)| self.providers.get(id)).cloned();
            match unchanged.map_or_else(|| Provider::parse(&found.source, found.origin), Ok) {
                Ok(provider) => {
                    let (id, version) = (provider.id().to_owned(), provider.version().to_owned());
                    over.insert(id.clone(), provider);
                    sources.insert(id.clone(), found.clone());
                    report.push(Reloaded::Loaded { id, version });
                }
                Err(error) => {
                    // Whatever it was to be, its file's name says which one stays.
                    let id = files::id_of(&found.place).to_owned();
                    let last_good = self.providers.get(&id).cloned();
                    let in_use = last_good.as_ref().map(|provider| provider.version().to_owned());
                    if let Some(source) = self.sources.get(&id) {
                        sources.insert(id.clone(), source.clone());
                    }
                    over.extend(last_good.map(|provider| (id.clone(), provider)));
                    report.push(Reloaded::Refused { id, place: found.place.clone(), in_use, error });
                }
            }
        }
        let is_bundled = |provider: &Arc<Provider>| provider.origin() == Origin::Bundled;
        let mut next = BTreeMap::new();
        for (id, source) in BUNDLED {
            let kept = self.providers.get(*id).filter(|provider| is_bundled(provider)).cloned();
            let provider = over.remove(*id).or(kept);
            let provider = provider.map_or_else(|| Provider::parse(source, Origin::Bundled), Ok);
            if let Ok(provider) = provider {
                next.insert((*id).to_owned(), provider);
            }
        }
        next.extend(over);
        self.providers = next;
        self.sources = sources;
        debug_assert!(self.providers.iter().all(|(id, provider)| id == provider.id()), "invariant 1");
        report
    }
}

#[cfg(test)]
mod tests;
