//! What clients type.

use std::time::Duration;

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use ptyard_core::turn::Status;
use ptyard_yard::agents::{Answer, Voice};
use ptyard_yard::inbox::{MessageState, Until};
use ptyard_yard::{TypedInput, WindowSpec, WriteSpec};
use serde::Deserialize;
use serde_json::{Value, json};

use super::extract::{Asked, Named};
use super::refusal::Refusal;
use super::{Cao, sessions, shape, start};

/// How long a client is kept until its words are seen to have arrived: its own patience is 10 s.
const ARRIVES_WITHIN: Duration = Duration::from_secs(8);

#[derive(Debug, Deserialize)]
pub(super) struct InputParams {
    message: String,
    sender_id: Option<String>,
    orchestration_type: Option<String>,
}

/// Gives words to an agent: an answer where it asks something, else a message, which is handed over when it is ready.
///
/// The reply comes when the message has arrived, so a client that looks at the status then sees the turn it began. One
/// that did not arrive in time is kept, and goes when its turn comes.
pub(super) async fn input(
    State(cao): State<Cao>,
    named: Named,
    Asked(params): Asked<InputParams>,
) -> Result<Json<Value>, Refusal> {
    let done = || Ok(Json(json!({"success": true})));
    let is_work = matches!(params.orchestration_type.as_deref(), Some("assign" | "handoff"));
    let status = shape::status(&cao.yard, &named.member)?;
    match status {
        Status::WaitingUserAnswer if !is_work => {
            cao.yard.answer(&named.at, &Answer::Text(params.message)).await?;
            return done();
        }
        Status::WaitingUserAnswer | Status::Error | Status::Exited => {
            let word = shape::status_word(&cao.yard, &named.member).await?;
            let detail = format!("Terminal {} takes no input: its status is {word}", named.tid);
            return Err(Refusal::new(StatusCode::CONFLICT, detail));
        }
        _ => {}
    }
    let sender = match sessions::caller(&cao, &["query", "sender_id"], params.sender_id.as_deref())? {
        // Nobody writes to itself.
        itself if itself.terminal == Some(named.member.id) => Voice::default(),
        sender => sender,
    };
    let message = cao.yard.send(&named.at, start::verbatim(&params.message, sender)).await?;
    let message = cao.yard.await_message(message.id, Until::Delivered, ARRIVES_WITHIN).await?;
    match message.state {
        MessageState::Pending | MessageState::Dispatching | MessageState::Delivered => done(),
        MessageState::Failed | MessageState::Uncertain | MessageState::Cancelled => {
            let why = message.reason.unwrap_or_else(|| message.state.as_str().to_owned());
            let detail = format!("the input did not arrive, or nobody can know: {why}");
            Err(Refusal::new(StatusCode::INTERNAL_SERVER_ERROR, detail))
        }
    }
}

#[derive(Debug, Deserialize)]
pub(super) struct KeyParams {
    key: String,
}

/// Presses a key.
pub(super) async fn key(
    State(cao): State<Cao>,
    named: Named,
    Asked(params): Asked<KeyParams>,
) -> Result<Json<Value>, Refusal> {
    if params.key.is_empty() {
        return Err(Refusal::bad("key is empty: name one, such as Enter, Up, Escape or C-c"));
    }
    let window = WindowSpec { yield_ms: Some(0), max_tokens: Some(1), until: vec!["exit".to_owned()] };
    let since = Some(cao.yard.info(&named.at)?.log_end);
    let input = Some(TypedInput::Keys(params.key));
    let typed = WriteSpec { input, since, take: Some(ARRIVES_WITHIN), window, ..WriteSpec::default() };
    // The window is not wanted: it is dropped, and moves nothing.
    drop(cao.yard.write(&named.at, typed).await?);
    Ok(Json(json!({"success": true})))
}
