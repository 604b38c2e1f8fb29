//! The daemon of one sandbox: commands, and terminals over sockets.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::time::Duration;

use axum::Json;
use axum::extract::ws::WebSocketUpgrade;
use axum::extract::{Path, Query, State};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use rustix::process::Signal;
use serde_json::{Value, json};

use super::pty::{Pty, Viewer};
use super::{Lodging, Vendor, Vendors, error, no_such};
use crate::vendors::locked;
use crate::vendors::program::{Event, Io, Order, Program, Told};

/// What a client offers to be told how a shell ended.
const EXIT_CONTROL: &str = "X-Daytona-Pty-Exit-Control";
/// What stands before the variables of a terminal.
const ENVS: &str = "X-Daytona-Pty-Envs~";

/// How long a command may take when nothing is said.
const COMMAND_LIMIT: u64 = 10;

/// The environment of every program.
fn environment(lodging: &Lodging) -> BTreeMap<String, String> {
    let mut env = lodging.sandbox.environment();
    env.insert("TERM".to_owned(), "xterm-256color".to_owned());
    env
}

fn text_map(document: &Value) -> Option<BTreeMap<String, String>> {
    let given = document.as_object()?;
    given.iter().map(|(name, value)| Some((name.clone(), value.as_str()?.to_owned()))).collect()
}

/// Runs a command with a shell, both outputs in one text.
pub(super) async fn execute(
    State(vendor): Vendors,
    Path(id): Path<String>,
    Json(order): Json<Value>,
) -> Response {
    let Some(lodging) = running(&vendor, &id) else { return no_such(&id) };
    let mut env = environment(&lodging);
    env.extend(text_map(&order["envs"]).unwrap_or_default());
    let command = order["command"].as_str().unwrap_or_default();
    let argv = ["sh", "-c", "exec 2>&1; eval \"$0\"", command].map(str::to_owned).into();
    let cwd = order["cwd"].as_str().unwrap_or("/").to_owned();
    let order_limit = Duration::from_secs(order["timeout"].as_u64().unwrap_or(COMMAND_LIMIT));
    let order = Order { argv, cwd: Some(cwd), env, io: Io::Pipes { stdin: false }, told: Told::BehindOutput };
    let (program, mut events) = match Program::start(&order, &lodging.sandbox.mark()) {
        Ok(started) => started,
        Err(failed) => return error(StatusCode::BAD_REQUEST, &failed.to_string()),
    };
    let running = async {
        let (mut output, mut status) = (Vec::new(), None);
        while let Some(event) = events.recv().await {
            match event {
                Event::Output(_, bytes) => output.extend(bytes),
                Event::End(ended) => status = Some(ended),
            }
        }
        (output, status.unwrap_or(-1))
    };
    let mut gone = lodging.gone.subscribe();
    tokio::select! {
        (output, status) = running => {
            let code = if status & 0x7f == 0 { (status >> 8) & 0xff } else { -1 };
            Json(json!({ "exitCode": code, "result": String::from_utf8_lossy(&output) })).into_response()
        }
        () = tokio::time::sleep(order_limit) => {
            program.end(Signal::KILL);
            error(StatusCode::REQUEST_TIMEOUT, "command execution timeout")
        }
        _ = gone.wait_for(|gone| *gone) => error(StatusCode::BAD_GATEWAY, "the sandbox is gone"),
    }
}

fn running(vendor: &Vendor, id: &str) -> Option<Arc<Lodging>> {
    vendor.find(id).filter(|lodging| *locked(&lodging.state) == "started")
}

fn find(vendor: &Vendor, id: &str, pty: &str) -> Option<Arc<Pty>> {
    let lodging = running(vendor, id)?;
    locked(&lodging.ptys).get(pty).cloned()
}

fn no_pty(pty: &str) -> Response {
    error(StatusCode::NOT_FOUND, &format!("PTY session {pty} not found"))
}

fn described(id: &str, pty: &Pty) -> Value {
    let (cols, rows) = *locked(&pty.size);
    json!({
        "id": id, "cwd": "/", "envs": {}, "cols": cols, "rows": rows, "active": pty.is_active(), "lazyStart": false,
        "createdAt": "2026-01-01T00:00:00Z",
    })
}

pub(super) async fn list(State(vendor): Vendors, Path(id): Path<String>) -> Response {
    let Some(lodging) = running(&vendor, &id) else { return no_such(&id) };
    let all: Vec<Value> = locked(&lodging.ptys).iter().map(|(id, pty)| described(id, pty)).collect();
    Json(json!({ "sessions": all })).into_response()
}

pub(super) async fn describe(State(vendor): Vendors, Path((id, name)): Path<(String, String)>) -> Response {
    match find(&vendor, &id, &name) {
        Some(pty) => Json(described(&name, &pty)).into_response(),
        None => no_pty(&name),
    }
}

pub(super) async fn resize(
    State(vendor): Vendors,
    Path((id, name)): Path<(String, String)>,
    Json(order): Json<Value>,
) -> Response {
    let Some(pty) = find(&vendor, &id, &name) else { return no_pty(&name) };
    let number = |field: &str| order[field].as_u64().and_then(|number| u16::try_from(number).ok());
    let (Some(cols @ 1..=1000), Some(rows @ 1..=1000)) = (number("cols"), number("rows")) else {
        return error(StatusCode::BAD_REQUEST, "cols and rows must be between 1 and 1000");
    };
    if !pty.is_active() {
        return error(StatusCode::GONE, "PTY session is not active");
    }
    *locked(&pty.size) = (cols, rows);
    match pty.program.resize(cols, rows) {
        Ok(()) => Json(described(&name, &pty)).into_response(),
        Err(failed) => error(StatusCode::INTERNAL_SERVER_ERROR, &failed.to_string()),
    }
}

