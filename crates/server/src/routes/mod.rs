//! The endpoints. Each handler translates a request, asks the yard and translates the answer.

pub(crate) mod agents;
pub(crate) mod events;
pub(crate) mod flows;
pub(crate) mod leftovers;
pub(crate) mod life;
pub(crate) mod look;
pub(crate) mod mail;
pub(crate) mod meta;
pub(crate) mod stream;
pub(crate) mod windows;

use std::net::SocketAddr;
use std::panic::AssertUnwindSafe;
use std::path::Path;
use std::sync::Arc;

use axum::Router;
use axum::extract::{Request, State};
use axum::http::{Method, Uri};
use axum::middleware::{self, Next};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use futures_util::FutureExt;
use ptyard_core::ErrorCode;
use ptyard_yard::Yard;

use crate::error::ApiError;
use crate::gate;
use crate::server::Ground;
use crate::stop::Stop;

/// What every handler may use.
#[derive(Clone)]
pub(crate) struct Shared {
    /// The yard.
    pub(crate) yard: Yard,
    /// The state directory.
    pub(crate) state: Arc<Path>,
    /// The loopback address it listens on as well.
    pub(crate) listen: Option<SocketAddr>,
    /// Where it was started.
    pub(crate) ground: Ground,
    /// The stop signal.
    pub(crate) stop: Stop,
}

/// All endpoints behind the gate.
pub(crate) fn router(shared: Shared, beside: Router) -> Router {
    let stop = shared.stop.clone();
    let endpoints = Router::new()
        .route("/v1/adopt", post(windows::adopt))
        .route("/v1/terminals", post(windows::exec).get(look::list))
        .route("/v1/terminals/{id}", get(look::info).delete(life::remove))
        .route("/v1/terminals/{id}/write", post(windows::write))
        .route("/v1/terminals/{id}/output", get(look::output))
        .route("/v1/terminals/{id}/screen", get(look::screen))
        .route("/v1/terminals/{id}/wait", post(windows::wait))
        .route("/v1/terminals/{id}/resize", post(life::resize))
        .route("/v1/terminals/{id}/signal", post(life::signal))
        .route("/v1/terminals/{id}/close-stdin", post(life::close_stdin))
        .route("/v1/terminals/{id}/kill", post(life::kill))
        .route("/v1/terminals/{id}/stream", get(stream::stream))
        .route("/v1/terminals/{id}/status", get(agents::status))
        .route("/v1/terminals/{id}/reset", post(agents::reset))
        .route("/v1/terminals/{id}/answer", post(agents::answer))
        .route("/v1/agents", post(agents::launch))
        .route("/v1/handoffs", post(agents::hand_off).get(agents::handoffs))
        .route("/v1/handoffs/{id}", get(agents::handoff))
        .route("/v1/assignments", post(agents::assign))
        .route("/v1/sessions", get(agents::sessions))
        .route("/v1/sessions/{name}", get(agents::session).delete(agents::shut_down))
        .route("/v1/profiles", get(agents::profiles))
        .route("/v1/providers", get(agents::providers))
        .route("/v1/flows", post(flows::add).get(flows::list))
        .route("/v1/flows/{name}", get(flows::show).delete(flows::remove))
        .route("/v1/flows/{name}/run", post(flows::run))
        .route("/v1/flows/{name}/pause", post(flows::pause))
        .route("/v1/flows/{name}/resume", post(flows::resume))
        .route("/v1/terminals/{id}/inbox", post(mail::send).get(mail::inbox))
        .route("/v1/terminals/{id}/mailbox", get(mail::mailbox).post(mail::set_mailbox))
        .route("/v1/speaker", get(agents::speaker))
        .route("/v1/hook", post(agents::hook))
        .route("/v1/messages", post(agents::tell))
        .route("/v1/messages/{mid}", get(mail::message))
        .route("/v1/messages/{mid}/cancel", post(mail::cancel))
        .route("/v1/messages/{mid}/retry", post(mail::retry))
        .route("/v1/events", get(events::events))
        .route("/v1/gc", post(leftovers::sweep))
        .route("/v1/version", get(meta::version))
        .route("/v1/openapi.json", get(meta::openapi))
        .route("/v1/stop", post(meta::stop))
        .route("/v1/replace", post(meta::replace))
        .route(gate::HEALTH_PATH, get(meta::health))
        .with_state(shared)
        .merge(beside);
    behind_the_gate(endpoints, stop)
}

/// Adds what holds for every endpoint, known or not.
fn behind_the_gate(endpoints: Router, stop: Stop) -> Router {
    endpoints
        .fallback(unknown_path)
        .method_not_allowed_fallback(unknown_method)
        .layer(middleware::from_fn_with_state(stop, contain))
        .layer(middleware::from_fn(gate::guard))
}

async fn unknown_path(uri: Uri) -> ApiError {
    ApiError::new(ErrorCode::NotFound, format!("{} is not an endpoint", uri.path()))
}

async fn unknown_method(method: Method, uri: Uri) -> ApiError {
    ApiError::method(&method, uri.path())
}

/// Ends a call that waits when the server stops and its program has not ended by then, and turns a panic into a refusal.
async fn contain(State(stop): State<Stop>, request: Request, next: Next) -> Response {
    if stop.is_requested() {
        return ApiError::stopping(stop.ending()).into_response();
    }
    // Neither the query nor the body: they hold what callers search for and type.
    tracing::debug!(method = %request.method(), path = request.uri().path(), "a call");
    let call = AssertUnwindSafe(next.run(request)).catch_unwind();
    tokio::select! {
        biased;
        answered = call => answered.unwrap_or_else(|_| {
            ApiError::new(ErrorCode::Internal, "the call broke off: a panic").into_response()
        }),
        () = stop.ends_were_told() => ApiError::stopping(stop.ending()).into_response(),
    }
}

#[cfg(test)]
mod tests;
