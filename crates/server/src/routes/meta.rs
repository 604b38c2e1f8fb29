//! Calls about the server itself.

use axum::Json;
use axum::extract::State;
use axum::http::header;
use axum::response::{IntoResponse, Response};

use crate::api::{Done, ErrorReply, PROTOCOL, Version};
use crate::openapi::openapi_json;
use crate::routes::Shared;

/// Which server this is.
#[utoipa::path(get, path = "/v1/version", operation_id = "version",
    responses((status = 200, body = Version), (status = "default", body = ErrorReply)))]
pub(crate) async fn version(State(shared): State<Shared>) -> Json<Version> {
    Json(Version {
        version: env!("CARGO_PKG_VERSION").to_owned(),
        protocol: PROTOCOL,
        pid: std::process::id(),
        state: shared.state.display().to_string(),
    })
}

/// This description.
#[utoipa::path(get, path = "/v1/openapi.json", operation_id = "openapi",
    responses((status = 200, content_type = "application/json"), (status = "default", body = ErrorReply)))]
pub(crate) async fn openapi() -> Response {
    ([(header::CONTENT_TYPE, "application/json")], openapi_json()).into_response()
}

/// Stops the server: answers, ends every program, exits.
#[utoipa::path(post, path = "/v1/stop", operation_id = "stop",
    responses((status = 200, body = Done), (status = "default", body = ErrorReply)))]
pub(crate) async fn stop(State(shared): State<Shared>) -> Json<Done> {
    shared.stop.request();
    Json(Done { id: None, ok: true })
}

/// Says that the server serves; needs no token.
#[utoipa::path(get, path = "/healthz", operation_id = "health",
    responses((status = 200, body = String, content_type = "text/plain")))]
pub(crate) async fn health() -> &'static str {
    "ok\n"
}
