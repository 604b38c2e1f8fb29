//! The daemon of one sandbox: programs over the Connect protocol, with documents as messages.

use std::collections::{BTreeMap, HashMap};
use std::io;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::Json;
use axum::body::{Body, Bytes};
use axum::extract::{Path, State};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use rustix::process::Signal;
use serde_json::{Value, json};
use tokio::sync::{mpsc, watch};
use tokio::time::{Instant, sleep_until};

use super::{Faults, Vendor, Vendors};
use crate::vendors::locked;
use crate::vendors::program::{Event, Io, Order, Program, Stream, Told};
use crate::vendors::sandbox::Sandbox;

/// One sandbox, and the programs in it.
#[derive(Debug)]
pub(super) struct Daemon {
    pub(super) token: String,
    /// What whoever made it wrote on it.
    pub(super) metadata: Value,
    /// Variables of all its programs.
    env: BTreeMap<String, String>,
    sandbox: Sandbox,
    running: Mutex<HashMap<u32, Arc<Running>>>,
    /// True when it is gone.
    gone: watch::Sender<bool>,
}

/// A program and who listens to it. What is told when nobody listens is told to nobody.
#[derive(Debug)]
struct Running {
    program: Program,
    config: Value,
    tag: Option<String>,
    listeners: Mutex<Vec<mpsc::Sender<Event>>>,
    ended: Mutex<Option<i32>>,
}

/// Events that wait for one listener; the program waits beyond that.
const EVENTS: usize = 64;

/// How long an end is remembered.
const END_KEPT: Duration = Duration::from_secs(30);

impl Daemon {
    pub(super) fn new(token: String, env: BTreeMap<String, String>, metadata: Value) -> Self {
        let (sandbox, running, gone) = (Sandbox::new(), Mutex::default(), watch::Sender::new(false));
        Self { token, env, metadata, sandbox, running, gone }
    }

    /// How many processes live in it.
    pub(super) fn living(&self) -> usize {
        self.sandbox.count()
    }

    /// Ends everything in it.
    pub(super) fn end(&self) {
        self.gone.send_replace(true);
        self.sandbox.end();
    }

    fn find(&self, selector: &Value) -> Result<Arc<Running>, Failure> {
        let running = locked(&self.running);
        let found = match (selector["pid"].as_u64(), selector["tag"].as_str()) {
            (Some(pid), _) => u32::try_from(pid).ok().and_then(|pid| running.get(&pid)),
            (None, tag) => running.values().find(|running| running.tag.as_deref() == tag),
        };
        found.cloned().ok_or_else(|| Failure("not_found", format!("process with {selector} not found")))
    }

    fn start(self: &Arc<Self>, order: &Value) -> Result<(Arc<Running>, mpsc::Receiver<Event>), Failure> {
        let process = &order["process"];
        let text = |value: &Value| value.as_str().map(str::to_owned);
        let mut argv = vec![text(&process["cmd"]).unwrap_or_default()];
        argv.extend(process["args"].as_array().into_iter().flatten().filter_map(text));
        let mut env = self.sandbox.environment();
        env.extend(self.env.clone());
        let given = process["envs"].as_object().into_iter().flatten();
        env.extend(given.filter_map(|(name, value)| Some((name.clone(), text(value)?))));
        let cwd = text(&process["cwd"]).or_else(|| Some("/".to_owned()));
        if let Some(cwd) = cwd.as_ref().filter(|cwd| !std::path::Path::new(cwd).is_dir()) {
            return Err(Failure("invalid_argument", format!("cwd '{cwd}' does not exist")));
        }
        let number = |value: &Value| value.as_u64().and_then(|number| u16::try_from(number).ok());
        let io = match &order["pty"]["size"] {
            Value::Null => Io::Pipes { stdin: order["stdin"].as_bool().unwrap_or(true) },
            size => Io::Tty(number(&size["cols"]).unwrap_or(80), number(&size["rows"]).unwrap_or(24)),
        };
        let program = Order { argv, cwd, env, io, told: Told::BehindOutput };
        let (program, events) = Program::start(&program, &self.sandbox.mark())
            .map_err(|error| Failure("internal", error.to_string()))?;
        let (listener, heard) = mpsc::channel(EVENTS);
        let running = Arc::new(Running {
            program,
            config: process.clone(),
            tag: text(&order["tag"]),
            listeners: Mutex::new(vec![listener]),
            ended: Mutex::default(),
        });
        locked(&self.running).insert(running.program.pid, Arc::clone(&running));
        tokio::spawn(Arc::clone(self).tell(Arc::clone(&running), events));
        if self.sandbox.is_over() {
            self.sandbox.end();
            return Err(Failure("not_found", "the sandbox is gone".to_owned()));
        }
        Ok((running, heard))
    }

