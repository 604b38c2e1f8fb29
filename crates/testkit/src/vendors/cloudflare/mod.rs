//! A server that speaks as Cloudflare's bridge to sandboxes does, on one port of loopback.
//!
//! As with the vendor, naming a sandbox is enough to have it: nothing is allocated by asking for an id, and whatever is
//! done first with one begins a container. A session has one terminal, which everybody who connects to it shares.

mod container;
mod exec;
mod faults;
mod pty;
mod socket;

use std::collections::{BTreeMap, HashMap};
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use axum::body::{Body, Bytes};
use axum::extract::ws::WebSocketUpgrade;
use axum::extract::{Path, Query, Request, State};
use axum::http::{HeaderMap, StatusCode};
use axum::middleware::{self, Next};
use axum::response::{IntoResponse, Response};
use axum::routing::{delete, get, post};
use axum::serve::ListenerExt;
use axum::{Json, Router};
use serde_json::{Value, json};
use tokio::sync::watch;
use tokio::task::JoinHandle;

use self::container::{Container, DEFAULT};
pub use self::faults::Faults;
use self::socket::Wanted;
pub use super::Refusal;
use crate::vendors::heard::Heard;
use crate::vendors::locked;

/// The only key that the server takes.
pub const KEY: &str = "cloudflare-0123456789abcdef";

/// A server, until it is dropped; then its programs are ended.
#[derive(Debug)]
pub struct CloudflareServer {
    address: SocketAddr,
    vendor: Arc<Vendor>,
    task: JoinHandle<()>,
}

/// What the server knows.
#[derive(Debug)]
struct Vendor {
    containers: Mutex<HashMap<String, Arc<Container>>>,
    faults: Mutex<Faults>,
    /// Counts the times that all connections were cut.
    cuts: watch::Sender<u64>,
    /// Requests: method and path.
    heard: Heard,
}

type Vendors = State<Arc<Vendor>>;

impl CloudflareServer {
    /// Starts one.
    ///
    /// # Panics
    /// When there is no port for it.
    pub async fn start() -> Self {
        let vendor = Arc::new(Vendor {
            containers: Mutex::default(),
            faults: Mutex::default(),
            cuts: watch::Sender::new(0),
            heard: Heard::default(),
        });
        let router = Router::new()
            .route("/health", get(async || Json(json!({ "ok": true }))))
            .route("/v1/sandbox", post(name))
            .route("/v1/sandbox/{id}", delete(remove))
            .route("/v1/sandbox/{id}/running", get(running))
            .route("/v1/sandbox/{id}/exec", post(run))
            .route("/v1/sandbox/{id}/session", post(open))
            .route("/v1/sandbox/{id}/session/{session}", delete(close))
            .route("/v1/sandbox/{id}/pty", get(pty))
            .layer(middleware::from_fn_with_state(Arc::clone(&vendor), hear))
            .with_state(Arc::clone(&vendor));
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let address = listener.local_addr().expect("an address");
        let listener = listener.tap_io(|connection| {
            let _slower = connection.set_nodelay(true);
        });
        let task = tokio::spawn(async move {
            let _until_dropped = axum::serve(listener, router).await;
        });
        Self { address, vendor, task }
    }

    /// Its base.
    #[must_use]
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// The variables that send clients here.
    #[must_use]
    pub fn variables(&self) -> Vec<(&'static str, String)> {
        vec![("CLOUDFLARE_SANDBOX_API_KEY", KEY.to_owned()), ("CLOUDFLARE_SANDBOX_WORKER_URL", self.url())]
    }

    /// Changes its faults.
    pub fn fail(&self, change: impl FnOnce(&mut Faults)) {
        change(&mut locked(&self.vendor.faults));
    }

    /// Cuts every socket and stream that is open.
    pub fn cut(&self) {
        self.vendor.cuts.send_modify(|cuts| *cuts += 1);
    }

    /// The ids of the sandboxes that have a container.
    #[must_use]
    pub fn sandboxes(&self) -> Vec<String> {
        locked(&self.vendor.containers).keys().cloned().collect()
    }

    /// The sessions that are open, of all sandboxes.
    #[must_use]
    pub fn sessions(&self) -> Vec<String> {
        locked(&self.vendor.containers).values().flat_map(|container| container.sessions()).collect()
    }

    /// How many processes live in all sandboxes.
    #[must_use]
    pub fn processes(&self) -> usize {
        locked(&self.vendor.containers).values().map(|container| container.sandbox.count()).sum()
    }

    /// Counts requests from here on.
    pub fn forget_what_was_heard(&self) {
        self.vendor.heard.forget();
    }

    /// How many requests had this in their method and path.
    #[must_use]
    pub fn heard(&self, what: &str) -> usize {
        self.vendor.heard.count(what)
    }
}

impl Drop for CloudflareServer {
    fn drop(&mut self) {
        self.task.abort();
        locked(&self.vendor.containers).clear();
    }
}

fn error(status: StatusCode, code: &str, message: &str) -> Response {
    (status, Json(json!({ "error": message, "code": code }))).into_response()
}

impl Vendor {
    /// The container of a sandbox, which begins with the first use.
    fn container(&self, id: &str) -> Arc<Container> {
        let mut containers = locked(&self.containers);
        Arc::clone(containers.entry(id.to_owned()).or_insert_with(|| Arc::new(Container::new())))
    }
}

