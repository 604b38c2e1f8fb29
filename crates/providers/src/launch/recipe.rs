//! The part of a manifest that tells how the program is started.

use serde::Deserialize;

/// How a program is started.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Recipe {
    /// Names of its binary, the first one that is found counts.
    pub binaries: Vec<String>,
}
