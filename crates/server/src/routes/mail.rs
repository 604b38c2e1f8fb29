//! Mail: sending it, looking at it, and what a person does to it.

#![expect(unused_qualifications, reason = "utoipa expands the query parameters with full paths")]

use std::time::SystemTime;

use axum::Json;
use axum::extract::{Path, State};
use ptyard_core::ErrorCode;
use ptyard_yard::agents::framing::Purpose;
use ptyard_yard::inbox::{Page, SendSpec, Which};
use serde::Deserialize;
use utoipa::IntoParams;

use crate::api::{ErrorReply, MailboxInfo, MailboxRequest, MessageInfo, SendRequest};
use crate::error::ApiError;
use crate::extract::{At, Params, Payload};
use crate::routes::Shared;
use crate::speaker::Speaker;
use crate::translate;

/// Sends a message. The answer says that it is on disk; its delivery is waited for only when that is asked.
#[utoipa::path(post, path = "/v1/terminals/{id}/inbox", operation_id = "send", request_body = SendRequest,
    params(("id" = String, Path, description = "Full id, short id or unique name.")),
    responses((status = 200, body = MessageInfo), (status = "default", body = ErrorReply)))]
pub(crate) async fn send(
    State(shared): State<Shared>,
    speaker: Speaker,
    At(at): At,
    Payload(request): Payload<SendRequest>,
) -> Result<Json<MessageInfo>, ApiError> {
    let (spec, wait) = translate::send_spec(request)?;
    let speaker = speaker.voice(&shared.yard)?;
    let mut message = match speaker.terminal {
        Some(terminal) => {
            let claimed = spec.from.map(|from| shared.yard.info(&from)).transpose()?;
            if claimed.is_some_and(|claimed| claimed.id != terminal) {
                return Err(ApiError::new(ErrorCode::Forbidden, "a terminal sends in its own name only"));
            }
            let told = shared.yard.tell_urgently(
                speaker,
                Some(&at),
                &spec.text,
                Purpose::Message,
                spec.key,
                spec.urgency,
            );
            told.await?.message
        }
        None => shared.yard.send(&at, SendSpec { origin: speaker.origin, ..spec }).await?,
    };
    if let Some((until, at_most)) = wait {
        message = shared.yard.await_message(message.id, until, at_most).await?;
    }
    Ok(Json(translate::message(message)))
}

/// Which messages.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct InboxParams {
    /// Also those that are delivered or cancelled, default false.
    all: Option<bool>,
    /// Those behind this message; default: from the oldest kept on.
    after: Option<String>,
    /// Most messages, 1..=1,000, default 100.
    most: Option<u32>,
}

/// The messages of a terminal, oldest first.
#[utoipa::path(get, path = "/v1/terminals/{id}/inbox", operation_id = "inbox",
    params(("id" = String, Path, description = "Full id, short id or unique name."), InboxParams),
    responses((status = 200, body = Vec<MessageInfo>), (status = "default", body = ErrorReply)))]
pub(crate) async fn inbox(
    State(shared): State<Shared>,
    At(at): At,
    Params(params): Params<InboxParams>,
) -> Result<Json<Vec<MessageInfo>>, ApiError> {
    let most = params.most.unwrap_or(Page::default().most);
    if !(1..=Page::MOST).contains(&most) {
        return Err(ApiError::argument(format!("most is {most}, expected 1..={}", Page::MOST)));
    }
    let after = params.after.as_deref().map(translate::message_id).transpose()?;
    let which = if params.all.unwrap_or(false) { Which::All } else { Which::Undelivered };
    let messages = shared.yard.inbox(&at, which, Page { after, most }).await?;
    Ok(Json(messages.into_iter().map(translate::message).collect()))
}

/// How the inbox of a terminal stands: how much waits, since when, and why.
#[utoipa::path(get, path = "/v1/terminals/{id}/mailbox", operation_id = "mailbox",
    params(("id" = String, Path, description = "Full id, short id or unique name.")),
    responses((status = 200, body = MailboxInfo), (status = "default", body = ErrorReply)))]
pub(crate) async fn mailbox(State(shared): State<Shared>, At(at): At) -> Result<Json<MailboxInfo>, ApiError> {
    Ok(Json(translate::mailbox(&shared.yard.mailbox(&at).await?, SystemTime::now())))
}

/// Says how the mail of a terminal is handed over, also after a restart.
#[utoipa::path(post, path = "/v1/terminals/{id}/mailbox", operation_id = "setMailbox", request_body = MailboxRequest,
    params(("id" = String, Path, description = "Full id, short id or unique name.")),
    responses((status = 200, body = MailboxInfo), (status = "default", body = ErrorReply)))]
pub(crate) async fn set_mailbox(
    State(shared): State<Shared>,
    At(at): At,
    Payload(request): Payload<MailboxRequest>,
) -> Result<Json<MailboxInfo>, ApiError> {
    if let Some(batching) = request.batching {
        shared.yard.set_batching(&at, translate::batching(batching)).await?;
    }
    mailbox(State(shared), At(at)).await
}

/// A message.
#[utoipa::path(get, path = "/v1/messages/{mid}", operation_id = "message",
    params(("mid" = String, Path, description = "Id of the message.")),
    responses((status = 200, body = MessageInfo), (status = "default", body = ErrorReply)))]
pub(crate) async fn message(
    State(shared): State<Shared>,
    Path(mid): Path<String>,
) -> Result<Json<MessageInfo>, ApiError> {
    let message = shared.yard.message(translate::message_id(&mid)?).await?;
    Ok(Json(translate::message(message)))
}

/// Takes back a message that was not delivered.
#[utoipa::path(post, path = "/v1/messages/{mid}/cancel", operation_id = "cancelMessage",
    params(("mid" = String, Path, description = "Id of the message.")),
    responses((status = 200, body = MessageInfo), (status = "default", body = ErrorReply)))]
pub(crate) async fn cancel(
    State(shared): State<Shared>,
    Path(mid): Path<String>,
) -> Result<Json<MessageInfo>, ApiError> {
    let message = shared.yard.cancel_message(translate::message_id(&mid)?).await?;
    Ok(Json(translate::message(message)))
}

/// Lets a message that failed, was cancelled or is uncertain wait again, at its place.
#[utoipa::path(post, path = "/v1/messages/{mid}/retry", operation_id = "retryMessage",
    params(("mid" = String, Path, description = "Id of the message.")),
    responses((status = 200, body = MessageInfo), (status = "default", body = ErrorReply)))]
pub(crate) async fn retry(
    State(shared): State<Shared>,
    Path(mid): Path<String>,
) -> Result<Json<MessageInfo>, ApiError> {
    let message = shared.yard.retry_message(translate::message_id(&mid)?).await?;
    Ok(Json(translate::message(message)))
}
