//! What holds for every endpoint, shown without a yard.

use std::future::pending;

use axum::Json;
use axum::body::Body;
use axum::http::{HeaderValue, StatusCode, header};
use axum::routing::{get, post};
use hyper::service::Service as _;
use hyper_util::service::TowerToHyperService;
use tokio::sync::Notify;

use super::*;
use crate::MAX_REQUEST_BYTES;
use crate::api::{ErrorReply, ExecRequest, KillRequest, WriteRequest};
use crate::extract::{OptionalPayload, Params, Payload};
use crate::peer::Entrance;
use crate::peer::tests::connected;
use crate::routes::look::OutputParams;
use crate::stop::Ending;

async fn take(Payload(request): Payload<ExecRequest>) -> Json<ExecRequest> {
    Json(request)
}

async fn take_optional(OptionalPayload(request): OptionalPayload<KillRequest>) -> Json<KillRequest> {
    Json(request)
}

async fn take_input(OptionalPayload(request): OptionalPayload<WriteRequest>) -> Json<WriteRequest> {
    Json(request)
}

async fn look(Params(params): Params<OutputParams>) -> String {
    format!("{params:?}")
}

async fn broken() {
    panic!("a handler broke");
}

fn router(stop: Stop) -> Router {
    let endpoints = Router::new()
        .route("/take", post(take))
        .route("/take-optional", post(take_optional))
        .route("/take-input", post(take_input))
        .route("/look", get(look))
        .route("/broken", get(broken))
        .route("/wait", get(pending::<&'static str>));
    behind_the_gate(endpoints, stop)
}

async fn call(stop: Stop, request: axum::http::request::Builder, body: Body) -> Response {
    let (_far, _wire, peer) = connected(Entrance::Unix);
    let mut request = request.body(body).unwrap();
    request.extensions_mut().insert(peer);
    TowerToHyperService::new(router(stop)).call(request).await.unwrap()
}

/// The status, and the error code when it is a refusal.
async fn read(response: Response) -> (u16, String) {
    let status = response.status();
    let body = axum::body::to_bytes(response.into_body(), usize::MAX).await.unwrap();
    if status.is_success() {
        return (status.as_u16(), String::from_utf8(body.to_vec()).unwrap());
    }
    let reply: ErrorReply = serde_json::from_slice(&body).expect("every refusal is an ErrorReply");
    assert!(!reply.error.message.is_empty());
    (status.as_u16(), reply.error.code)
}

async fn get_path(path: &str) -> (u16, String) {
    read(call(Stop::new(), Request::get(path), Body::empty()).await).await
}

async fn post_json(path: &str, body: impl Into<Body>) -> (u16, String) {
    let request = Request::post(path).header(header::CONTENT_TYPE, "application/json; charset=utf-8");
    read(call(Stop::new(), request, body.into()).await).await
}

fn refused(status: u16, code: &str) -> (u16, String) {
    (status, code.to_owned())
}

#[tokio::test]
async fn unknown_paths_and_methods_are_refused_in_the_one_shape() {
    assert_eq!(get_path("/nowhere").await, refused(404, "not_found"));
    assert_eq!(get_path("/").await, refused(404, "not_found"));
    let response = call(Stop::new(), Request::delete("/take"), Body::empty()).await;
    assert_eq!(response.headers().get(header::ALLOW), Some(&HeaderValue::from_static("POST")));
    assert_eq!(read(response).await, refused(405, "invalid_request"));
}

#[tokio::test]
async fn bad_bodies_are_refused_in_the_one_shape() {
    for bad in ["", "{", "[]", "{} trailing", r#"{"argv":"ls"}"#, r#"{"colour":1}"#, "\u{0}"] {
        assert_eq!(post_json("/take", bad).await, refused(400, "invalid_request"), "{bad:?}");
    }
    assert_eq!(post_json("/take", r#"{"argv":["ls"],"until":["exit"]}"#).await.0, 200);
    assert_eq!(post_json("/take-input", r#"{"input":{"chars":"a"},"yield_ms":5}"#).await.0, 200);
    assert_eq!(post_json("/take-input", r#"{"chars":"a"}"#).await, refused(400, "invalid_request"));
}

#[tokio::test]
async fn a_body_of_another_type_is_refused() {
    for kind in ["text/plain", "application/x-www-form-urlencoded", ""] {
        let request = Request::post("/take").header(header::CONTENT_TYPE, kind);
        let response = call(Stop::new(), request, Body::from("{}")).await;
        assert_eq!(read(response).await, refused(415, "invalid_request"), "{kind}");
    }
    let response = call(Stop::new(), Request::post("/take"), Body::from("{}")).await;
    assert_eq!(read(response).await, refused(415, "invalid_request"), "none");
}

#[tokio::test]
async fn an_optional_body_may_be_left_out_and_is_checked_when_it_is_there() {
    let response = call(Stop::new(), Request::post("/take-optional"), Body::empty()).await;
    assert_eq!(read(response).await, (200, "{}".to_owned()));
    assert_eq!(post_json("/take-optional", r#"{"grace_ms":7}"#).await, (200, r#"{"grace_ms":7}"#.into()));
    assert_eq!(post_json("/take-optional", r#"{"grace":7}"#).await, refused(400, "invalid_request"));
}

#[tokio::test]
async fn bodies_up_to_the_limit_are_taken_and_larger_ones_refused() {
    let padded = |bytes: usize| {
        let frame = r#"{"command":""}"#.len();
        format!(r#"{{"command":"{}"}}"#, "x".repeat(bytes - frame))
    };
    assert_ne!(post_json("/take", padded(MAX_REQUEST_BYTES)).await.0, 413);
    assert_eq!(post_json("/take", padded(MAX_REQUEST_BYTES + 1)).await, refused(413, "input_too_large"));
    // Without a stated length.
    let parts = (0..=16).map(|_| Ok::<_, std::io::Error>(vec![b' '; 1 << 20]));
    let body = Body::from_stream(futures_util::stream::iter(parts));
    assert_eq!(post_json("/take", body).await, refused(413, "input_too_large"));
}

#[tokio::test]
async fn bad_queries_are_refused() {
    assert_eq!(get_path("/look?since=5&raw=true").await.0, 200);
    for bad in
        ["since=-1", "since=x", "raw=maybe", "snice=1", "since=1&since=2", "since=99999999999999999999"]
    {
        assert_eq!(get_path(&format!("/look?{bad}")).await, refused(400, "invalid_argument"), "{bad}");
    }
}

#[tokio::test]
async fn a_panic_is_an_internal_error_and_not_a_broken_connection() {
    assert_eq!(get_path("/broken").await, refused(500, "internal"));
}

#[tokio::test]
async fn a_call_that_waits_is_answered_stopping_and_later_ones_too() {
    let stop = Stop::new();
    let entered = Arc::new(Notify::new());
    let waiting = tokio::spawn({
        let (stop, entered) = (stop.clone(), Arc::clone(&entered));
        async move {
            let call = call(stop, Request::get("/wait"), Body::empty());
            entered.notify_one();
            read(call.await).await
        }
    });
    entered.notified().await;
    stop.request(Ending::Stop);
    assert_eq!(waiting.await.unwrap(), refused(503, "stopping"));
    let late = call(stop, Request::get("/look"), Body::empty()).await;
    assert_eq!(late.status(), StatusCode::SERVICE_UNAVAILABLE);
}
