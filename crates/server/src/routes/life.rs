//! Calls that change a terminal: size, signals, end of input, kill, removal.

use axum::Json;
use axum::extract::State;
use ptyard_terminal::backend::Target;

use crate::api::{Done, ErrorReply, KillReply, KillRequest, ResizeRequest, SignalRequest};
use crate::error::ApiError;
use crate::extract::{At, OptionalPayload, Payload};
use crate::routes::Shared;
use crate::translate;

/// Changes the size of a tty.
#[utoipa::path(post, path = "/v1/terminals/{id}/resize", operation_id = "resize", request_body = ResizeRequest,
    params(("id" = String, Path, description = "Full id, short id or unique name.")),
    responses((status = 200, body = Done), (status = "default", body = ErrorReply)))]
pub(crate) async fn resize(
    State(shared): State<Shared>,
    At(at): At,
    Payload(request): Payload<ResizeRequest>,
) -> Result<Json<Done>, ApiError> {
    let id = shared.yard.resize(&at, request.size.parse()?).await?;
    Ok(Json(translate::done(id)))
}

/// Sends a signal.
#[utoipa::path(post, path = "/v1/terminals/{id}/signal", operation_id = "signal", request_body = SignalRequest,
    params(("id" = String, Path, description = "Full id, short id or unique name.")),
    responses((status = 200, body = Done), (status = "default", body = ErrorReply)))]
pub(crate) async fn signal(
    State(shared): State<Shared>,
    At(at): At,
    Payload(request): Payload<SignalRequest>,
) -> Result<Json<Done>, ApiError> {
    let target = if request.group { Target::ForegroundGroup } else { Target::Program };
    let id = shared.yard.signal(&at, translate::signal(&request.signal)?, target).await?;
    Ok(Json(translate::done(id)))
}

/// Ends the input.
#[utoipa::path(post, path = "/v1/terminals/{id}/close-stdin", operation_id = "closeStdin",
    params(("id" = String, Path, description = "Full id, short id or unique name.")),
    responses((status = 200, body = Done), (status = "default", body = ErrorReply)))]
pub(crate) async fn close_stdin(State(shared): State<Shared>, At(at): At) -> Result<Json<Done>, ApiError> {
    Ok(Json(translate::done(shared.yard.close_stdin(&at).await?)))
}

/// Ends a program and everything it started.
#[utoipa::path(post, path = "/v1/terminals/{id}/kill", operation_id = "kill", request_body = KillRequest,
    params(("id" = String, Path, description = "Full id, short id or unique name.")),
    responses((status = 200, body = KillReply), (status = "default", body = ErrorReply)))]
pub(crate) async fn kill(
    State(shared): State<Shared>,
    At(at): At,
    OptionalPayload(request): OptionalPayload<KillRequest>,
) -> Result<Json<KillReply>, ApiError> {
    let outcome = shared.yard.kill(&at, translate::grace(&request)?).await?;
    Ok(Json(outcome.into()))
}

/// Removes an ended terminal and its log.
#[utoipa::path(delete, path = "/v1/terminals/{id}", operation_id = "remove",
    params(("id" = String, Path, description = "Full id, short id or unique name.")),
    responses((status = 200, body = Done), (status = "default", body = ErrorReply)))]
pub(crate) async fn remove(State(shared): State<Shared>, At(at): At) -> Result<Json<Done>, ApiError> {
    Ok(Json(translate::done(shared.yard.remove(&at).await?)))
}
