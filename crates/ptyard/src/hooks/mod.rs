//! `ptyard hooks`: entries in the settings of coding CLIs by which they tell us of their turns, wherever a user starts
//! them. Those that are given hooks with their start need none.
//!
//! The way a command goes: [`HookedCli`] knows the file of a CLI and its language; [`json`] and [`toml`] find and edit
//! entries, text in and text out; `install` reads, writes and tells.
//!
//! # Invariants
//! 1. What was put into a file and taken out again leaves the bytes that were there before.
//! 2. Only what [`hook_edition`](ptyard_providers::launch::hook_edition) knows as ours is ever changed or taken out.
//! 3. A file that its CLI could not read, or in which something else stands where entries belong, stays as it is.

mod clis;
mod install;
mod json;
#[cfg(test)]
mod tests;
mod toml;

pub(crate) use clis::HookedCli;
pub(crate) use install::{Change, Doing, hooks, standing};

/// An entry that was found: for which event, and the line that it runs.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Found {
    event: String,
    line: String,
}

/// What stands in a file, next to what this version writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "snake_case")]
enum Standing {
    /// Exactly that.
    Installed,
    /// Something that an earlier version, or a program at another path, wrote.
    Outdated,
    /// Nothing of ours.
    Absent,
}

impl Standing {
    const fn as_str(self) -> &'static str {
        match self {
            Self::Installed => "installed",
            Self::Outdated => "outdated",
            Self::Absent => "absent",
        }
    }
}
