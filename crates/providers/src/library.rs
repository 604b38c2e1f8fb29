//! The providers that are known.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::manifest::{ManifestError, Origin, Provider};

/// The manifests that are built in.
const BUNDLED: &[(&str, &str)] = &[
    ("aider", include_str!("../manifests/aider.toml")),
    ("antigravity_cli", include_str!("../manifests/antigravity_cli.toml")),
    ("claude_code", include_str!("../manifests/claude_code.toml")),
    ("cline", include_str!("../manifests/cline.toml")),
    ("codex", include_str!("../manifests/codex.toml")),
    ("copilot_cli", include_str!("../manifests/copilot_cli.toml")),
    ("cursor_cli", include_str!("../manifests/cursor_cli.toml")),
    ("gemini_cli", include_str!("../manifests/gemini_cli.toml")),
    ("generic", include_str!("../manifests/generic.toml")),
    ("grok_cli", include_str!("../manifests/grok_cli.toml")),
    ("hermes", include_str!("../manifests/hermes.toml")),
    ("kimi_cli", include_str!("../manifests/kimi_cli.toml")),
    ("kiro_cli", include_str!("../manifests/kiro_cli.toml")),
    ("mcode", include_str!("../manifests/mcode.toml")),
    ("omp", include_str!("../manifests/omp.toml")),
    ("opencode_cli", include_str!("../manifests/opencode_cli.toml")),
    ("pi", include_str!("../manifests/pi.toml")),
    ("qwen_code", include_str!("../manifests/qwen_code.toml")),
    ("shell", include_str!("../manifests/shell.toml")),
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
        let load =
            |&(id, source): &(&str, &str)| Ok((id.to_owned(), Provider::parse(source, Origin::Bundled)?));
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
