//! The service itself, and what is CAO's alone: settings, skills, and the rooms that are empty here.

use std::io::Read as _;

use axum::Json;
use axum::extract::{Path, State};
use serde_json::{Value, json};

use super::Cao;
use super::refusal::Refusal;

/// Largest skill, in bytes.
const SKILL_BYTES: u64 = 256 << 10;

/// How it is, and where its terminals are to be attached to.
pub(super) async fn health(State(cao): State<Cao>) -> Json<Value> {
    Json(json!({
        "status": "ok",
        "service": "cli-agent-orchestrator",
        "terminal_backend": cao.config.place.word(),
        "components": {"cao": "ok", "herdr": "unavailable", "claude": "unavailable"},
    }))
}

/// There is no memory.
pub(super) async fn memory() -> Json<Value> {
    Json(json!({"enabled": false, "learning_enabled": false}))
}

/// One skill, as it was installed.
pub(super) async fn skill(State(cao): State<Cao>, Path(name): Path<String>) -> Result<Json<Value>, Refusal> {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-');
    if name.is_empty() || !name.bytes().all(plain) {
        return Err(Refusal::bad(format!("Invalid skill name: {name:?}")));
    }
    let own = cao.config.home.join("skills");
    let set = cao.directories();
    let mut places = std::iter::once(own.as_path()).chain(set.of_skills());
    let file = places.find_map(|place| std::fs::File::open(place.join(&name).join("SKILL.md")).ok());
    let file = file.ok_or_else(|| Refusal::unknown("Skill", &name))?;
    let mut content = String::new();
    file.take(SKILL_BYTES).read_to_string(&mut content).map_err(|_| Refusal::unknown("Skill", &name))?;
    Ok(Json(json!({"name": name, "content": content})))
}

/// There are no workflows.
pub(super) async fn no_workflows() -> Json<Value> {
    Json(json!([]))
}
