//! Sessions, and the terminals that are added to them.

use std::collections::BTreeMap;

use axum::Json;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use ptyard_core::ErrorCode;
use ptyard_yard::YardError;
use ptyard_yard::agents::roster::Session;
use ptyard_yard::agents::{Labels, Voice};
use ptyard_yard::inbox::Origin;
use serde::Deserialize;
use serde_json::{Value, json};

use super::Cao;
use super::extract::{Asked, Body, is_on};
use super::labels;
use super::name::{self, Tid};
use super::refusal::Refusal;
use super::shape;
use super::start::Wanted;

/// What a client says in the query of a start.
#[derive(Debug, Deserialize)]
pub(super) struct StartParams {
    agent_profile: String,
    provider: Option<String>,
    session_name: Option<String>,
    working_directory: Option<String>,
    allowed_tools: Option<String>,
    caller_id: Option<String>,
    defer_init: Option<String>,
    model: Option<String>,
    use_worktree: Option<String>,
}

/// What a client says in the body of a start.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct StartBody {
    initial_message: Option<String>,
    initial_message_orchestration_type: Option<String>,
    env_vars: Option<BTreeMap<String, String>>,
    #[serde(flatten)]
    labels: Labels,
}

impl StartParams {
    fn wanted(self, cao: &Cao, session: String, body: StartBody) -> Result<Wanted, Refusal> {
        if is_on(self.use_worktree.as_deref()) {
            return Err(Refusal::bad("worktrees are not made here: give a working_directory"));
        }
        Ok(Wanted {
            profile: self.agent_profile,
            provider: self.provider,
            session,
            cwd: self.working_directory,
            tools: self
                .allowed_tools
                .map(|tools| tools.split(',').map(|tool| tool.trim().to_owned()).collect()),
            caller: caller(cao, &["query", "caller_id"], self.caller_id.as_deref())?,
            model: self.model,
            env: body.env_vars.unwrap_or_default(),
            first: body.initial_message,
            labels: labels::checked(body.labels)?,
            is_task: body.initial_message_orchestration_type.as_deref() == Some("assign"),
        })
    }
}

/// All sessions.
pub(super) async fn list(State(cao): State<Cao>) -> Json<Value> {
    let sessions = name::sessions(&cao.yard);
    Json(sessions.iter().map(|session| shape::session(&cao.yard, session)).collect())
}

/// Makes a session, with its conductor.
pub(super) async fn create(
    State(cao): State<Cao>,
    Asked(params): Asked<StartParams>,
    Body(body): Body<StartBody>,
) -> Result<(StatusCode, Json<Value>), Refusal> {
    let name = match params.session_name.as_deref() {
        Some(given) => {
            name::session(given).ok_or_else(|| Refusal::bad(format!("Invalid session name: {given:?}")))?
        }
        None => name::new_session(super::start::random()?),
    };
    // Held until it is there: of two callers one makes it.
    let reserved = cao.names.reserve(&name);
    if reserved.is_none() || cao.yard.session(&name).is_ok() {
        return Err(Refusal::bad(format!("Session '{name}' already exists")));
    }
    let started = cao.start(params.wanted(&cao, name, body)?).await;
    drop(reserved);
    let member = started.map_err(|refusal| refusal.caller_s_fault(StatusCode::BAD_REQUEST))?;
    Ok((StatusCode::CREATED, Json(shape::terminal(&cao.yard, &member).await?)))
}

/// A session that a client names.
fn find(cao: &Cao, name: &str) -> Result<Session, Refusal> {
    let full = name::session(name).ok_or_else(|| Refusal::bad(format!("Invalid session name: {name:?}")))?;
    // Here a name is meant as it stands: the prefix is part of it.
    if full != name {
        return Err(Refusal::unknown("Session", name));
    }
    cao.yard.session(&full).map_err(|_| Refusal::unknown("Session", name))
}

/// One session and its terminals.
pub(super) async fn show(State(cao): State<Cao>, Path(name): Path<String>) -> Result<Json<Value>, Refusal> {
    let session = find(&cao, &name)?;
    let mut terminals = Vec::new();
    for member in &session.members {
        // Those that are removed meanwhile are left out.
        let Ok(mut row) = shape::row(&cao.yard, member) else { continue };
        let Ok(status) = shape::status_word(&cao.yard, member).await else { continue };
        row["status"] = status.into();
        terminals.push(row);
    }
    let session = json!({"id": name, "name": name, "status": "detached"});
    Ok(Json(json!({"session": session, "terminals": terminals})))
}

/// The terminals of a session, its conductor first.
pub(super) async fn terminals(
    State(cao): State<Cao>,
    Path(name): Path<String>,
) -> Result<Json<Value>, Refusal> {
    Ok(Json(shape::rows(&cao.yard, &find(&cao, &name)?).into()))
}

/// Adds a terminal to a session.
pub(super) async fn add(
    State(cao): State<Cao>,
    Path(name): Path<String>,
    Asked(params): Asked<StartParams>,
    Body(body): Body<StartBody>,
) -> Result<(StatusCode, Json<Value>), Refusal> {
    find(&cao, &name)?;
    if body.initial_message.is_some() && !is_on(params.defer_init.as_deref()) {
        return Err(Refusal::bad("initial_message requires defer_init=true"));
    }
    let member = cao.start(params.wanted(&cao, name, body)?).await?;
    Ok((StatusCode::CREATED, Json(shape::terminal(&cao.yard, &member).await?)))
}

/// Ends a session.
pub(super) async fn shut_down(
    State(cao): State<Cao>,
    Path(name): Path<String>,
) -> Result<Json<Value>, Refusal> {
    let session = find(&cao, &name)?;
    let errors: Vec<Value> = match cao.yard.shut_down_session(&name, None).await {
        Ok(_) => Vec::new(),
        Err(error) if error.code() == ErrorCode::UnknownSession => return Err(gone(&name, &error)),
        Err(error) => vec![json!({"session": name, "error": error.to_string()})],
    };
    tracing::debug!(terminals = session.members.len(), "a CAO client ended a session");
    let deleted: Vec<&str> = if errors.is_empty() { vec![name.as_str()] } else { Vec::new() };
    Ok(Json(json!({"success": true, "deleted": deleted, "errors": errors})))
}

fn gone(name: &str, error: &YardError) -> Refusal {
    tracing::debug!(%error, "it was ended meanwhile");
    Refusal::unknown("Session", name)
}

/// Whom a client names at `place`, a part of its request. What it says is believed: its clients know no token.
pub(super) fn caller(cao: &Cao, place: &[&str], said: Option<&str>) -> Result<Voice, Refusal> {
    let Some(name) = said.map(str::trim).filter(|name| !name.is_empty()) else {
        return Ok(Voice::default());
    };
    let Some(origin) = Origin::client(name) else {
        return Err(Refusal::shape(place, "a name is one line of at most 128 characters: shorten it"));
    };
    let member = name.parse().ok().and_then(|tid: Tid| tid.member(&cao.yard));
    Ok(match member {
        Some(member) => Voice { terminal: Some(member.id), origin: None },
        None => Voice { terminal: None, origin: Some(origin) },
    })
}
