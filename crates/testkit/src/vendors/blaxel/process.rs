//! Commands that a sandbox's own server runs.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::Json;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use rustix::process::Signal;
use serde_json::{Value, json};
use tokio::sync::{mpsc, watch};

use super::{Lodging, Vendor, Vendors, error, locked, no_such};
use crate::vendors::program::{Event, Io, Program, Stream, Told};

/// A command.
#[derive(Debug)]
pub(super) struct Process {
    name: String,
    command: String,
    cwd: String,
    program: Program,
    printed: Mutex<Printed>,
    /// Its status and code.
    status: watch::Sender<(&'static str, i32)>,
}

#[derive(Debug, Default)]
struct Printed {
    out: Vec<u8>,
    err: Vec<u8>,
    all: Vec<u8>,
}

impl Process {
    /// It is described with its output, of which each stream is text.
    fn described(&self) -> Value {
        let printed = locked(&self.printed);
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let (status, code) = *self.status.borrow();
        let at = "Wed, 01 Jan 2026 12:00:00 GMT";
        json!({
            "pid": self.program.pid.to_string(), "name": self.name, "command": self.command, "status": status,
            "startedAt": at, "completedAt": if status == "running" { "" } else { at }, "exitCode": code,
            "workingDir": self.cwd, "stdout": text(&printed.out), "stderr": text(&printed.err),
            "logs": text(&printed.all), "keepAlive": false,
        })
    }

    async fn tell(self: Arc<Self>, mut events: mpsc::Receiver<Event>) {
        while let Some(event) = events.recv().await {
            match event {
                Event::Output(stream, bytes) => {
                    let mut printed = locked(&self.printed);
                    printed.all.extend(&bytes);
                    if stream == Stream::Err {
                        printed.err.extend(&bytes);
                    } else {
                        printed.out.extend(&bytes);
                    }
                }
                Event::End(status) => {
                    let code = if status & 0x7f == 0 { (status >> 8) & 0xff } else { -1 };
                    self.status.send_modify(|known| {
                        let word = if code == 0 { "completed" } else { "failed" };
                        *known = (if known.0 == "running" { word } else { known.0 }, code);
                    });
                }
            }
        }
    }

