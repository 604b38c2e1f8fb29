//! A server that answers what a test says.

use std::convert::Infallible;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::sync::{Arc, Mutex, mpsc};
use std::time::Duration;

use bytes::Bytes;
use futures_util::{SinkExt, StreamExt};
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, Response, header};
use hyper_util::rt::TokioIo;
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::net::UnixListener;
use tokio::sync::oneshot;
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::handshake::derive_accept_key;
use tokio_tungstenite::tungstenite::protocol::{Message, Role};

/// Longer than anything takes that works, even on a busy machine.
const PATIENCE: Duration = Duration::from_secs(60);

/// A request as it came.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Seen {
    pub(crate) method: String,
    pub(crate) path: String,
    pub(crate) query: String,
    pub(crate) body: Value,
}

impl Seen {
    /// Method and path, to match on.
    pub(crate) fn call(&self) -> String {
        format!("{} {}", self.method, self.path)
    }
}

/// What the server answers.
pub(crate) enum Reply {
    Json(Value),
    Refusal(u16, &'static str, &'static str),
    Text(Vec<u8>, Vec<(&'static str, String)>),
    EventStream(String),
    /// Messages of a WebSocket; then it is closed, or stays open until the client leaves.
    Stream(Vec<Message>, Afterwards),
    /// No answer at all.
    Never,
}

#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Afterwards {
    Close,
    /// Cut without a close message.
    Cut,
    Stay,
}

/// What happened besides requests.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Happened {
    /// A message came on a WebSocket.
    Message(Message),
    /// A connection is gone while its request was not answered.
    Abandoned(String),
    /// A request came.
    Request(Seen),
}

pub(crate) struct Fake {
    pub(crate) dir: TempDir,
    seen: Arc<Mutex<Vec<Seen>>>,
    happened: Mutex<mpsc::Receiver<Happened>>,
    _stop: oneshot::Sender<()>,
}

pub(crate) const VERSION: &str = "/v1/version";

pub(crate) fn version() -> Value {
    json!({"version": "0.1.0", "protocol": 1, "pid": 1, "state": "/state"})
}

type Script = dyn Fn(&Seen) -> Reply + Send + Sync;

impl Fake {
    /// Starts a server that answers `/v1/version` itself and everything else as `script` says.
    pub(crate) fn start(script: impl Fn(&Seen) -> Reply + Send + Sync + 'static) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let seen = Arc::new(Mutex::new(Vec::new()));
        let (happens, happened) = mpsc::sync_channel(1024);
        let (stop, stopped) = oneshot::channel::<()>();
        let listener = std::os::unix::net::UnixListener::bind(dir.path().join("ptyard.sock")).unwrap();
        listener.set_nonblocking(true).unwrap();
        let room = Arc::new(Room { script: Box::new(script), seen: Arc::clone(&seen), happens });
        std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
            runtime.block_on(async move {
                let listener = UnixListener::from_std(listener).unwrap();
                tokio::select! {
                    () = accept(listener, room) => {}
                    _ = stopped => {}
                }
            });
        });
        Self { dir, seen, happened: Mutex::new(happened), _stop: stop }
    }

    /// A server whose every call answers this.
    pub(crate) fn answering(reply: &Value) -> Self {
        let reply = reply.clone();
        Self::start(move |_| Reply::Json(reply.clone()))
    }

    /// The requests so far, without those for the version.
    pub(crate) fn seen(&self) -> Vec<Seen> {
        self.seen.lock().unwrap().clone()
    }

    /// Waits for the next thing that happens.
    pub(crate) fn next(&self) -> Happened {
        self.happened.lock().unwrap().recv_timeout(PATIENCE).expect("something happens")
    }

    /// Waits until something happens that `wanted` accepts.
    pub(crate) fn wait_for(&self, wanted: impl Fn(&Happened) -> bool) -> Happened {
        loop {
            let next = self.next();
            if wanted(&next) {
                return next;
            }
        }
    }

    pub(crate) fn run(&self, args: &[&str]) -> Output {
        self.command(args).output().unwrap()
    }

    pub(crate) fn command(&self, args: &[&str]) -> Command {
        ptyard(self.dir.path(), args)
    }
}

/// The program on a state directory, with nothing on stdin, in a home whose login shells have no start-up files:
/// those of a person can say something, and wait for each other.
pub(crate) fn ptyard(state: &Path, args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_ptyard"));
    command.env("PTYARD_STATE", state).env("HOME", env!("CARGO_TARGET_TMPDIR"));
    command.stdin(Stdio::null()).args(args);
    command
}

pub(crate) fn out(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).unwrap()
}

pub(crate) fn err(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).unwrap()
}

/// A frame of output at an offset.
pub(crate) fn frame(at: u64, bytes: &[u8]) -> Message {
    Message::binary([&at.to_be_bytes()[..], bytes].concat())
}

pub(crate) fn note(note: &Value) -> Message {
    Message::text(note.to_string())
}

/// A window of a program that still runs, to change where a test needs it.
pub(crate) fn window() -> Value {
    json!({
        "id": "t0192f0aabbcc7ddd8eeeffff00001111", "session_id": 19523, "output": "hi\n", "exit": null,
        "original_token_count": null, "from": 0, "next": 3, "evicted": 0, "ended_by": "deadline", "wall_ms": 251.8,
        "chunk_id": "577be0"
    })
}

