//! What servers that died left at the places of backends.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// What is to be ended.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct SweepRequest {
    /// Of this backend only: `docker`, `e2b`, ...
    #[serde(default)]
    pub backend: Option<String>,
    /// Ends nothing and tells what there is.
    #[serde(default)]
    pub dry_run: bool,
}

/// What was found, and what became of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct SweepReply {
    /// Whether everything that was found was ended, and the backend that was named could be asked.
    pub ok: bool,
    /// Whether nothing was to be ended.
    pub dry_run: bool,
    /// What no living terminal owns, by backend.
    pub leftovers: Vec<Leftover>,
    /// Backends that could not be asked.
    pub unreachable: Vec<Unreachable>,
}

/// Something that no living terminal owns.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Leftover {
    /// The backend.
    pub backend: String,
    /// What it is, in words.
    pub what: String,
    /// Full id of the terminal it was made for; null when that is not known.
    pub terminal: Option<String>,
    /// `found`, `ended`, or `stays`: it could not be ended.
    pub outcome: String,
    /// Why it stays.
    pub message: Option<String>,
}

/// A backend that could not be asked.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Unreachable {
    /// The backend.
    pub backend: String,
    /// Why.
    pub message: String,
}
