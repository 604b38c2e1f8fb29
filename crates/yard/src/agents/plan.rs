//! From what is wanted of an agent to how its program is started.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use ptyard_providers::Provider;
use ptyard_providers::launch::{self as recipes, Plan, Wanted};

use super::launch::LaunchSpec;
use super::profile::Profile;
use crate::error::YardError;

/// What is wanted, without MCP servers.
pub(super) fn wanted(
    spec: &LaunchSpec,
    profile: Option<&Profile>,
    provider: &Provider,
    directory: &Path,
    env: &BTreeMap<String, String>,
) -> Wanted {
    let prompt = profile.map(|profile| profile.prompt.clone()).filter(|prompt| !prompt.is_empty());
    let tools = spec.tools.clone().or_else(|| profile?.tools.clone()).map(BTreeSet::from_iter);
    Wanted {
        binary: binary(&provider.launch().binaries, env),
        cwd: spec.cwd.clone().unwrap_or_default(),
        private: directory.join("private"),
        model: spec.model.clone().or_else(|| profile?.model.clone()),
        prompt,
        mcp: Vec::new(),
        hook: None,
        door: None,
        tools,
        unattended: spec.unattended,
        resume: None,
        extra: spec.extra.clone(),
    }
}

/// The plan. A provider without a binary of its own runs what the caller names, else a shell.
pub(super) fn plan(provider: &Provider, wanted: &Wanted) -> Result<Plan, YardError> {
    if !provider.launch().binaries.is_empty() {
        return recipes::plan(provider.launch(), wanted)
            .map_err(|error| YardError::InvalidArgument(error.to_string()));
    }
    let argv = if wanted.extra.is_empty() {
        vec![wanted.binary.display().to_string()]
    } else {
        wanted.extra.clone()
    };
    Ok(Plan { argv, ..Plan::default() })
}

/// The first of `names` that `PATH` holds; the first one at all when it holds none, so that the refusal names it.
fn binary(names: &[String], env: &BTreeMap<String, String>) -> PathBuf {
    let path = env.get("PATH").map(String::as_str).unwrap_or_default();
    let held = |name: &&String| std::env::split_paths(path).any(|directory| directory.join(name).is_file());
    match names.iter().find(held).or(names.first()) {
        Some(name) => PathBuf::from(name),
        None => PathBuf::from(env.get("SHELL").map_or("/bin/sh", String::as_str)),
    }
}