pub(crate) fn with(mut document: Value, changes: Value) -> Value {
    let (Value::Object(into), Value::Object(changes)) = (&mut document, changes) else {
        panic!("not objects")
    };
    into.extend(changes);
    document
}

pub(crate) fn exited(code: i32) -> Value {
    json!({"code": code, "signal": null, "cause": "exited", "by": null, "descendants": 0})
}

pub(crate) fn info(log_end: u64) -> Value {
    json!({
        "id": "t0192f0aabbcc7ddd8eeeffff00001111", "session_id": 19523, "name": "build", "backend": "local",
        "argv": ["make", "a b"], "cwd": "/src", "pid": 77, "tty": true, "size": {"cols": 120, "rows": 40},
        "state": "running", "exit": null, "log": {"start": 0, "end": log_end, "bytes_kept": log_end}, "cursor": 0,
        "env": {"PATH": "/bin", "KEY": null}, "client": null, "status": {"status": "unknown"},
        "created_at": "2026-01-02T03:04:05Z", "last_output_at": null
    })
}

struct Room {
    script: Box<Script>,
    seen: Arc<Mutex<Vec<Seen>>>,
    happens: mpsc::SyncSender<Happened>,
}

/// Tells when a request is dropped without an answer.
struct Pending<'a>(&'a Room, Option<String>);

impl Drop for Pending<'_> {
    fn drop(&mut self) {
        if let Some(call) = self.1.take() {
            let _ = self.0.happens.try_send(Happened::Abandoned(call));
        }
    }
}

async fn accept(listener: UnixListener, room: Arc<Room>) {
    loop {
        let (socket, _) = listener.accept().await.unwrap();
        let room = Arc::clone(&room);
        tokio::spawn(async move {
            let service = service_fn(move |request| answer(Arc::clone(&room), request));
            let _ =
                http1::Builder::new().serve_connection(TokioIo::new(socket), service).with_upgrades().await;
        });
    }
}

async fn answer(
    room: Arc<Room>,
    mut request: Request<Incoming>,
) -> Result<Response<Full<Bytes>>, Infallible> {
    let upgrade = request.headers().contains_key(header::UPGRADE).then(|| hyper::upgrade::on(&mut request));
    let key = request.headers().get(header::SEC_WEBSOCKET_KEY).map(|key| derive_accept_key(key.as_bytes()));
    let (head, body) = request.into_parts();
    let body = body.collect().await.unwrap().to_bytes();
    let seen = Seen {
        method: head.method.to_string(),
        path: head.uri.path().to_owned(),
        query: head.uri.query().unwrap_or_default().to_owned(),
        body: serde_json::from_slice(&body).unwrap_or(Value::Null),
    };
    let reply = if seen.path == VERSION {
        match (room.script)(&seen) {
            Reply::Json(own) if own.get("protocol").is_some() => Reply::Json(own),
            _ => Reply::Json(version()),
        }
    } else {
        room.seen.lock().unwrap().push(seen.clone());
        let _ = room.happens.try_send(Happened::Request(seen.clone()));
        (room.script)(&seen)
    };
    let mut pending = Pending(&room, Some(seen.call()));
    let response = Response::builder();
    let response = match reply {
        Reply::Json(document) => response.body(Full::from(document.to_string())),
        Reply::Refusal(status, code, message) => {
            let error =
                json!({"error": {"code": code, "message": message, "hint": "try this", "retryable": false}});
            response.status(status).body(Full::from(error.to_string()))
        }
        Reply::Text(text, headers) => {
            headers.iter().fold(response, |r, (name, value)| r.header(*name, value)).body(Full::from(text))
        }
        Reply::EventStream(events) => {
            response.header("content-type", "text/event-stream").body(Full::from(events))
        }
        Reply::Stream(messages, afterwards) => {
            let upgrade = upgrade.expect("a stream was asked for as a WebSocket");
            let happens = room.happens.clone();
            tokio::spawn(async move {
                let socket = TokioIo::new(upgrade.await.unwrap());
                let socket = WebSocketStream::from_raw_socket(socket, Role::Server, None).await;
                play(socket, messages, afterwards, happens).await;
            });
            response
                .status(101)
                .header(header::UPGRADE, "websocket")
                .header(header::CONNECTION, "upgrade")
                .header(header::SEC_WEBSOCKET_ACCEPT, key.expect("a WebSocket has a key"))
                .body(Full::default())
        }
        Reply::Never => std::future::pending().await,
    };
    pending.1 = None;
    Ok(response.unwrap())
}

async fn play<S>(
    mut socket: WebSocketStream<S>,
    messages: Vec<Message>,
    afterwards: Afterwards,
    happens: mpsc::SyncSender<Happened>,
) where
    S: tokio::io::AsyncRead + tokio::io::AsyncWrite + Unpin,
{
    for message in messages {
        socket.send(message).await.unwrap();
    }
    match afterwards {
        Afterwards::Cut => return,
        Afterwards::Close => socket.close(None).await.unwrap(),
        Afterwards::Stay => {}
    }
    while let Some(Ok(message)) = socket.next().await {
        let _ = happens.try_send(Happened::Message(message));
    }
}
