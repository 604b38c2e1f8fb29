//! A server that speaks as Blaxel does: the vendor's API and the own servers of its sandboxes, on one port of loopback.

mod faults;
mod process;
mod terminal;

use std::collections::{BTreeMap, HashMap};
use std::net::SocketAddr;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};

use axum::extract::ws::WebSocketUpgrade;
use axum::extract::{Path, Query, Request, State};
use axum::http::StatusCode;
use axum::middleware::{self, Next};
use axum::response::{IntoResponse, Response};
use axum::routing::{delete, get, post};
use axum::serve::ListenerExt;
use axum::{Json, Router};
use serde_json::{Value, json};
use tokio::sync::watch;
use tokio::task::JoinHandle;

pub use self::faults::Faults;
use self::process::Process;
use self::terminal::{Terminal, Wanted};
use crate::vendors::heard::Heard;
use crate::vendors::program::{Io, Order, Told};
use crate::vendors::sandbox::Sandbox;
use crate::vendors::{Refusal, locked};

/// The only key that the server takes.
pub const KEY: &str = "bl_0123456789abcdef";

/// Whose sandboxes it has.
const WORKSPACE: &str = "ws";

/// A server, until it is dropped; then its programs are ended.
#[derive(Debug)]
pub struct BlaxelServer {
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

type Vendors = State<Arc<Vendor>>;

/// One sandbox.
#[derive(Debug)]
struct Lodging {
    name: String,
    spec: Value,
    /// How often it is yet found being deployed.
    deploying: AtomicU32,
    sandbox: Sandbox,
    /// Where its programs are found.
    path: String,
    terminals: Mutex<HashMap<String, Arc<Terminal>>>,
    processes: Mutex<Vec<Arc<Process>>>,
    /// True when it is gone.
    gone: watch::Sender<bool>,
}

impl BlaxelServer {
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
            .route("/v0/sandboxes", post(make).get(list))
            .route("/v0/sandboxes/{name}", get(describe).delete(remove))
            .route("/sbx/{name}/process", post(process::run).get(process::list))
            .route("/sbx/{name}/process/{id}", get(process::describe).delete(process::stop))
            .route("/sbx/{name}/process/{id}/kill", delete(process::kill))
            .route("/sbx/{name}/process/{id}/logs", get(process::logs))
            .route("/sbx/{name}/process/{id}/stdin", post(process::write).delete(process::close))
            .route("/sbx/{name}/terminal/ws", get(connect))
            .layer(middleware::from_fn_with_state(Arc::clone(&vendor), hear))
            .with_state(Arc::clone(&vendor));
        let listener = listener.tap_io(|connection| {
            let _slower = connection.set_nodelay(true);
        });
        let task = tokio::spawn(async move {
            let _until_dropped = axum::serve(listener, router).await;
        });
        Self { address, vendor, task }
    }

    /// The base of its API.
    #[must_use]
    pub fn url(&self) -> String {
        format!("http://{}/v0", self.address)
    }

