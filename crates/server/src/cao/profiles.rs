//! Profiles and providers.

use axum::Json;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use ptyard_core::ErrorCode;
use ptyard_yard::YardError;
use ptyard_yard::agents::AgentError;
use ptyard_yard::agents::profile::{Origin, ProfileName};
use serde_json::{Value, json};

use super::Cao;
use super::refusal::Refusal;

/// The programs that CAO knows, and what each is called on `PATH`.
const PROVIDERS: [(&str, &str); 12] = [
    ("kiro_cli", "kiro-cli"),
    ("claude_code", "claude"),
    ("codex", "codex"),
    ("hermes", "hermes"),
    ("kimi_cli", "kimi"),
    ("copilot_cli", "copilot"),
    ("opencode_cli", "opencode"),
    ("cursor_cli", "agent"),
    ("antigravity_cli", "agy"),
    ("omp", "omp"),
    ("grok_cli", "grok"),
    ("mcode", "mcode"),
];

/// All profiles.
pub(super) async fn list(State(cao): State<Cao>) -> Json<Value> {
    let listed = cao.yard.profiles(Some(&cao.profiles_variable()), None).list();
    let profiles = listed.into_iter().filter(|profile| !profile.shadowed).map(|profile| {
        json!({
            "name": profile.name,
            "source": match profile.origin {
                Origin::BuiltIn => "built-in",
                Origin::File(_) => "local",
            },
            "loadable": profile.error.is_none(),
            "description": profile.description,
            "capabilities": [],
            "tags": [],
            "role": null,
            "duplicated_in": [],
        })
    });
    Json(profiles.collect())
}

/// One profile.
pub(super) async fn show(State(cao): State<Cao>, Path(name): Path<String>) -> Result<Json<Value>, Refusal> {
    if name.parse::<ProfileName>().is_err() {
        return Err(Refusal::bad(format!("Invalid profile name: {name:?}")));
    }
    let found = cao.yard.profiles(Some(&cao.profiles_variable()), None).find(&name);
    let profile = found
        .map_err(|error| match YardError::from(AgentError::from(error)) {
            error if error.code() == ErrorCode::UnknownProfile => Refusal::from(error),
            error => Refusal::new(StatusCode::INTERNAL_SERVER_ERROR, error.to_string()),
        })?
        .parsed
        .profile;
    let mut document = json!({
        "name": profile.name.to_string(),
        "description": profile.description,
        "provider": profile.provider,
        "model": profile.model,
        "role": profile.role,
        "allowedTools": profile.tools,
        "mcpServers": Some(profile.mcp_servers).filter(|servers| !servers.is_empty()),
        "capabilities": profile.capabilities,
        "tags": profile.tags,
        "system_prompt": profile.prompt,
    });
    if let Value::Object(fields) = &mut document {
        fields.retain(|_, value| !value.is_null());
    }
    Ok(Json(document))
}

/// The programs that agents run on, and which of them are here.
pub(super) async fn providers() -> Json<Value> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let is_installed =
        |binary: &str| std::env::split_paths(&path).any(|directory| directory.join(binary).is_file());
    let one = |(name, binary): &(&str, &str)| json!({"name": name, "binary": binary, "installed": is_installed(binary)});
    Json(PROVIDERS.iter().map(one).collect())
}
