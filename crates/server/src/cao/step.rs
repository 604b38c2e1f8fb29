//! Work that is handed to a new agent and whose result is waited for, in one call: the yard's handoff.

use std::collections::BTreeMap;
use std::time::Duration;

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use ptyard_yard::agents::handoff::{Afterwards, HandoffState};
use serde::Deserialize;
use serde_json::{Value, json};

use super::Cao;
use super::extract::Body;
use super::name::{self, Tid};
use super::refusal::Refusal;
use super::sessions;
use super::start::{self, Wanted};

/// How long is waited when the client does not say, in seconds.
const USUAL_TIMEOUT_S: f64 = 600.0;

/// Longest wait, in seconds: a day.
const LONGEST_TIMEOUT_S: f64 = 86_400.0;

#[derive(Debug, Deserialize)]
pub(super) struct StepBody {
    provider: Option<String>,
    agent: String,
    prompt: String,
    session_name: Option<String>,
    reuse_terminal_id: Option<String>,
    teardown: Option<bool>,
    timeout: Option<f64>,
    working_directory: Option<String>,
    caller_id: Option<String>,
    allowed_tools: Option<Vec<String>>,
    #[serde(default)]
    use_worktree: bool,
    model: Option<String>,
    env_vars: Option<BTreeMap<String, String>>,
}

/// Starts a worker, gives it the prompt and answers with what it answered.
///
/// A client that leaves, or whose time is over, ends nothing: the handoff goes on, and its result is kept in the yard.
pub(super) async fn run(State(cao): State<Cao>, Body(body): Body<StepBody>) -> Result<Json<Value>, Refusal> {
    if body.reuse_terminal_id.is_some() || body.use_worktree {
        return Err(Refusal::bad("a step has a worker of its own here, and no worktree"));
    }
    let timeout_s = body.timeout.unwrap_or(USUAL_TIMEOUT_S);
    if !(timeout_s > 0.0 && timeout_s <= LONGEST_TIMEOUT_S) {
        return Err(Refusal::shape(&["body", "timeout"], "a timeout is more than 0 s and at most a day"));
    }
    let session = match body.session_name.as_deref() {
        Some(given) => name::session(given).filter(|name| cao.yard.session(name).is_ok()),
        None => Some(name::new_session(start::random()?)),
    };
    let session =
        session.ok_or_else(|| Refusal::unknown("Session", body.session_name.unwrap_or_default()))?;
    let wanted = Wanted {
        profile: body.agent,
        provider: body.provider,
        session,
        cwd: body.working_directory,
        tools: body.allowed_tools,
        caller: sessions::caller(&cao, &["body", "caller_id"], body.caller_id.as_deref())?,
        model: body.model,
        env: body.env_vars.unwrap_or_default(),
        ..Wanted::default()
    };
    let afterwards = if body.teardown.unwrap_or(true) { Afterwards::Dismiss } else { Afterwards::Keep };
    let patience = Duration::from_secs_f64(timeout_s);
    let spec = cao.launch_spec(&wanted)?;
    let handed = cao.yard.hand_off_verbatim(spec, &body.prompt, patience, afterwards).await?;
    let tid = Tid::of(handed.worker.id).to_string();
    let failed = |status, kind, message: String| {
        Err(Refusal::new(status, json!({"message": message, "kind": kind, "terminal_id": tid})))
    };
    let said = handed.row.result.unwrap_or_default();
    match handed.row.state {
        HandoffState::Done => Ok(Json(json!({
            "terminal_id": tid,
            "last_message": said,
            "status": "completed",
            "replayed": false,
        }))),
        HandoffState::Failed => failed(StatusCode::BAD_GATEWAY, "error", said),
        HandoffState::Open => {
            let id = handed.id;
            let message =
                format!("no answer within {timeout_s} s; the handoff goes on (`ptyard result {id}`)");
            failed(StatusCode::GATEWAY_TIMEOUT, "timeout", message)
        }
    }
}