    /// The variables that send clients here. The vendor's own client has none for the address.
    #[must_use]
    pub fn variables(&self) -> Vec<(&'static str, String)> {
        vec![
            ("BL_API_KEY", KEY.to_owned()),
            ("BL_WORKSPACE", WORKSPACE.to_owned()),
            ("BL_REGION", "us-pdx-1".to_owned()),
            ("BL_API_URL", self.url()),
            ("DO_NOT_TRACK", "1".to_owned()),
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

    /// Makes a sandbox that belongs to nobody's program, and says its name.
    #[must_use]
    pub fn sandbox(&self) -> String {
        self.vendor.make("theirs", json!({})).name.clone()
    }

    /// Ends the shell of every terminal, as the vendor does with those that nobody listens to.
    pub fn end_terminals(&self) {
        for lodging in locked(&self.vendor.sandboxes).values() {
            for terminal in locked(&lodging.terminals).values() {
                terminal.end();
            }
        }
    }

    /// The names of the sandboxes there are.
    #[must_use]
    pub fn sandboxes(&self) -> Vec<String> {
        locked(&self.vendor.sandboxes).keys().cloned().collect()
    }

    /// How many terminals live in all sandboxes.
    #[must_use]
    pub fn terminals(&self) -> usize {
        let living = |lodging: &Arc<Lodging>| {
            locked(&lodging.terminals).values().filter(|terminal| !terminal.is_dead()).count()
        };
        locked(&self.vendor.sandboxes).values().map(living).sum()
    }

    /// How many processes live in all sandboxes.
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

impl Drop for BlaxelServer {
    fn drop(&mut self) {
        self.task.abort();
        locked(&self.vendor.sandboxes).clear();
    }
}

impl Lodging {
    /// The shell of its terminals, which the vendor looks for like this.
    fn shell(&self) -> String {
        let usual = ["/bin/zsh", "/bin/bash", "/bin/sh"];
        usual.into_iter().find(|shell| std::path::Path::new(shell).exists()).unwrap_or("/bin/sh").to_owned()
    }

    /// A program of it.
    fn order(&self, argv: Vec<String>, io: Io, told: Told) -> Order {
        let mut env = BTreeMap::from([
            ("PATH".to_owned(), self.path.clone()),
            ("HOME".to_owned(), self.sandbox.home()),
        ]);
        for entry in self.spec["runtime"]["envs"].as_array().into_iter().flatten() {
            if let (Some(name), Some(value)) = (entry["name"].as_str(), entry["value"].as_str()) {
                env.insert(name.to_owned(), value.to_owned());
            }
        }
        Order { argv, cwd: Some("/".to_owned()), env, io, told }
    }

    fn end(&self) {
        self.gone.send_replace(true);
        self.sandbox.end();
    }
}

impl Drop for Lodging {
    fn drop(&mut self) {
        self.end();
    }
}

/// Where a sandbox that has little more than a shell finds its programs.
fn bare(sandbox: &Sandbox) -> String {
    let bin = sandbox.directory().join("bin");
    std::fs::create_dir(&bin).expect("a directory");
    for name in ["env", "setsid", "sh", "stty", "dd", "cat", "sleep"] {
        let place = ["/bin", "/usr/bin"].map(|place| std::path::Path::new(place).join(name));
        let there = place.iter().find(|place| place.exists()).expect("this machine has it");
        std::os::unix::fs::symlink(there, bin.join(name)).expect("a link");
    }
    bin.display().to_string()
}

impl Vendor {
    fn make(&self, name: &str, spec: Value) -> Arc<Lodging> {
        let (is_bare, deploying) = {
            let faults = locked(&self.faults);
            (faults.is_bare, faults.looks_until_deployed)
        };
        let sandbox = Sandbox::new();
        let path = match is_bare {
            true => bare(&sandbox),
            false => std::env::var("PATH").unwrap_or_else(|_| "/usr/bin:/bin".to_owned()),
        };
        let lodging = Arc::new(Lodging {
            name: name.to_owned(),
            spec,
            deploying: AtomicU32::new(deploying),
            sandbox,
            path,
            terminals: Mutex::default(),
            processes: Mutex::default(),
            gone: watch::Sender::new(false),
        });
        locked(&self.sandboxes).insert(name.to_owned(), Arc::clone(&lodging));
        lodging
    }

    fn find(&self, name: &str) -> Option<Arc<Lodging>> {
        locked(&self.sandboxes).get(name).cloned()
    }

    fn described(&self, lodging: &Lodging) -> Value {
        let less = |left: u32| left.checked_sub(1);
        let is_deploying = lodging.deploying.fetch_update(Ordering::AcqRel, Ordering::Acquire, less).is_ok();
        let name = &lodging.name;
        json!({
            "metadata": {
                "name": name, "workspace": WORKSPACE, "url": format!("http://{}/sbx/{name}", self.address),
            },
            "spec": lodging.spec,
            "status": if is_deploying { "DEPLOYING" } else { "DEPLOYED" },
            "events": [],
        })
    }
}

fn error(status: StatusCode, message: &str) -> Response {
    (status, Json(json!({ "code": status.as_u16(), "error": message }))).into_response()
}

/// Whether a request has the key. A socket has it in its address.
fn is_known(request: &Request) -> bool {
    if request.uri().path().ends_with("/terminal/ws") {
        let query = request.uri().query().unwrap_or_default();
        return query.split('&').any(|pair| pair == format!("token={KEY}"));
    }
    let header = |name: &str| request.headers().get(name).and_then(|value| value.to_str().ok());
    header("x-blaxel-authorization") == Some(&format!("Bearer {KEY}"))
        && header("x-blaxel-workspace") == Some(WORKSPACE)
}

/// Remembers what was asked, and refuses what is to be refused and who has no key.
async fn hear(State(vendor): Vendors, request: Request, next: Next) -> Response {
    let path = format!("{} {}", request.method(), request.uri().path());
    vendor.heard.note(path.clone());
    let refused = Refusal::refuses(&mut locked(&vendor.faults).refuse, &path);
    if let Some(status) = refused.and_then(|status| StatusCode::from_u16(status).ok()) {
        return error(status, "refused on purpose");
    }
    let is_known = is_known(&request);
    if !is_known {
        return error(StatusCode::UNAUTHORIZED, "invalid API key");
    }
    next.run(request).await
}

fn no_such(name: &str) -> Response {
    error(StatusCode::NOT_FOUND, &format!("sandbox {name} not found"))
}

async fn make(
    State(vendor): Vendors,
    Query(query): Query<HashMap<String, String>>,
    Json(order): Json<Value>,
) -> Response {
    if order["spec"]["runtime"]["image"] == json!("no-such-image") {
        return error(StatusCode::NOT_FOUND, "image no-such-image not found");
    }
    let name = order["metadata"]["name"].as_str().map_or_else(|| "unnamed".to_owned(), str::to_owned);
    let lodging = match vendor.find(&name) {
        None => vendor.make(&name, order["spec"].clone()),
        Some(lodging) if query.get("createIfNotExist").is_some_and(|wish| wish == "true") => lodging,
        Some(_) => return error(StatusCode::CONFLICT, &format!("sandbox {name} already exists")),
    };
    let mut faults = locked(&vendor.faults);
    if faults.lose_makes > 0 {
        faults.lose_makes -= 1;
        // The head promises a body, and the connection breaks before it.
        let broken =
            futures_util::stream::once(async { Err::<axum::body::Bytes, _>(std::io::Error::other("cut")) });
        return axum::body::Body::from_stream(broken).into_response();
    }
    drop(faults);
    Json(vendor.described(&lodging)).into_response()
}

async fn list(State(vendor): Vendors) -> Response {
    let all: Vec<Arc<Lodging>> = locked(&vendor.sandboxes).values().cloned().collect();
    let all: Vec<Value> = all.iter().map(|lodging| vendor.described(lodging)).collect();
    Json(json!({ "data": all, "meta": { "hasMore": false } })).into_response()
}

async fn describe(State(vendor): Vendors, Path(name): Path<String>) -> Response {
    vendor
        .find(&name)
        .map_or_else(|| no_such(&name), |lodging| Json(vendor.described(&lodging)).into_response())
}

async fn remove(State(vendor): Vendors, Path(name): Path<String>) -> Response {
    let removed = locked(&vendor.sandboxes).remove(&name);
    let Some(lodging) = removed else { return no_such(&name) };
    let described = vendor.described(&lodging);
    // It waits until nothing lives.
    let _ended = tokio::task::spawn_blocking(move || lodging.end()).await;
    Json(described).into_response()
}

async fn connect(
    State(vendor): Vendors,
    Path(name): Path<String>,
    Query(query): Query<HashMap<String, String>>,
    upgrade: WebSocketUpgrade,
) -> Response {
    let Some(lodging) = vendor.find(&name) else { return no_such(&name) };
    let number = |name: &str, usual| query.get(name).and_then(|number| number.parse().ok()).unwrap_or(usual);
    let text = |name: &str| query.get(name).cloned();
    let wanted = Wanted {
        session: text("sessionId").unwrap_or_else(|| "default".to_owned()),
        shell: text("shell"),
        cwd: text("workingDir").unwrap_or_default(),
        size: (number("cols", 80), number("rows", 24)),
    };
    upgrade.on_upgrade(move |socket| terminal::serve(vendor, lodging, wanted, socket))
}
