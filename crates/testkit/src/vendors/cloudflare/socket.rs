//! The socket of a terminal.

use std::sync::Arc;

use axum::extract::ws::{CloseFrame, Message, WebSocket};
use futures_util::stream::{SplitSink, SplitStream};
use futures_util::{SinkExt, StreamExt};
use serde_json::{Value, json};
use tokio::sync::watch;

use super::container::Container;
use super::faults::Instead;
use super::pty::{Pty, REPLAY_BYTES, Told};
use super::{Vendor, locked};

/// What the vendor closes with when a terminal fails.
const INTERNAL_ERROR: u16 = 1011;

/// What a client asked for.
pub(super) struct Wanted {
    pub(super) session: String,
    pub(super) shell: String,
    pub(super) size: (u16, u16),
}

/// Serves one socket, until somebody ends it.
pub(super) async fn serve(
    vendor: Arc<Vendor>,
    container: Arc<Container>,
    wanted: Wanted,
    mut socket: WebSocket,
) {
    let mut cuts = vendor.cuts.subscribe();
    let mut gone = container.gone.subscribe();
    let (faults, instead) = {
        let mut faults = locked(&vendor.faults);
        (faults.clone(), faults.instead_of_ready())
    };
    match instead {
        Some(Instead::Close) => return,
        Some(Instead::Error) => return fail(&mut socket, "failed on purpose").await,
        None => {}
    }
    let Some(session) = container.session(&wanted.session) else {
        return fail(&mut socket, &format!("Session '{}' not found", wanted.session)).await;
    };
    let replay_bytes = faults.replay_bytes.unwrap_or(REPLAY_BYTES);
    let pty = match container.pty(&session, &wanted.shell, wanted.size, replay_bytes) {
        Ok(pty) => pty,
        Err(error) => return fail(&mut socket, &error.to_string()).await,
    };
    drop(session);
    let (sink, stream) = socket.split();
    let (says, said) = watch::channel(Value::Null);
    let telling = Telling {
        sink,
        sent: 0,
        cut_before: faults.cut_before_message,
        piece: faults.output_piece_bytes.unwrap_or(usize::MAX),
        tells_exits: faults.tells_exits,
    };
    tokio::select! {
        _cut = telling.tell(&pty, said) => {}
        () = hear(&pty, stream, says) => {}
        _ = cuts.changed() => {}
        _ = gone.wait_for(|gone| *gone) => {}
    }
}

async fn fail(socket: &mut WebSocket, message: &str) {
    let status = json!({ "type": "error", "message": message });
    let _gone = socket.send(Message::Text(status.to_string().into())).await;
    let close = CloseFrame { code: INTERNAL_ERROR, reason: message.into() };
    let _gone = socket.send(Message::Close(Some(close))).await;
}

/// Takes what is typed, and sizes.
async fn hear(pty: &Pty, mut stream: SplitStream<WebSocket>, says: watch::Sender<Value>) {
    let say = |message: &str| {
        says.send_replace(json!({ "type": "error", "message": message }));
    };
    while let Some(Ok(message)) = stream.next().await {
        match message {
            Message::Binary(bytes) => {
                if pty.write(&bytes).await.is_err() {
                    say("PTY is closed");
                }
            }
            Message::Text(text) => {
                let order: Value = serde_json::from_str(&text).unwrap_or_default();
                let number = |name: &str| order[name].as_u64().and_then(|number| u16::try_from(number).ok());
                match (order["type"].as_str(), number("cols"), number("rows")) {
                    (Some("resize"), Some(cols @ 1..), Some(rows @ 1..)) => {
                        let _closed = pty.resize(cols, rows);
                    }
                    (Some("resize"), ..) => say("Invalid dimensions: cols and rows must be positive"),
                    (Some(_), ..) => {}
                    (None, ..) => say("Invalid control message"),
                }
            }
            Message::Close(_) => return,
            Message::Ping(_) | Message::Pong(_) => {}
        }
    }
}

struct Telling {
    sink: SplitSink<WebSocket, Message>,
    sent: usize,
    cut_before: Option<usize>,
    piece: usize,
    tells_exits: bool,
}

/// The socket was cut, by a fault or by who listened.
struct Cut;

impl Telling {
    async fn tell(mut self, pty: &Pty, mut said: watch::Receiver<Value>) -> Result<(), Cut> {
        let (replay, mut told) = pty.listen();
        if !replay.is_empty() {
            self.put(Message::Binary(replay.into())).await?;
        }
        self.status(&json!({ "type": "ready" })).await?;
        loop {
            tokio::select! {
                told = told.recv() => match told {
                    Some(Told::Output(bytes)) => {
                        for piece in bytes.chunks(self.piece) {
                            self.put(Message::Binary(piece.to_vec().into())).await?;
                        }
                    }
                    Some(Told::Exit(status)) if self.tells_exits => self.status(&exit(status)).await?,
                    Some(Told::Exit(_)) => {}
                    // Nothing comes any more, and nobody says so.
                    None => std::future::pending().await,
                },
                Ok(()) = said.changed() => {
                    let status = said.borrow_and_update().clone();
                    self.status(&status).await?;
                }
            }
        }
    }

    async fn status(&mut self, status: &Value) -> Result<(), Cut> {
        self.put(Message::Text(status.to_string().into())).await
    }

    async fn put(&mut self, message: Message) -> Result<(), Cut> {
        if self.cut_before == Some(self.sent) {
            return Err(Cut);
        }
        self.sent += 1;
        self.sink.send(message).await.map_err(|_| Cut)
    }
}

/// An exit as the vendor's types have it.
fn exit(status: i32) -> Value {
    match status & 0x7f {
        0 => json!({ "type": "exit", "code": (status >> 8) & 0xff }),
        signal => json!({ "type": "exit", "code": 128 + signal, "signal": signal.to_string() }),
    }
}
