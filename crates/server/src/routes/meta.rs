//! Calls about the server itself.

use axum::Json;
use axum::extract::State;
use axum::http::header;
use axum::response::{IntoResponse, Response};

use crate::api::{Done, ErrorReply, Leaving, PROTOCOL, Version};
use crate::openapi::openapi_json;
use crate::routes::Shared;
use crate::server::Ground;
use crate::stop::Ending;

/// Which server this is.
#[utoipa::path(get, path = "/v1/version", operation_id = "version",
    responses((status = 200, body = Version), (status = "default", body = ErrorReply)))]
pub(crate) async fn version(State(shared): State<Shared>) -> Json<Version> {
    Json(Version {
        version: env!("CARGO_PKG_VERSION").to_owned(),
        protocol: PROTOCOL,
        pid: std::process::id(),
        state: shared.state.display().to_string(),
        background: shared.ground == Ground::Background,
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
    shared.stop.request(Ending::Stop);
    Json(Done { id: None, ok: true })
}

/// Leaves the place to another server: answers, lets go of every program, exits. Programs go on; whoever waits is
/// answered `server_replaced`, and streams are closed with 1012.
#[utoipa::path(post, path = "/v1/replace", operation_id = "replace",
    responses((status = 200, body = Leaving), (status = "default", body = ErrorReply)))]
pub(crate) async fn replace(State(shared): State<Shared>) -> Json<Leaving> {
    shared.stop.request(Ending::Leave);
    Json(Leaving { listen: shared.listen.map(|address| address.to_string()) })
}

/// Says that the server serves; needs no token.
#[utoipa::path(get, path = "/healthz", operation_id = "health",
    responses((status = 200, body = String, content_type = "text/plain")))]
pub(crate) async fn health() -> &'static str {
    "ok\n"
}
