//! The providers that are known.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::manifest::{ManifestError, Origin, Provider};

/// The manifests that are built in.
const BUNDLED: &[(&str, &str)] = &[
    ("aider", include_str!("../manifests/aider.toml")),
    ("claude_code", include_str!("../manifests/claude_code.toml")),
    ("cline", include_str!("../manifests/cline.toml")),
    ("codex", include_str!("../manifests/codex.toml")),
    ("copilot_cli", include_str!("../manifests/copilot_cli.toml")),
    ("gemini_cli", include_str!("../manifests/gemini_cli.toml")),
    ("kimi_cli", include_str!("../manifests/kimi_cli.toml")),
    ("opencode_cli", include_str!("../manifests/opencode_cli.toml")),
    ("pi", include_str!("../manifests/pi.toml")),
    ("qwen_code", include_str!("../manifests/qwen_code.toml")),
    ("vibe", include_str!("../manifests/vibe.toml")),
];

/// All providers by id.
#[derive(Debug, Clone, Default)]
pub struct Library {
    providers: BTreeMap<String, Arc<Provider>>,
}

impl Library {
    /// The providers that are built in.
    ///
    /// # Errors
    ///
    /// When one of them is broken, which a test rules out.
    pub fn bundled() -> Result<Self, ManifestError> {
        let load = |&(id, source): &(&str, &str)| {
            Ok((id.to_owned(), Provider::parse(source, Origin::Bundled)?))
        };
        Ok(Self { providers: BUNDLED.iter().map(load).collect::<Result<_, _>>()? })
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
}
