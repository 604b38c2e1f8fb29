//! A server that speaks as Daytona does: the vendor's API and the daemons of its sandboxes, on one port of loopback.

mod faults;
mod pty;
mod toolbox;

use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};

use axum::extract::{Path, Request, State};
use axum::http::StatusCode;
use axum::middleware::{self, Next};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Json, Router};
use serde_json::{Value, json};
use tokio::sync::watch;
use tokio::task::JoinHandle;

pub use self::faults::Faults;
use self::pty::Pty;
use crate::vendors::heard::Heard;
use crate::vendors::sandbox::Sandbox;
use crate::vendors::{Refusal, locked};

/// The only key that the server takes.
pub const KEY: &str = "dtn_0123456789abcdef";

/// A server, until it is dropped; then its programs are ended.
#[derive(Debug)]
pub struct DaytonaServer {
    address: SocketAddr,
    vendor: Arc<Vendor>,
    task: JoinHandle<()>,
}

/// What the server knows.
#[derive(Debug)]
struct Vendor {
    address: SocketAddr,
    sandboxes: Mutex<HashMap<String, Arc<Lodging>>>,
    faults: Mutex<Faults>,
    /// Counts the times that all connections were cut.
    cuts: watch::Sender<u64>,
    /// Requests: method and path.
    heard: Heard,
}

/// One sandbox, and the terminals in it.
#[derive(Debug)]
struct Lodging {
    id: String,
    name: String,
    /// How often it is yet found starting.
    starting: AtomicU32,
    state: Mutex<&'static str>,
    sandbox: Sandbox,
    ptys: Mutex<HashMap<String, Arc<Pty>>>,
    /// True when it is gone.
    gone: watch::Sender<bool>,
}

type Vendors = State<Arc<Vendor>>;

impl DaytonaServer {
    /// Starts one.
    ///
    /// # Panics
    /// When there is no port for it.
    pub async fn start() -> Self {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let address = listener.local_addr().expect("an address");
        let vendor = Arc::new(Vendor {
            address,
            sandboxes: Mutex::default(),
            faults: Mutex::default(),
            cuts: watch::Sender::new(0),
            heard: Heard::default(),
        });
        let router = Router::new()
            .route("/api/sandbox", post(make).get(list))
            .route("/api/sandbox/{id}", get(describe).delete(remove))
            .route("/api/sandbox/{id}/start", post(wake))
            .route("/api/sandbox/{id}/stop", post(stop))
            .route("/api/sandbox/{id}/last-activity", post(renew))
            .route("/toolbox/{id}/process/execute", post(toolbox::execute))
            .route("/toolbox/{id}/process/pty", get(toolbox::list))
            .route("/toolbox/{id}/process/pty/create-connect", get(toolbox::create_connect))
            .route("/toolbox/{id}/process/pty/{pty}", get(toolbox::describe).delete(toolbox::remove))
            .route("/toolbox/{id}/process/pty/{pty}/connect", get(toolbox::connect))
            .route("/toolbox/{id}/process/pty/{pty}/resize", post(toolbox::resize))
            .layer(middleware::from_fn_with_state(Arc::clone(&vendor), hear))
            .with_state(Arc::clone(&vendor));
        let task = tokio::spawn(async move {
            let _until_dropped = axum::serve(listener, router).await;
        });
        Self { address, vendor, task }
    }

    /// The base of its API.
    #[must_use]
    pub fn url(&self) -> String {
        format!("http://{}/api", self.address)
    }

    /// The variables that send clients here.
    #[must_use]
    pub fn variables(&self) -> Vec<(&'static str, String)> {
        vec![
            ("DAYTONA_API_KEY", KEY.to_owned()),
            ("DAYTONA_API_URL", self.url()),
            // Its own client would open a channel for events otherwise.
            ("DAYTONA_USE_DEPRECATED_POLLING", "true".to_owned()),
        ]
    }

    /// Changes its faults.
    pub fn fail(&self, change: impl FnOnce(&mut Faults)) {
        change(&mut locked(&self.vendor.faults));
    }

    /// Cuts every socket that is open.
    pub fn cut(&self) {
        self.vendor.cuts.send_modify(|cuts| *cuts += 1);
    }

    /// Makes a sandbox that belongs to nobody's program, and says its id.
    #[must_use]
    pub fn sandbox(&self) -> String {
        self.vendor.make("theirs").id.clone()
    }

    /// Stops a sandbox, as the vendor does with those that nobody uses.
    pub fn stop(&self, id: &str) {
        if let Some(lodging) = self.vendor.find(id) {
            lodging.stop();
        }
    }

    /// The ids of the sandboxes there are.
    #[must_use]
    pub fn sandboxes(&self) -> Vec<String> {
        locked(&self.vendor.sandboxes).keys().cloned().collect()
    }

    /// How many terminals there are in all sandboxes.
    #[must_use]
    pub fn terminals(&self) -> usize {
        locked(&self.vendor.sandboxes).values().map(|lodging| locked(&lodging.ptys).len()).sum()
    }

    /// How many processes live in all sandboxes, those that were removed included.
    #[must_use]
    pub fn living(&self) -> usize {
        locked(&self.vendor.sandboxes).values().map(|lodging| lodging.sandbox.count()).sum()
    }

    /// How many requests had this in their method and path.
    #[must_use]
    pub fn heard(&self, what: &str) -> usize {
        self.vendor.heard.count(what)
    }
}

impl Drop for DaytonaServer {
    fn drop(&mut self) {
        self.task.abort();
        locked(&self.vendor.sandboxes).clear();
    }
}

impl Lodging {
    fn stop(&self) {
        *locked(&self.state) = "stopped";
        self.sandbox.end();
        locked(&self.ptys).clear();
        self.gone.send_replace(true);
    }
}