    /// Tells whoever listens what the program does.
    async fn tell(self: Arc<Self>, running: Arc<Running>, mut events: mpsc::Receiver<Event>) {
        while let Some(event) = events.recv().await {
            if let Event::End(status) = event {
                *locked(&running.ended) = Some(status);
            }
            let listeners = locked(&running.listeners).clone();
            for listener in listeners {
                let _gone = listener.send(event.clone()).await;
            }
            locked(&running.listeners).retain(|listener| !listener.is_closed());
        }
        locked(&running.listeners).clear();
        tokio::time::sleep(END_KEPT).await;
        locked(&self.running).remove(&running.program.pid);
    }

    fn listen(&self, selector: &Value) -> Result<(Arc<Running>, mpsc::Receiver<Event>), Failure> {
        let running = self.find(selector)?;
        let (listener, heard) = mpsc::channel(EVENTS);
        let ended = *locked(&running.ended);
        match ended {
            Some(status) => {
                let _room = listener.try_send(Event::End(status));
            }
            None => locked(&running.listeners).push(listener),
        }
        Ok((running, heard))
    }

    async fn order(&self, method: &str, order: &Value) -> Result<Value, Failure> {
        if method == "List" {
            let running = locked(&self.running);
            let alive = running.values().filter(|running| locked(&running.ended).is_none());
            let all: Vec<Value> = alive
                .map(|running| json!({ "pid": running.program.pid, "tag": running.tag, "config": running.config }))
                .collect();
            return Ok(json!({ "processes": all }));
        }
        let running = self.find(&order["process"])?;
        if locked(&running.ended).is_some() {
            return Err(Failure("not_found", format!("process with pid {} not found", running.program.pid)));
        }
        let internal = |error: io::Error| Failure("internal", error.to_string());
        match method {
            "SendInput" => {
                let kind = if running.program.is_tty() { "pty" } else { "stdin" };
                let Some(text) = order["input"][kind].as_str() else {
                    return Err(Failure("internal", format!("the program has no such input; it has {kind}")));
                };
                let bytes =
                    STANDARD.decode(text).map_err(|error| Failure("invalid_argument", error.to_string()))?;
                running.program.write(&bytes).await.map_err(internal)?;
            }
            "CloseStdin" if running.program.is_tty() => {
                return Err(Failure("internal", "a tty's input cannot be closed; send 0x04".to_owned()));
            }
            "CloseStdin" => running.program.close_input().await,
            "Update" => {
                let size = &order["pty"]["size"];
                let number = |name: &str| size[name].as_u64().and_then(|number| u16::try_from(number).ok());
                if let (Some(cols), Some(rows)) = (number("cols"), number("rows")) {
                    running.program.resize(cols, rows).map_err(internal)?;
                }
            }
            "SendSignal" => match order["signal"].as_str() {
                Some("SIGNAL_SIGKILL") => running.program.end(Signal::KILL),
                Some("SIGNAL_SIGTERM") => running.program.end(Signal::TERM),
                other => return Err(Failure("unimplemented", format!("signal {other:?}"))),
            },
            other => return Err(Failure("unimplemented", other.to_owned())),
        }
        Ok(json!({}))
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        self.end();
    }
}

