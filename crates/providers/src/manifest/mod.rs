//! Manifests: what is known of a kind of program, as data.
//!
//! A manifest is a TOML file. [`Provider::parse`] checks all of it (names, patterns, terms, limits) and runs the
//! tests it carries before anybody can use it, so a loaded provider has no errors left to find.

mod compile;
mod error;
mod raw;
mod selftest;
mod settings;

use std::sync::Arc;
use std::time::Duration;

use regex::Regex;

use crate::launch::Recipe;
use crate::rules::Rule;
use crate::rules::anchor::Anchor;
use crate::rules::term::AnchorIndex;
pub use error::ManifestError;
use ptyard_core::turn::{Rule as RuleName, Status};
pub use settings::{About, Input, Native, PasteBrackets, Ready, RuleStatus};

/// The newest version of the manifest format that is understood.
pub const ENGINE: u32 = 1;

/// Where a manifest comes from, and so how far it is trusted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Origin {
    /// Built in.
    Bundled,
    /// A file of this machine's user.
    Local,
    /// Fetched from elsewhere. It presses no key on a dialog.
    Remote,
}

impl Origin {
    /// The word for it, as it stands in JSON.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Bundled => "bundled",
            Self::Local => "local",
            Self::Remote => "remote",
        }
    }
}

/// A kind of program, ready to use.
#[derive(Debug)]
pub struct Provider {
    pub(crate) id: Box<str>,
    pub(crate) name: Box<str>,
    pub(crate) version: Box<str>,
    pub(crate) tested: Vec<String>,
    pub(crate) origin: Origin,
    pub(crate) launch: Recipe,
    pub(crate) input: Input,
    pub(crate) native: Native,
    pub(crate) ready: Ready,
    pub(crate) titles: Vec<TitleRule>,
    pub(crate) anchors: Vec<Anchor>,
    pub(crate) rules: Vec<Rule>,
    pub(crate) composer: Option<ComposerRule>,
    pub(crate) dialogs: Vec<DialogRule>,
    pub(crate) answer: Option<AnswerRule>,
}

/// What a title says.
#[derive(Debug)]
pub(crate) struct TitleRule {
    pub(crate) name: RuleName,
    pub(crate) re: Regex,
    pub(crate) status: Status,
    pub(crate) fresh_ms: Option<u64>,
}

/// Where input is composed.
#[derive(Debug)]
pub(crate) struct ComposerRule {
    pub(crate) place: ComposerPlace,
    /// Rows in it that are no text.
    pub(crate) drop: u64,
    /// What stands before the text on a row, to be cut off.
    pub(crate) sign: Option<Regex>,
    pub(crate) placeholder: Vec<Regex>,
    pub(crate) dim_is_placeholder: bool,
    /// It is one only while the cursor stands on a row of its class.
    pub(crate) has_cursor: bool,
    pub(crate) folded: Option<Regex>,
}

/// Which rows the composer is.
#[derive(Debug, Clone, Copy)]
pub(crate) enum ComposerPlace {
    /// From the last row of a class up to a row of another, or to the end of the screen.
    From { row: AnchorIndex, end: Option<AnchorIndex> },
    /// Between a row of a class and the last row of another.
    Between { top: AnchorIndex, end: AnchorIndex },
    /// The rows of a class just before the last row of another.
    Block { row: AnchorIndex, end: AnchorIndex },
}

/// A dialog that comes up by itself.
#[derive(Debug)]
pub(crate) struct DialogRule {
    pub(crate) rule: RuleName,
    pub(crate) about: About,
    pub(crate) keys: Vec<String>,
}

/// Where the last answer is.
#[derive(Debug)]
pub(crate) struct AnswerRule {
    /// Rows of a user's message.
    pub(crate) user: AnchorIndex,
    /// The first row of an answer; after the last of these. None: the first row after the user's.
    pub(crate) start: Option<AnchorIndex>,
    /// Rows that end it.
    pub(crate) end: u64,
    /// Rows that are no part of it.
    pub(crate) drop: u64,
    /// What stands before the text on its first row, to be cut off.
    pub(crate) marker: Option<Regex>,
    /// What stands behind the text of a row (a scroll bar, a side bar), to be cut off.
    pub(crate) cut: Option<Regex>,
    /// All of it is drawn once nothing was printed for so long.
    pub(crate) rest: Duration,
}

impl Provider {
    /// Reads a manifest and runs its tests.
    ///
    /// # Errors
    ///
    /// With the line, when anything in it is not as it has to be.
    pub fn parse(source: &str, origin: Origin) -> Result<Arc<Self>, ManifestError> {
        let (provider, tests) = compile::compile(source, origin)?;
        let provider = Arc::new(provider);
        selftest::run(&provider, source, &tests)?;
        Ok(provider)
    }

    /// The id, as in `--provider`.
    #[must_use]
    pub fn id(&self) -> &str {
        &self.id
    }

    /// The name for people.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The manifest's version.
    #[must_use]
    pub fn version(&self) -> &str {
        &self.version
    }

    /// Versions of the program it was tested with.
    #[must_use]
    pub fn tested(&self) -> &[String] {
        &self.tested
    }

    /// Where it comes from.
    #[must_use]
    pub fn origin(&self) -> Origin {
        self.origin
    }

    /// How input is typed.
    #[must_use]
    pub fn input(&self) -> &Input {
        &self.input
    }

    /// When it counts as ready.
    #[must_use]
    pub fn ready(&self) -> &Ready {
        &self.ready
    }

    /// For how long nothing may have been printed before all of an answer counts as drawn: some programs look ready before
    /// they draw the end of it.
    #[must_use]
    pub fn answer_rest(&self) -> Duration {
        self.answer.as_ref().map_or(Duration::ZERO, |answer| answer.rest)
    }

    /// How it is started.
    #[must_use]
    pub fn launch(&self) -> &Recipe {
        &self.launch
    }
}

#[cfg(test)]
mod tests;
