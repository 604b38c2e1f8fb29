//! A server that speaks as E2B does: the vendor's API and the daemons of its sandboxes, on one port of loopback.

mod daemon;
mod faults;

use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use axum::extract::{Path, Query, Request, State};
use axum::http::{HeaderMap, StatusCode};
use axum::middleware::{self, Next};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Json, Router};
use serde_json::{Value, json};
use tokio::sync::watch;
use tokio::task::JoinHandle;

use self::daemon::Daemon;
pub use self::faults::Faults;
use crate::vendors::heard::Heard;
use crate::vendors::{Refusal, locked};

/// The only key that the server takes.
pub const KEY: &str = "e2b_0123456789abcdef0123456789abcdef01234567";

/// A server, until it is dropped; then its programs are ended.
#[derive(Debug)]
pub struct E2bServer {
    address: SocketAddr,
    vendor: Arc<Vendor>,
    task: JoinHandle<()>,
}

/// What the server knows.
#[derive(Debug)]
struct Vendor {
    sandboxes: Mutex<HashMap<String, Arc<Daemon>>>,
    faults: Mutex<Faults>,
    /// Counts the times that all connections were cut.
    cuts: watch::Sender<u64>,
    /// Requests: method and path.
    heard: Heard,
}

type Vendors = State<Arc<Vendor>>;

impl E2bServer {
    /// Starts one.
    ///
    /// # Panics
    /// When there is no port for it.
    pub async fn start() -> Self {
        let vendor = Arc::new(Vendor {
            sandboxes: Mutex::default(),
            faults: Mutex::default(),
            cuts: watch::Sender::new(0),
            heard: Heard::default(),
        });
        let router = Router::new()
            .route("/sandboxes", post(make).get(list))
            .route("/v2/sandboxes", post(make).get(list))
            .route("/v2/sandboxes/{id}/connect", post(connect))
            .route("/sandboxes/{id}", get(describe).delete(remove))
            .route("/sandboxes/{id}/connect", post(connect))
            .route("/sandboxes/{id}/timeout", post(renew))
            .route("/health", get(health))
            .route("/process.Process/{method}", post(daemon::answer))
            .layer(middleware::from_fn_with_state(Arc::clone(&vendor), hear))
            .with_state(Arc::clone(&vendor));
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let address = listener.local_addr().expect("an address");
        let task = tokio::spawn(async move {
            let _until_dropped = axum::serve(listener, router).await;
        });
        Self { address, vendor, task }
    }

    /// The base of both its faces.
    #[must_use]
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// The variables that send clients here.
    #[must_use]
    pub fn variables(&self) -> Vec<(&'static str, String)> {
        vec![("E2B_API_KEY", KEY.to_owned()), ("E2B_API_URL", self.url()), ("E2B_SANDBOX_URL", self.url())]
    }

    /// Changes its faults.
    pub fn fail(&self, change: impl FnOnce(&mut Faults)) {
        change(&mut locked(&self.vendor.faults));
    }

    /// Cuts every stream that is open.
    pub fn cut(&self) {
        self.vendor.cuts.send_modify(|cuts| *cuts += 1);
    }

    /// Makes a sandbox that belongs to nobody's program, and says its id.
    #[must_use]
    pub fn sandbox(&self) -> String {
        self.vendor.make(&Value::Null, &Value::Null)["sandboxID"].as_str().expect("an id").to_owned()
    }

    /// Removes a sandbox, as the vendor does when its lease is over.
    pub fn remove(&self, id: &str) {
        let removed = locked(&self.vendor.sandboxes).remove(id);
        if let Some(daemon) = removed {
            daemon.end();
        }
    }

    /// The ids of the sandboxes there are.
    #[must_use]
    pub fn sandboxes(&self) -> Vec<String> {
        locked(&self.vendor.sandboxes).keys().cloned().collect()
    }

    /// How many processes live in all sandboxes.
    #[must_use]
    pub fn living(&self) -> usize {
        locked(&self.vendor.sandboxes).values().map(|daemon| daemon.living()).sum()
    }

    /// How many requests had this in their method and path.
    #[must_use]
    pub fn heard(&self, what: &str) -> usize {
        self.vendor.heard.count(what)
    }
}

impl Drop for E2bServer {
    fn drop(&mut self) {
        self.task.abort();
        locked(&self.vendor.sandboxes).clear();
    }
}