    fn stop(&self, status: &'static str, signal: Signal) {
        self.status.send_modify(|known| known.0 = status);
        self.program.end(signal);
    }
}

fn find(vendor: &Vendor, sandbox: &str, process: &str) -> Option<Arc<Process>> {
    let lodging = vendor.find(sandbox)?;
    let all = locked(&lodging.processes);
    all.iter().rev().find(|known| known.name == process || known.program.pid.to_string() == process).cloned()
}

fn not_found() -> Response {
    error(StatusCode::NOT_FOUND, "process not found")
}

pub(super) async fn run(
    State(vendor): Vendors,
    Path(sandbox): Path<String>,
    Json(order): Json<Value>,
) -> Response {
    let Some(lodging) = vendor.find(&sandbox) else { return no_such(&sandbox) };
    let Some(command) = order["command"].as_str() else {
        return error(StatusCode::BAD_REQUEST, "command is required");
    };
    let process = match start(&lodging, command, &order) {
        Ok(process) => process,
        Err(failure) => return error(StatusCode::UNPROCESSABLE_ENTITY, &failure.to_string()),
    };
    if order["waitForCompletion"] != json!(true) {
        return Json(process.described()).into_response();
    }
    let mut status = process.status.subscribe();
    let mut gone = lodging.gone.subscribe();
    // In seconds; without a limit it may take for ever.
    let limit = match order["timeout"].as_u64() {
        Some(seconds @ 1..) => Duration::from_secs(seconds),
        _ => Duration::from_secs(24 * 3600),
    };
    tokio::select! {
        _ended = status.wait_for(|(status, _)| *status != "running") => {}
        _ = gone.wait_for(|gone| *gone) => return error(StatusCode::BAD_GATEWAY, "the sandbox is gone"),
        () = tokio::time::sleep(limit) => {
            process.stop("killed", Signal::KILL);
            return error(StatusCode::UNPROCESSABLE_ENTITY, "process timed out");
        }
    }
    Json(process.described()).into_response()
}

fn start(lodging: &Arc<Lodging>, command: &str, order: &Value) -> std::io::Result<Arc<Process>> {
    if lodging.sandbox.is_over() {
        return Err(std::io::Error::other("the sandbox is gone"));
    }
    let io = Io::Pipes { stdin: order["stdin"] == json!(true) };
    let argv = vec!["sh".to_owned(), "-c".to_owned(), command.to_owned()];
    let mut wanted = lodging.order(argv, io, Told::BehindOutput);
    for (name, value) in order["env"].as_object().into_iter().flatten() {
        wanted.env.insert(name.clone(), value.as_str().unwrap_or_default().to_owned());
    }
    let cwd = order["workingDir"].as_str().unwrap_or("/");
    if !std::path::Path::new(cwd).is_dir() {
        let what = format!("could not execute command because folder '{cwd}' does not exist");
        return Err(std::io::Error::other(what));
    }
    wanted.cwd = Some(cwd.to_owned());
    let (program, events) = Program::start(&wanted, &lodging.sandbox.mark())?;
    let name = order["name"].as_str().map_or_else(|| format!("proc-{}", program.pid), str::to_owned);
    let process = Arc::new(Process {
        name,
        command: command.to_owned(),
        cwd: cwd.to_owned(),
        program,
        printed: Mutex::default(),
        status: watch::Sender::new(("running", 0)),
    });
    locked(&lodging.processes).push(Arc::clone(&process));
    tokio::spawn(Arc::clone(&process).tell(events));
    Ok(process)
}

pub(super) async fn list(State(vendor): Vendors, Path(sandbox): Path<String>) -> Response {
    let Some(lodging) = vendor.find(&sandbox) else { return no_such(&sandbox) };
    let all: Vec<Value> = locked(&lodging.processes).iter().map(|process| process.described()).collect();
    Json(all).into_response()
}

pub(super) async fn describe(
    State(vendor): Vendors,
    Path((sandbox, process)): Path<(String, String)>,
) -> Response {
    find(&vendor, &sandbox, &process)
        .map_or_else(not_found, |process| Json(process.described()).into_response())
}

pub(super) async fn logs(
    State(vendor): Vendors,
    Path((sandbox, process)): Path<(String, String)>,
) -> Response {
    let Some(process) = find(&vendor, &sandbox, &process) else { return not_found() };
    let described = process.described();
    let logs = ["stdout", "stderr", "logs"].map(|name| (name.to_owned(), described[name].clone()));
    Json(Value::Object(logs.into_iter().collect())).into_response()
}

pub(super) async fn stop(
    State(vendor): Vendors,
    Path((sandbox, process)): Path<(String, String)>,
) -> Response {
    let Some(process) = find(&vendor, &sandbox, &process) else { return not_found() };
    process.stop("stopped", Signal::TERM);
    Json(json!({ "message": "Process stopped successfully" })).into_response()
}

pub(super) async fn kill(
    State(vendor): Vendors,
    Path((sandbox, process)): Path<(String, String)>,
) -> Response {
    let Some(process) = find(&vendor, &sandbox, &process) else { return not_found() };
    process.stop("killed", Signal::KILL);
    Json(json!({ "message": "Process killed successfully" })).into_response()
}

pub(super) async fn write(
    State(vendor): Vendors,
    Path((sandbox, process)): Path<(String, String)>,
    body: axum::body::Bytes,
) -> Response {
    let Some(process) = find(&vendor, &sandbox, &process) else { return not_found() };
    match process.program.write(&body).await {
        Ok(()) => Json(json!({ "message": "written" })).into_response(),
        Err(_) => error(StatusCode::CONFLICT, "process has no open stdin"),
    }
}

pub(super) async fn close(
    State(vendor): Vendors,
    Path((sandbox, process)): Path<(String, String)>,
) -> Response {
    let Some(process) = find(&vendor, &sandbox, &process) else { return not_found() };
    process.program.close_input().await;
    Json(json!({ "message": "closed" })).into_response()
}