impl Drop for Lodging {
    fn drop(&mut self) {
        self.gone.send_replace(true);
        self.sandbox.end();
    }
}

impl Vendor {
    fn make(&self, name: &str) -> Arc<Lodging> {
        let mut random = [0; 8];
        getrandom::fill(&mut random).expect("random bytes");
        let id = random.iter().fold("sb-".to_owned(), |id, byte| id + &format!("{byte:02x}"));
        let starting = locked(&self.faults).looks_until_started;
        let lodging = Arc::new(Lodging {
            id: id.clone(),
            name: name.to_owned(),
            starting: AtomicU32::new(starting),
            state: Mutex::new("started"),
            sandbox: Sandbox::new(),
            ptys: Mutex::default(),
            gone: watch::Sender::new(false),
        });
        locked(&self.sandboxes).insert(id, Arc::clone(&lodging));
        lodging
    }

    /// By id or name.
    fn find(&self, id: &str) -> Option<Arc<Lodging>> {
        let all = locked(&self.sandboxes);
        all.get(id).or_else(|| all.values().find(|lodging| lodging.name == id)).cloned()
    }

    fn described(&self, lodging: &Lodging) -> Value {
        let less = |left: u32| left.checked_sub(1);
        let is_starting = lodging.starting.fetch_update(Ordering::AcqRel, Ordering::Acquire, less).is_ok();
        let state = if is_starting { "starting" } else { *locked(&lodging.state) };
        json!({
            "id": lodging.id, "organizationId": "org", "name": lodging.name, "user": "daytona", "env": {},
            "labels": {}, "public": false, "networkBlockAll": false, "kvm": false, "target": "us", "cpu": 1, "gpu": 0,
            "memory": 1, "disk": 3, "state": state, "desiredState": "started", "snapshot": "s",
            "toolboxProxyUrl": format!("http://{}/toolbox", self.address), "autoStopInterval": 0,
            "recoverable": false, "createdAt": "2026-01-01T00:00:00Z", "updatedAt": "2026-01-01T00:00:00Z",
        })
    }
}

fn error(status: StatusCode, message: &str) -> Response {
    (status, Json(json!({ "statusCode": status.as_u16(), "message": message }))).into_response()
}

/// Remembers what was asked, and refuses what is to be refused and who has no key.
async fn hear(State(vendor): Vendors, request: Request, next: Next) -> Response {
    let path = format!("{} {}", request.method(), request.uri().path());
    vendor.heard.note(path.clone());
    let refused = Refusal::refuses(&mut locked(&vendor.faults).refuse, &path);
    if let Some(status) = refused.and_then(|status| StatusCode::from_u16(status).ok()) {
        return error(status, "refused on purpose");
    }
    let key = request.headers().get("authorization").and_then(|key| key.to_str().ok());
    if key.and_then(|key| key.strip_prefix("Bearer ")) != Some(KEY) {
        return error(StatusCode::UNAUTHORIZED, "invalid API key");
    }
    next.run(request).await
}

fn no_such(id: &str) -> Response {
    error(StatusCode::NOT_FOUND, &format!("sandbox {id} not found"))
}

async fn make(State(vendor): Vendors, Json(order): Json<Value>) -> Response {
    if order["snapshot"] == json!("no-such-snapshot") {
        return error(StatusCode::NOT_FOUND, "snapshot no-such-snapshot not found");
    }
    let name = order["name"].as_str().unwrap_or_default();
    if vendor.find(name).is_some() {
        return error(StatusCode::CONFLICT, &format!("sandbox with name {name} already exists"));
    }
    let made = vendor.make(name);
    let mut faults = locked(&vendor.faults);
    if faults.lose_makes > 0 {
        faults.lose_makes -= 1;
        // The head promises a body, and the connection breaks before it.
        let broken =
            futures_util::stream::once(async { Err::<axum::body::Bytes, _>(std::io::Error::other("cut")) });
        return axum::body::Body::from_stream(broken).into_response();
    }
    drop(faults);
    Json(vendor.described(&made)).into_response()
}

async fn list(State(vendor): Vendors) -> Response {
    let all: Vec<Arc<Lodging>> = locked(&vendor.sandboxes).values().cloned().collect();
    let all: Vec<Value> = all.iter().map(|lodging| vendor.described(lodging)).collect();
    Json(json!({ "items": all, "nextCursor": null })).into_response()
}

async fn describe(State(vendor): Vendors, Path(id): Path<String>) -> Response {
    match vendor.find(&id) {
        Some(lodging) => Json(vendor.described(&lodging)).into_response(),
        None => no_such(&id),
    }
}

async fn wake(State(vendor): Vendors, Path(id): Path<String>) -> Response {
    let Some(lodging) = vendor.find(&id) else { return no_such(&id) };
    *locked(&lodging.state) = "started";
    lodging.gone.send_replace(false);
    Json(vendor.described(&lodging)).into_response()
}

async fn stop(State(vendor): Vendors, Path(id): Path<String>) -> Response {
    let Some(lodging) = vendor.find(&id) else { return no_such(&id) };
    lodging.stop();
    Json(vendor.described(&lodging)).into_response()
}

async fn renew(State(vendor): Vendors, Path(id): Path<String>) -> Response {
    match vendor.find(&id) {
        Some(_) => StatusCode::OK.into_response(),
        None => no_such(&id),
    }
}

async fn remove(State(vendor): Vendors, Path(id): Path<String>) -> Response {
    let Some(lodging) = vendor.find(&id) else { return no_such(&id) };
    locked(&vendor.sandboxes).remove(&lodging.id);
    *locked(&lodging.state) = "destroyed";
    let described = vendor.described(&lodging);
    lodging.gone.send_replace(true);
    lodging.sandbox.end();
    Json(described).into_response()
}
