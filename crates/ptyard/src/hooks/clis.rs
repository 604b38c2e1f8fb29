//! The CLIs whose hooks are known: where they stand, and in which language.

use std::path::{Path, PathBuf};

use clap::ValueEnum;
use ptyard_providers::HookWords;
use ptyard_providers::launch::hook_line;

use super::{Found, Standing, json, toml};
use crate::config_file::Uneditable;

/// A CLI with hooks, by the id of its provider.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum HookedCli {
    /// Claude Code
    #[value(name = "claude_code")]
    ClaudeCode,
    /// Codex, which asks at its next start whether you trust them
    #[value(name = "codex")]
    Codex,
    /// Gemini CLI
    #[value(name = "gemini_cli")]
    Gemini,
    /// Qwen Code
    #[value(name = "qwen_code")]
    Qwen,
    /// Copilot CLI
    #[value(name = "copilot_cli")]
    Copilot,
    /// Kimi Code
    #[value(name = "kimi_cli")]
    Kimi,
}

impl HookedCli {
    /// The id of its provider.
    pub(crate) const fn id(self) -> &'static str {
        match self {
            Self::ClaudeCode => "claude_code",
            Self::Codex => "codex",
            Self::Gemini => "gemini_cli",
            Self::Qwen => "qwen_code",
            Self::Copilot => "copilot_cli",
            Self::Kimi => "kimi_cli",
        }
    }

    /// What else a person has to know before it runs them.
    pub(super) const fn remark(self) -> Option<&'static str> {
        match self {
            Self::Codex => Some("At its next start Codex asks whether you trust them; it runs none before"),
            Self::ClaudeCode | Self::Gemini | Self::Qwen | Self::Copilot | Self::Kimi => None,
        }
    }

    /// The file that is edited. `variable` looks up the environment.
    pub(super) fn file(self, home: &Path, variable: impl Fn(&str) -> Option<PathBuf>) -> PathBuf {
        let under = |name: &str, usual: &str| variable(name).unwrap_or_else(|| home.join(usual));
        match self {
            Self::ClaudeCode => under("CLAUDE_CONFIG_DIR", ".claude").join("settings.json"),
            Self::Codex => under("CODEX_HOME", ".codex").join("hooks.json"),
            Self::Gemini => home.join(".gemini/settings.json"),
            Self::Qwen => home.join(".qwen/settings.json"),
            // Every file there is read, so this one is all ours.
            Self::Copilot => under("COPILOT_HOME", ".copilot").join("hooks/ptyard.json"),
            Self::Kimi => under("KIMI_CODE_HOME", ".kimi-code").join("config.toml"),
        }
    }

    const fn words(self) -> HookWords {
        match self {
            Self::ClaudeCode | Self::Codex | Self::Qwen | Self::Kimi => HookWords::Claude,
            Self::Gemini => HookWords::Gemini,
            Self::Copilot => HookWords::Copilot,
        }
    }

    /// What it is to run.
    pub(super) fn line(self, program: &str) -> String {
        hook_line(self.words(), program)
    }

    /// `text` with entries that run `line`, in place of earlier ones.
    ///
    /// # Errors
    /// When the CLI could not read the text, or something else stands where entries belong.
    pub(super) fn with_entries(self, text: &str, line: &str) -> Result<String, Uneditable> {
        if self.standing(text, line)? == Standing::Installed {
            return Ok(text.to_owned());
        }
        let text = self.without_entries(text)?;
        match self {
            Self::Kimi => toml::with_entries(&text, self.words(), line),
            _ => json::with_entries(&text, self.words(), line),
        }
    }

    /// `text` without entries of ours; empty when nothing else ever stood there.
    ///
    /// # Errors
    /// When the CLI could not read the text.
    pub(super) fn without_entries(self, text: &str) -> Result<String, Uneditable> {
        match self {
            Self::Kimi => toml::without_entries(text, self.words()),
            _ => json::without_entries(text, self.words()),
        }
    }

    /// What stands in `text`, where `line` is to be run.
    ///
    /// # Errors
    /// When the CLI could not read the text.
    pub(super) fn standing(self, text: &str, line: &str) -> Result<Standing, Uneditable> {
        let mut found = match self {
            Self::Kimi => toml::find(text)?,
            _ => json::find(text)?,
        };
        let wanted = |event: &str| Found { event: event.to_owned(), line: line.to_owned() };
        let mut wanted = self.words().events().map(wanted);
        found.sort();
        wanted.sort();
        Ok(match found.as_slice() {
            [] => Standing::Absent,
            found if found == wanted => Standing::Installed,
            _ => Standing::Outdated,
        })
    }
}
