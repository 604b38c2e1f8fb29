//! Runs of single programs, told as events.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use rustix::process::Signal;
use serde_json::{Value, json};
use tokio::sync::mpsc;

use super::container::{Container, DEFAULT};
use super::{Vendor, error, locked};
use crate::vendors::program::{Event, Io, Program, Stream};

/// Longest run that nobody gave a limit.
const RUN_LIMIT: Duration = Duration::from_secs(3600);

/// Starts what is ordered, and answers with what it does.
pub(super) fn run(
    vendor: &Arc<Vendor>,
    container: &Arc<Container>,
    session: Option<&str>,
    order: &Value,
) -> Response {
    let argv: Vec<String> = order["argv"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(|word| word.as_str().map(str::to_owned))
        .collect();
    if argv.is_empty() {
        return error(StatusCode::BAD_REQUEST, "invalid_request", "argv must be a non-empty array");
    }
    let is_outside = |cwd: &str| cwd != "/workspace" && !cwd.starts_with("/workspace/");
    if order["cwd"].as_str().is_some_and(is_outside) {
        let message = "cwd must resolve to a location within /workspace";
        return error(StatusCode::FORBIDDEN, "invalid_request", message);
    }
    let (wire, pieces) = mpsc::channel::<io::Result<Bytes>>(4);
    let piece = locked(&vendor.faults).stream_piece_bytes.unwrap_or(usize::MAX);
    let limit = order["timeout_ms"].as_u64().map_or(RUN_LIMIT, Duration::from_millis);
    let session = container.session(session.unwrap_or(DEFAULT));
    let begun = session.ok_or_else(|| io::Error::other("no such session")).and_then(|session| {
        let order = container.order(&session, argv, Io::Pipes { stdin: false });
        Program::start(&order, &container.sandbox.mark())
    });
    let telling = Telling { wire, piece };
    let (mut cuts, mut gone) = (vendor.cuts.subscribe(), container.gone.subscribe());
    tokio::spawn(async move {
        match begun {
            Err(failure) => telling.fail("exec_transport_error", &failure.to_string()).await,
            // What was begun goes on when nobody listens.
            Ok((program, events)) => {
                tokio::select! {
                    () = telling.tell(&program, events, limit) => return,
                    _ = cuts.changed() => {}
                    _ = gone.wait_for(|gone| *gone) => {}
                }
                let _gone = telling.wire.send(Err(io::Error::other("cut"))).await;
            }
        }
    });
    let body =
        futures_util::stream::unfold(pieces, |mut pieces| async { Some((pieces.recv().await?, pieces)) });
    ([("content-type", "text/event-stream")], Body::from_stream(body)).into_response()
}

struct Telling {
    wire: mpsc::Sender<io::Result<Bytes>>,
    piece: usize,
}

impl Telling {
    async fn tell(&self, program: &Program, mut events: mpsc::Receiver<Event>, limit: Duration) {
        let telling = async {
            while let Some(event) = events.recv().await {
                match event {
                    Event::Output(stream, bytes) => {
                        let name = if stream == Stream::Err { "stderr" } else { "stdout" };
                        // The vendor takes output for text before it encodes it: what is none is lost.
                        let text = String::from_utf8_lossy(&bytes);
                        self.event(name, &STANDARD.encode(text.as_bytes())).await;
                    }
                    Event::End(status) => {
                        let code =
                            if status & 0x7f == 0 { (status >> 8) & 0xff } else { 128 + (status & 0x7f) };
                        self.event("exit", &json!({ "exit_code": code }).to_string()).await;
                    }
                }
            }
        };
        if tokio::time::timeout(limit, telling).await.is_err() {
            program.end(Signal::KILL);
            self.fail("exec_error", "the time is over").await;
        }
    }

    async fn fail(&self, code: &str, message: &str) {
        self.event("error", &json!({ "error": message, "code": code }).to_string()).await;
    }

    async fn event(&self, name: &str, data: &str) {
        for piece in format!("event: {name}\ndata: {data}\n\n").into_bytes().chunks(self.piece) {
            let _gone = self.wire.send(Ok(Bytes::copy_from_slice(piece))).await;
        }
    }
}
