//! Profiles that are installed by name: from then on they are among CAO's own.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use ptyard_terminal::{Outlives, replace_file};
use ptyard_yard::agents::profile::{BUILT_IN, Origin, ProfileName};
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::Cao;
use super::extract::Body;
use super::refusal::Refusal;
use super::start::USUAL_PROVIDER;

/// What a client wants installed.
#[derive(Debug, Deserialize)]
pub(super) struct Wanted {
    source: String,
    provider: Option<String>,
    env_vars: Option<Map<String, Value>>,
}

/// Copies a profile to those that CAO keeps, unless it is one of them. Nothing is fetched from elsewhere.
pub(super) async fn install(
    State(cao): State<Cao>,
    Body(wanted): Body<Wanted>,
) -> Result<Json<Value>, Refusal> {
    let Wanted { source, provider, env_vars } = wanted;
    let store = cao.profile_directory();
    if source.parse::<ProfileName>().is_err() {
        return Err(Refusal::bad(format!(
            "Profiles are installed by name here, not from {source:?}: put the file into {}",
            store.display()
        )));
    }
    if env_vars.is_some_and(|variables| !variables.is_empty()) {
        return Err(Refusal::bad("Variables are not kept here: give env_vars when the session is made"));
    }
    let found = cao.yard.profiles(Some(&cao.profiles_variable()), None).find(&source);
    let found = found.map_err(|error| Refusal::bad(error.to_string()))?;
    let cannot = |error: io::Error| {
        let why = format!("Cannot install {source}: {error}");
        Refusal::new(StatusCode::INTERNAL_SERVER_ERROR, why)
    };
    let text = match &found.origin {
        Origin::File(path) => fs::read_to_string(path).map_err(cannot)?,
        Origin::BuiltIn => built_in(&source).to_owned(),
    };
    let file = match found.origin {
        Origin::File(path) if path.starts_with(&store) => path,
        _ => copy(&store, &source, &text).map_err(cannot)?,
    };
    let provider = provider.or(found.parsed.profile.provider).unwrap_or_else(|| USUAL_PROVIDER.to_owned());
    Ok(Json(json!({
        "success": true,
        "message": format!("Agent '{source}' installed"),
        "agent_name": source,
        "context_file": file,
        "agent_file": null,
        "unresolved_vars": unresolved(&text),
        "source_kind": "name",
        "provider": provider,
    })))
}

fn built_in(name: &str) -> &'static str {
    BUILT_IN.iter().find(|(built_in, _)| *built_in == name).map_or("", |(_, text)| text)
}

fn copy(store: &Path, name: &str, text: &str) -> io::Result<PathBuf> {
    fs::create_dir_all(store)?;
    let file = store.join(format!("{name}.md"));
    replace_file(&file, text.as_bytes(), Outlives::Machine)?;
    Ok(file)
}

/// The names in `${NAME}`, once each: nothing is put in their place.
fn unresolved(text: &str) -> Vec<&str> {
    let named = text.split("${").skip(1).filter_map(|rest| Some(rest.split_once('}')?.0));
    let is_name = |name: &&str| {
        !name.is_empty() && name.bytes().all(|byte| byte == b'_' || byte.is_ascii_alphanumeric())
    };
    let mut names: Vec<_> = named.filter(is_name).collect();
    names.sort_unstable();
    names.dedup();
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variables_are_named_once() {
        assert_eq!(unresolved("a ${KEY} ${OTHER_2} ${KEY} $NO ${} ${no name} ${open"), ["KEY", "OTHER_2"]);
    }
}