pub(super) async fn remove(State(vendor): Vendors, Path((id, name)): Path<(String, String)>) -> Response {
    let Some(lodging) = running(&vendor, &id) else { return no_such(&id) };
    let removed = locked(&lodging.ptys).remove(&name);
    match removed {
        Some(pty) => {
            pty.end_tree();
            Json(json!({ "message": format!("PTY session {name} deleted") })).into_response()
        }
        None => no_pty(&name),
    }
}

/// The sub-protocols that a client offers.
fn offered(headers: &HeaderMap) -> Vec<String> {
    let all = headers.get_all("sec-websocket-protocol").iter().filter_map(|value| value.to_str().ok());
    all.flat_map(|value| value.split(',')).map(|name| name.trim().to_owned()).collect()
}

/// The variables of a new terminal; `None` when they are none.
fn variables(offered: &[String]) -> Option<BTreeMap<String, String>> {
    let Some(token) = offered.iter().find_map(|name| name.strip_prefix(ENVS)) else {
        return Some(BTreeMap::new());
    };
    let document = URL_SAFE_NO_PAD.decode(token).ok()?;
    let given = text_map(&serde_json::from_slice(&document).ok()?)?;
    let is_good = |(name, value): (&String, &String)| {
        !name.is_empty() && !name.contains(['=', '\0', '\n']) && !value.contains(['\0', '\n'])
    };
    given.iter().all(is_good).then_some(given)
}

pub(super) async fn create_connect(
    State(vendor): Vendors,
    Path(id): Path<String>,
    Query(query): Query<HashMap<String, String>>,
    headers: HeaderMap,
    upgrade: WebSocketUpgrade,
) -> Response {
    let Some(lodging) = running(&vendor, &id) else { return no_such(&id) };
    let Some(name) = query.get("id").filter(|name| !name.is_empty()) else {
        return error(StatusCode::BAD_REQUEST, "id is required");
    };
    let number = |field: &str, usual| query.get(field).map_or(Some(usual), |text| text.parse::<u16>().ok());
    let (Some(cols @ 1..=1000), Some(rows @ 1..=1000)) = (number("cols", 80), number("rows", 24)) else {
        return error(StatusCode::BAD_REQUEST, "cols and rows must be between 1 and 1000");
    };
    let offered = offered(&headers);
    let Some(given) = variables(&offered) else {
        return error(StatusCode::BAD_REQUEST, "invalid envs");
    };
    if locked(&lodging.ptys).contains_key(name) {
        return error(StatusCode::CONFLICT, &format!("PTY session {name} already exists"));
    }
    let mut env = environment(&lodging);
    env.extend(given);
    // A login shell closes what has one digit, also what its programs are found by.
    let argv = ["bash", "-c", "exec 63<&9 9<&-; exec bash -i -l"].map(str::to_owned).into();
    let cwd = query.get("cwd").cloned().or_else(|| Some("/".to_owned()));
    let order = Order { argv, cwd, env, io: Io::Tty(cols, rows), told: Told::BehindOutput };
    match Pty::start(&order, &lodging, (cols, rows)) {
        Ok((pty, events)) => {
            let faults = locked(&vendor.faults).clone();
            let viewer = Viewer::new(offered.iter().any(|name| name == EXIT_CONTROL), faults);
            let listening = pty.listen(&viewer);
            pty.follow(events);
            locked(&lodging.ptys).insert(name.clone(), Arc::clone(&pty));
            serve(upgrade, &vendor, &lodging, pty, viewer, listening)
        }
        Err(failed) => error(StatusCode::BAD_REQUEST, &failed.to_string()),
    }
}

pub(super) async fn connect(
    State(vendor): Vendors,
    Path((id, name)): Path<(String, String)>,
    headers: HeaderMap,
    upgrade: WebSocketUpgrade,
) -> Response {
    let Some(pty) = find(&vendor, &id, &name) else { return no_pty(&name) };
    let Some(lodging) = running(&vendor, &id) else { return no_such(&id) };
    if !pty.is_active() {
        return error(StatusCode::GONE, "PTY session is not active");
    }
    let faults = locked(&vendor.faults).clone();
    let asks = offered(&headers).iter().any(|name| name == EXIT_CONTROL);
    let mut viewer = Viewer::new(asks, faults);
    viewer.faults.cut_before_message = None;
    let listening = pty.listen(&viewer);
    serve(upgrade, &vendor, &lodging, pty, viewer, listening)
}

fn serve(
    upgrade: WebSocketUpgrade,
    vendor: &Arc<Vendor>,
    lodging: &Arc<Lodging>,
    pty: Arc<Pty>,
    viewer: Viewer,
    listening: super::pty::Listening,
) -> Response {
    let (mut cuts, mut gone) = (vendor.cuts.subscribe(), lodging.gone.subscribe());
    cuts.mark_unchanged();
    upgrade.protocols([EXIT_CONTROL]).on_upgrade(move |socket| async move {
        tokio::select! {
            () = viewer.show(pty, socket, listening) => {}
            _ = cuts.changed() => {}
            _ = gone.wait_for(|gone| *gone) => {}
        }
    })
}
