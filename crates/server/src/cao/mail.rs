//! Mail.

use axum::Json;
use axum::extract::State;
use ptyard_yard::inbox::{Page, Which};
use serde::Deserialize;
use serde_json::{Value, json};

use super::extract::{Asked, Named};
use super::refusal::Refusal;
use super::{Cao, sessions, shape, start};
use crate::translate;

/// Most messages of one answer.
const MOST: u32 = 100;

#[derive(Debug, Deserialize)]
pub(super) struct SendParams {
    sender_id: String,
    message: String,
}

/// Stores a message, which is handed over as it is when its receiver is ready.
pub(super) async fn send(
    State(cao): State<Cao>,
    named: Named,
    Asked(params): Asked<SendParams>,
) -> Result<Json<Value>, Refusal> {
    let sender = sessions::caller(&cao, &["query", "sender_id"], Some(&params.sender_id))?;
    let message = cao.yard.send(&named.at, start::verbatim(&params.message, sender)).await?;
    Ok(Json(json!({
        "success": true,
        "message_id": message.id.get(),
        "sender_id": params.sender_id,
        "receiver_id": named.tid.to_string(),
        "created_at": translate::time(message.created_at),
    })))
}

#[derive(Debug, Deserialize)]
pub(super) struct ListParams {
    limit: Option<u32>,
    status: Option<String>,
}

/// The messages of a terminal, oldest first.
pub(super) async fn list(
    State(cao): State<Cao>,
    named: Named,
    Asked(params): Asked<ListParams>,
) -> Result<Json<Value>, Refusal> {
    let limit = params.limit.unwrap_or(10);
    if !(1..=MOST).contains(&limit) {
        return Err(Refusal::shape(&["query", "limit"], "1 to 100 messages are told at once"));
    }
    let wanted = params.status.as_deref();
    if let Some(word) = wanted.filter(|word| !["pending", "delivered", "failed"].contains(word)) {
        return Err(Refusal::bad(format!("Invalid status: {word}")));
    }
    let mut told = Vec::new();
    let mut after = None;
    loop {
        let page = cao.yard.inbox(&named.at, Which::All, Page { after, most: Page::MOST }).await?;
        let is_last = page.len() < Page::MOST as usize;
        after = page.last().map(|message| message.id);
        let fitting = page
            .iter()
            .filter(|message| wanted.is_none_or(|word| shape::message_word(message.state) == word));
        told.extend(fitting.take(limit as usize - told.len()).map(shape::message));
        if is_last || told.len() == limit as usize {
            return Ok(Json(told.into()));
        }
    }
}