/// A refusal: the protocol's word for it, and what it says.
struct Failure(&'static str, String);

impl Failure {
    fn document(&self) -> Value {
        json!({ "code": self.0, "message": self.1 })
    }

    fn status(&self) -> StatusCode {
        match self.0 {
            "invalid_argument" => StatusCode::BAD_REQUEST,
            "unauthenticated" => StatusCode::UNAUTHORIZED,
            "not_found" => StatusCode::NOT_FOUND,
            "unimplemented" => StatusCode::NOT_IMPLEMENTED,
            _ => StatusCode::INTERNAL_SERVER_ERROR,
        }
    }
}

/// The daemon that a request is for.
pub(super) fn of(vendor: &Vendor, headers: &HeaderMap) -> Option<Arc<Daemon>> {
    vendor.find(headers.get("e2b-sandbox-id")?.to_str().ok()?)
}

pub(super) async fn answer(
    State(vendor): Vendors,
    Path(method): Path<String>,
    headers: HeaderMap,
    body: Bytes,
) -> Response {
    let Some(daemon) = of(&vendor, &headers) else {
        let message = json!({ "code": 502, "message": "The sandbox was not found" });
        return (StatusCode::BAD_GATEWAY, Json(message)).into_response();
    };
    let token = headers.get("x-access-token").and_then(|token| token.to_str().ok());
    if token != Some(&daemon.token) {
        let failure = Failure("unauthenticated", "wrong access token".to_owned());
        return (failure.status(), Json(failure.document())).into_response();
    }
    if matches!(method.as_str(), "Start" | "Connect") {
        let keepalive =
            headers.get("keepalive-ping-interval").and_then(|value| value.to_str().ok()?.parse().ok());
        return stream(&vendor, &daemon, &method, &body, Duration::from_secs(keepalive.unwrap_or(90)));
    }
    let order = serde_json::from_slice(&body).unwrap_or_default();
    let done = daemon.order(&method, &order).await;
    if locked(&vendor.faults).lose_answers_of == Some(&method) {
        // The head promises a body, and the connection breaks before it.
        let broken = futures_util::stream::once(async { Err::<Bytes, _>(io::Error::other("cut")) });
        return Body::from_stream(broken).into_response();
    }
    match done {
        Ok(answer) => Json(answer).into_response(),
        Err(failure) => (failure.status(), Json(failure.document())).into_response(),
    }
}

fn envelope(flags: u8, message: &Value) -> Vec<u8> {
    let message = message.to_string().into_bytes();
    let length = u32::try_from(message.len()).expect("a short message");
    [&[flags], length.to_be_bytes().as_slice(), &message].concat()
}

fn stream(
    vendor: &Arc<Vendor>,
    daemon: &Arc<Daemon>,
    method: &str,
    body: &[u8],
    keepalive: Duration,
) -> Response {
    let order = serde_json::from_slice(body.get(5..).unwrap_or_default()).unwrap_or_default();
    let begun = match method {
        "Start" => daemon.start(&order),
        _ => daemon.listen(&order["process"]),
    };
    let (wire, pieces) = mpsc::channel::<io::Result<Bytes>>(4);
    let faults = locked(&vendor.faults).clone();
    let telling = Telling { wire, faults, sent: 0, is_program: order["tag"].is_string() };
    match begun {
        Err(failure) => {
            tokio::spawn(telling.refuse(failure));
        }
        Ok((running, events)) => {
            let (mut cuts, mut gone) = (vendor.cuts.subscribe(), daemon.gone.subscribe());
            cuts.mark_unchanged();
            let wire = telling.wire.clone();
            tokio::spawn(async move {
                tokio::select! {
                    () = telling.tell(running.program.pid, events, keepalive) => return,
                    _ = cuts.changed() => {}
                    _ = gone.wait_for(|gone| *gone) => {}
                }
                let _gone = wire.send(Err(io::Error::other("cut"))).await;
            });
        }
    }
    let body =
        futures_util::stream::unfold(pieces, |mut pieces| async { Some((pieces.recv().await?, pieces)) });
    ([("content-type", "application/connect+json")], Body::from_stream(body)).into_response()
}

/// One stream of answers.
struct Telling {
    wire: mpsc::Sender<io::Result<Bytes>>,
    faults: Faults,
    sent: usize,
    is_program: bool,
}

/// The stream was cut, by a fault or by who read it.
struct Cut;

impl Telling {
    async fn refuse(self, failure: Failure) {
        let end = envelope(2, &json!({ "error": failure.document() }));
        let _gone = self.put(&end).await;
    }

    async fn tell(mut self, pid: u32, events: mpsc::Receiver<Event>, keepalive: Duration) {
        if let Err(Cut) = self.tell_all(pid, events, keepalive).await {
            let _gone = self.wire.send(Err(io::Error::other("cut"))).await;
        }
    }

    async fn tell_all(
        &mut self,
        pid: u32,
        mut events: mpsc::Receiver<Event>,
        keepalive: Duration,
    ) -> Result<(), Cut> {
        self.event(&json!({ "start": { "pid": pid } })).await?;
        let mut held = None;
        loop {
            let event = tokio::select! {
                event = events.recv() => event,
                () = sleep_until(Instant::now() + keepalive) => {
                    self.event(&json!({ "keepalive": {} })).await?;
                    continue;
                }
            };
            match event {
                // Held back until it is known whether it is the last one.
                Some(Event::Output(stream, bytes)) if self.faults.end_before_last_output => {
                    if let Some((stream, bytes)) = held.replace((stream, bytes)) {
                        self.output(stream, &bytes).await?;
                    }
                }
                Some(Event::Output(stream, bytes)) => self.output(stream, &bytes).await?,
                Some(Event::End(status)) => {
                    self.event(&json!({ "end": end(status) })).await?;
                    if let Some((stream, bytes)) = held.take() {
                        self.output(stream, &bytes).await?;
                    }
                    break;
                }
                None => break,
            }
        }
        if self.faults.no_end_of_stream { Ok(()) } else { self.put(&envelope(2, &json!({}))).await }
    }

    async fn output(&mut self, stream: Stream, bytes: &[u8]) -> Result<(), Cut> {
        let name = match stream {
            Stream::Tty => "pty",
            Stream::Out => "stdout",
            Stream::Err => "stderr",
        };
        for piece in bytes.chunks(self.faults.output_piece_bytes.unwrap_or(usize::MAX)) {
            self.event(&json!({ "data": { name: STANDARD.encode(piece) } })).await?;
        }
        Ok(())
    }

    async fn event(&mut self, event: &Value) -> Result<(), Cut> {
        if self.is_program && self.faults.cut_before_message == Some(self.sent) {
            return Err(Cut);
        }
        self.sent += 1;
        self.put(&envelope(0, &json!({ "event": event }))).await
    }

    async fn put(&self, bytes: &[u8]) -> Result<(), Cut> {
        for piece in bytes.chunks(self.faults.stream_piece_bytes.unwrap_or(usize::MAX)) {
            self.wire.send(Ok(Bytes::copy_from_slice(piece))).await.map_err(|_| Cut)?;
        }
        Ok(())
    }
}

/// An end as the daemon tells it.
fn end(status: i32) -> Value {
    let (signal, code) = (status & 0x7f, (status >> 8) & 0xff);
    let text = match signal {
        0 => format!("exit status {code}"),
        1 => "signal: hangup".to_owned(),
        2 => "signal: interrupt".to_owned(),
        9 => "signal: killed".to_owned(),
        10 => "signal: user defined signal 1".to_owned(),
        15 => "signal: terminated".to_owned(),
        other => format!("signal: signal {other}"),
    };
    let mut end = json!({ "exited": signal == 0, "status": text });
    let code = if signal == 0 { code } else { -1 };
    // Messages leave out zeros.
    if code != 0 {
        end["exitCode"] = json!(code);
        end["error"] = json!(text);
    }
    end
}
