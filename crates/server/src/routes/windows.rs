//! Calls that wait for output: start, write, wait.

use std::time::Duration;

use axum::Json;
use axum::extract::State;

use crate::api::{AdoptRequest, ErrorReply, ExecRequest, WaitReply, WaitRequest, WindowReply, WriteRequest};
use crate::error::ApiError;
use crate::extract::{At, OptionalPayload, Payload};
use crate::handover::Handover;
use crate::peer::Peer;
use crate::routes::Shared;
use crate::translate;

/// Starts a program and takes its first window.
#[utoipa::path(post, path = "/v1/terminals", operation_id = "exec", request_body = ExecRequest,
    responses((status = 200, body = WindowReply), (status = "default", body = ErrorReply)))]
pub(crate) async fn exec(
    State(shared): State<Shared>,
    peer: Peer,
    Payload(request): Payload<ExecRequest>,
) -> Result<Handover, ApiError> {
    let delivery = shared.yard.exec(translate::program_spec(request)?).await?;
    Ok(Handover::new(delivery, peer))
}

/// Takes over a program that is somewhere already, with what its terminal shows, and takes the first window. It is
/// somebody else's: to remove its terminal lets it go, and only a kill ends it.
#[utoipa::path(post, path = "/v1/adopt", operation_id = "adopt", request_body = AdoptRequest,
    responses((status = 200, body = WindowReply), (status = "default", body = ErrorReply)))]
pub(crate) async fn adopt(
    State(shared): State<Shared>,
    peer: Peer,
    Payload(request): Payload<AdoptRequest>,
) -> Result<Handover, ApiError> {
    let delivery = shared.yard.exec(translate::adopt_spec(request)).await?;
    Ok(Handover::new(delivery, peer))
}

/// Types into a program, or polls it (an empty body is a poll too), and takes a window.
#[utoipa::path(post, path = "/v1/terminals/{id}/write", operation_id = "write", request_body = WriteRequest,
    params(("id" = String, Path, description = "Full id, short id or unique name.")),
    responses((status = 200, body = WindowReply), (status = "default", body = ErrorReply)))]
pub(crate) async fn write(
    State(shared): State<Shared>,
    peer: Peer,
    At(at): At,
    OptionalPayload(request): OptionalPayload<WriteRequest>,
) -> Result<Handover, ApiError> {
    let delivery = shared.yard.write(&at, translate::write_spec(request)?).await?;
    Ok(Handover::new(delivery, peer))
}

/// Waits for a condition; moves no cursor.
#[utoipa::path(post, path = "/v1/terminals/{id}/wait", operation_id = "wait", request_body = WaitRequest,
    params(("id" = String, Path, description = "Full id, short id or unique name.")),
    responses((status = 200, body = WaitReply), (status = "default", body = ErrorReply)))]
pub(crate) async fn wait(
    State(shared): State<Shared>,
    At(at): At,
    Payload(request): Payload<WaitRequest>,
) -> Result<Json<WaitReply>, ApiError> {
    let timeout = request.timeout_ms.map(Duration::from_millis);
    let outcome = shared.yard.wait(&at, &request.until, request.since, timeout).await?;
    Ok(Json(outcome.into()))
}