/// Remembers what was asked, refuses what is to be refused and who has no key, and loses what is to be lost.
async fn hear(State(vendor): Vendors, request: Request, next: Next) -> Response {
    let path = request.uri().path().to_owned();
    vendor.heard.note(format!("{} {path}", request.method()));
    let refused = locked(&vendor.faults).refuses(&path);
    if let Some(status) = refused.and_then(|status| StatusCode::from_u16(status).ok()) {
        return error(status, "refused", "refused on purpose");
    }
    let key = request.headers().get("authorization").and_then(|key| key.to_str().ok());
    if path.starts_with("/v1/sandbox") && key.and_then(|key| key.strip_prefix("Bearer ")) != Some(KEY) {
        return error(StatusCode::UNAUTHORIZED, "unauthorized", "Unauthorized");
    }
    let id = path.strip_prefix("/v1/sandbox/").and_then(|rest| rest.split('/').next());
    let is_id = |id: &str| {
        (1..=128).contains(&id.len()) && id.bytes().all(|byte| matches!(byte, b'a'..=b'z' | b'2'..=b'7'))
    };
    if id.is_some_and(|id| !is_id(id)) {
        return error(StatusCode::BAD_REQUEST, "invalid_request", "Invalid sandbox ID format");
    }
    let answer = next.run(request).await;
    if locked(&vendor.faults).lose_answers_of.is_some_and(|end| path.ends_with(end)) {
        // The head promises a body, and the connection breaks before it.
        let broken = futures_util::stream::once(async { Err::<Bytes, _>(std::io::Error::other("cut")) });
        return Body::from_stream(broken).into_response();
    }
    answer
}

async fn name() -> Response {
    let mut random = [0; 26];
    getrandom::fill(&mut random).expect("random bytes");
    let letter = |byte: u8| char::from(b"abcdefghijklmnopqrstuvwxyz234567"[usize::from(byte % 32)]);
    Json(json!({ "id": random.map(letter).iter().collect::<String>() })).into_response()
}

async fn remove(State(vendor): Vendors, Path(id): Path<String>) -> Response {
    let removed = locked(&vendor.containers).remove(&id);
    if let Some(container) = removed {
        // It waits until nothing lives.
        let _ended = tokio::task::spawn_blocking(move || container.end()).await;
    }
    StatusCode::NO_CONTENT.into_response()
}

async fn running(State(vendor): Vendors, Path(id): Path<String>) -> Response {
    // As with the vendor, the question begins a container.
    vendor.container(&id);
    Json(json!({ "running": true })).into_response()
}

async fn run(State(vendor): Vendors, Path(id): Path<String>, headers: HeaderMap, body: Bytes) -> Response {
    let Ok(order) = serde_json::from_slice::<Value>(&body) else {
        return error(StatusCode::BAD_REQUEST, "invalid_request", "Invalid JSON body");
    };
    let session = headers.get("session-id").and_then(|session| session.to_str().ok());
    exec::run(&vendor, &vendor.container(&id), session, &order)
}

async fn open(State(vendor): Vendors, Path(id): Path<String>, body: Bytes) -> Response {
    let order: Value = serde_json::from_slice(&body).unwrap_or_default();
    let session = order["id"].as_str().map_or_else(|| format!("session-{}", body.len()), str::to_owned);
    let env: BTreeMap<String, String> = order["env"]
        .as_object()
        .into_iter()
        .flatten()
        .filter_map(|(name, value)| Some((name.clone(), value.as_str()?.to_owned())))
        .collect();
    if vendor.container(&id).open(&session, order["cwd"].as_str(), env) {
        return Json(json!({ "id": session })).into_response();
    }
    let message = format!("session create failed: Session '{session}' already exists");
    error(StatusCode::BAD_GATEWAY, "session_error", &message)
}

async fn close(State(vendor): Vendors, Path((id, session)): Path<(String, String)>) -> Response {
    if vendor.container(&id).close(&session) {
        return StatusCode::NO_CONTENT.into_response();
    }
    let message = format!("session delete failed: Session '{session}' not found");
    error(StatusCode::BAD_GATEWAY, "session_error", &message)
}

async fn pty(
    State(vendor): Vendors,
    Path(id): Path<String>,
    Query(query): Query<HashMap<String, String>>,
    headers: HeaderMap,
    upgrade: Result<WebSocketUpgrade, axum::extract::ws::rejection::WebSocketUpgradeRejection>,
) -> Response {
    let Ok(upgrade) = upgrade else {
        return error(StatusCode::BAD_REQUEST, "invalid_request", "WebSocket upgrade required");
    };
    let number = |name: &str, usual| match query.get(name) {
        Some(number) => number.parse::<u16>().ok(),
        None => Some(usual),
    };
    let (Some(cols), Some(rows)) = (number("cols", 80), number("rows", 24)) else {
        return error(StatusCode::BAD_REQUEST, "invalid_request", "cols and rows must be valid numbers");
    };
    let header = headers.get("session-id").and_then(|session| session.to_str().ok());
    let session = header.or(query.get("session").map(String::as_str)).unwrap_or(DEFAULT).to_owned();
    let shell = query.get("shell").map_or("bash", String::as_str).to_owned();
    let container = vendor.container(&id);
    let wanted = Wanted { session, shell, size: (cols, rows) };
    upgrade.on_upgrade(move |socket| socket::serve(vendor, container, wanted, socket))
}
