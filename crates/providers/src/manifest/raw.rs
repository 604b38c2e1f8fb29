//! A manifest as it stands in its file.

use std::collections::BTreeMap;

use ptyard_core::turn::{Question, Status};
use serde::Deserialize;
use toml::Spanned;

use super::settings::{About, Input, Native, Ready, RuleStatus};
use crate::launch::Recipe;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct RawManifest {
    pub(crate) id: Spanned<String>,
    pub(crate) name: String,
    pub(crate) version: Spanned<String>,
    pub(crate) engine: Spanned<u32>,
    #[serde(default)]
    pub(crate) tested: Vec<String>,
    #[serde(default)]
    pub(crate) launch: Recipe,
    #[serde(default)]
    pub(crate) input: Input,
    #[serde(default)]
    pub(crate) native: Native,
    #[serde(default)]
    pub(crate) ready: Ready,
    #[serde(default)]
    pub(crate) title: Vec<Spanned<RawTitle>>,
    #[serde(default)]
    pub(crate) anchors: BTreeMap<Spanned<String>, Spanned<RawAnchor>>,
    #[serde(default)]
    pub(crate) composer: Option<Spanned<RawComposer>>,
    #[serde(default)]
    pub(crate) rules: Vec<Spanned<RawRule>>,
    #[serde(default)]
    pub(crate) dialogs: Vec<Spanned<RawDialog>>,
    #[serde(default)]
    pub(crate) answer: Option<Spanned<RawAnswer>>,
    #[serde(default)]
    pub(crate) selftest: Vec<Spanned<RawSelftest>>,
}

/// A class of rows: one pattern, several, or patterns with conditions.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
pub(crate) enum RawAnchor {
    One(String),
    Any(Vec<String>),
    Full(RawFullAnchor),
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct RawFullAnchor {
    pub(crate) any: Vec<String>,
    /// Rows that match one of these do not count.
    #[serde(default)]
    pub(crate) not: Vec<String>,
    /// Whether the text stands on a background of its own.
    #[serde(default)]
    pub(crate) filled: Option<bool>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct RawTitle {
    pub(crate) id: String,
    pub(crate) re: Spanned<String>,
    pub(crate) status: Spanned<Status>,
    /// After so long without another title it says nothing any more.
    #[serde(default)]
    pub(crate) fresh_ms: Option<u64>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct RawComposer {
    #[serde(default)]
    pub(crate) row: Option<Spanned<String>>,
    #[serde(default)]
    pub(crate) block: Option<Spanned<String>>,
    #[serde(default)]
    pub(crate) drop: Vec<Spanned<String>>,
    #[serde(default)]
    pub(crate) top: Option<Spanned<String>>,
    #[serde(default)]
    pub(crate) end: Option<Spanned<String>>,
    #[serde(default)]
    pub(crate) sign: Option<Spanned<String>>,
    #[serde(default)]
    pub(crate) placeholder: Vec<Spanned<String>>,
    #[serde(default)]
    pub(crate) dim_is_placeholder: bool,
    /// It is one only while the cursor stands on it.
    #[serde(default)]
    pub(crate) has_cursor: bool,
    #[serde(default)]
    pub(crate) folded: Option<Spanned<String>>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct RawRule {
    pub(crate) id: String,
    pub(crate) status: Spanned<RuleStatus>,
    #[serde(default)]
    pub(crate) kind: Option<Question>,
    /// The row that says what is asked: the last one of this class.
    #[serde(default)]
    pub(crate) asks: Option<Spanned<String>>,
    pub(crate) when: Vec<Spanned<String>>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct RawDialog {
    pub(crate) rule: Spanned<String>,
    pub(crate) about: About,
    /// The keys that say yes; empty when a person has to.
    #[serde(default)]
    pub(crate) keys: Vec<String>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct RawAnswer {
    pub(crate) user: Spanned<String>,
    #[serde(default)]
    pub(crate) start: Option<Spanned<String>>,
    pub(crate) end: Vec<Spanned<String>>,
    #[serde(default)]
    pub(crate) drop: Vec<Spanned<String>>,
    #[serde(default)]
    pub(crate) marker: Option<Spanned<String>>,
    #[serde(default)]
    pub(crate) cut: Option<Spanned<String>>,
    /// For how long nothing may have been printed before all of it counts as drawn.
    #[serde(default = "answer_rest_ms")]
    pub(crate) rest_ms: u64,
}

/// Three times the longest that a program took for its last words, after it had drawn itself as ready.
const fn answer_rest_ms() -> u64 {
    100
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct RawSelftest {
    pub(crate) screen: String,
    #[serde(default)]
    pub(crate) cursor_hidden: bool,
    #[serde(default)]
    pub(crate) turns: u64,
    pub(crate) status: Status,
    #[serde(default)]
    pub(crate) rule: Option<String>,
    #[serde(default)]
    pub(crate) answer: Option<String>,
}