impl Vendor {
    fn make(&self, env: &Value, metadata: &Value) -> Value {
        let mut random = [0; 10];
        getrandom::fill(&mut random).expect("random bytes");
        let id = random.iter().fold("i".to_owned(), |id, byte| id + &format!("{byte:02x}"));
        let env = env.as_object().into_iter().flatten();
        let env = env.filter_map(|(name, value)| Some((name.clone(), value.as_str()?.to_owned()))).collect();
        let daemon = Arc::new(Daemon::new(format!("token-of-{id}"), env, metadata.clone()));
        let described = described(&id, &daemon);
        locked(&self.sandboxes).insert(id, daemon);
        described
    }

    fn find(&self, id: &str) -> Option<Arc<Daemon>> {
        locked(&self.sandboxes).get(id).cloned()
    }
}

fn described(id: &str, daemon: &Daemon) -> Value {
    json!({
        "sandboxID": id, "templateID": "base", "clientID": "client", "alias": "base", "envdVersion": "0.6.4",
        "envdAccessToken": daemon.token, "domain": null, "trafficAccessToken": null,
        "startedAt": "2026-01-01T00:00:00Z", "endAt": "2026-01-01T01:00:00Z", "state": "running",
        "cpuCount": 2, "memoryMB": 512, "diskSizeMB": 512, "metadata": daemon.metadata,
    })
}

fn error(status: StatusCode, message: &str) -> Response {
    (status, Json(json!({ "code": status.as_u16(), "message": message }))).into_response()
}

/// Remembers what was asked, and refuses what is to be refused and who has no key.
async fn hear(State(vendor): Vendors, request: Request, next: Next) -> Response {
    let path = request.uri().path().to_owned();
    vendor.heard.note(format!("{} {path}", request.method()));
    let refused = Refusal::refuses(&mut locked(&vendor.faults).refuse, &path);
    if let Some(status) = refused.and_then(|status| StatusCode::from_u16(status).ok()) {
        return error(status, "refused on purpose");
    }
    let key = request.headers().get("x-api-key").and_then(|key| key.to_str().ok());
    if path.trim_start_matches("/v2").starts_with("/sandboxes") && key != Some(KEY) {
        return error(StatusCode::UNAUTHORIZED, "invalid API key");
    }
    next.run(request).await
}

fn no_such(id: &str) -> Response {
    error(StatusCode::NOT_FOUND, &format!("sandbox {id} not found"))
}

async fn make(State(vendor): Vendors, Json(order): Json<Value>) -> Response {
    let template = order["templateID"].as_str().unwrap_or_default();
    if template == "no-such-template" {
        return error(StatusCode::NOT_FOUND, &format!("template {template} not found"));
    }
    (StatusCode::CREATED, Json(vendor.make(&order["envVars"], &order["metadata"]))).into_response()
}

/// All, or those with the metadata that is asked for: `metadata=NAME%3DVALUE`.
async fn list(State(vendor): Vendors, Query(query): Query<HashMap<String, String>>) -> Response {
    let wanted = query.get("metadata").and_then(|wanted| wanted.split_once('='));
    let is_wanted = |daemon: &Daemon| wanted.is_none_or(|(name, value)| daemon.metadata[name] == value);
    let all: Vec<Value> = locked(&vendor.sandboxes)
        .iter()
        .filter(|(_, daemon)| is_wanted(daemon))
        .map(|(id, daemon)| described(id, daemon))
        .collect();
    Json(all).into_response()
}

async fn describe(State(vendor): Vendors, Path(id): Path<String>) -> Response {
    match vendor.find(&id) {
        Some(daemon) => Json(described(&id, &daemon)).into_response(),
        None => no_such(&id),
    }
}

async fn connect(vendor: Vendors, id: Path<String>) -> Response {
    describe(vendor, id).await
}

async fn renew(State(vendor): Vendors, Path(id): Path<String>) -> Response {
    match vendor.find(&id) {
        Some(_) => StatusCode::NO_CONTENT.into_response(),
        None => no_such(&id),
    }
}

async fn remove(State(vendor): Vendors, Path(id): Path<String>) -> Response {
    let removed = locked(&vendor.sandboxes).remove(&id);
    match removed {
        Some(daemon) => {
            daemon.end();
            StatusCode::NO_CONTENT.into_response()
        }
        None => no_such(&id),
    }
}

async fn health(State(vendor): Vendors, headers: HeaderMap) -> Response {
    match daemon::of(&vendor, &headers) {
        Some(_) => StatusCode::NO_CONTENT.into_response(),
        None => StatusCode::BAD_GATEWAY.into_response(),
    }
}
