//! The WebSocket of one terminal: its bytes out, keys and sizes in.

use axum::body::Bytes;
use axum::extract::State;
use axum::extract::ws::rejection::WebSocketUpgradeRejection;
use axum::extract::ws::{CloseFrame, Message, WebSocket, WebSocketUpgrade, close_code};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use futures_util::stream::{SplitSink, SplitStream};
use futures_util::{SinkExt, StreamExt};
use ptyard_core::Size;
use ptyard_yard::{Follow, FollowItem, TerminalRef, Yard};
use serde::Deserialize;

use super::Cao;
use super::extract::Named;
use super::refusal::Refusal;
use crate::peer::Peer;

/// Most bytes of one message from a viewer.
const MAX_INBOUND_BYTES: usize = 1 << 20;

/// What a viewer's close message says when the terminal is not there any more.
const NO_TERMINAL: u16 = 4004;

/// What a viewer says.
#[derive(Debug, Deserialize)]
#[serde(tag = "type", rename_all = "lowercase")]
enum Said {
    Input {
        data: String,
    },
    Resize {
        #[serde(default = "usual_rows")]
        rows: i64,
        #[serde(default = "usual_columns")]
        cols: i64,
    },
    #[serde(other)]
    Other,
}

const fn usual_rows() -> i64 {
    24
}

const fn usual_columns() -> i64 {
    80
}

/// Opens it. What the screen shows comes first, then whatever is printed from there on.
pub(super) async fn open(
    State(cao): State<Cao>,
    peer: Peer,
    named: Result<Named, Refusal>,
    upgrade: Result<WebSocketUpgrade, WebSocketUpgradeRejection>,
) -> Response {
    let upgrade = match upgrade {
        Ok(upgrade) => upgrade.max_message_size(MAX_INBOUND_BYTES).max_frame_size(MAX_INBOUND_BYTES),
        Err(rejection) => {
            return Refusal::new(StatusCode::UPGRADE_REQUIRED, rejection.body_text()).into_response();
        }
    };
    upgrade.on_upgrade(move |socket| async move {
        match named {
            Ok(named) => serve(&cao, &named.at, socket).await,
            Err(_) => close(socket, NO_TERMINAL, "Terminal not found").await,
        }
        // The connection keeps its place until here.
        drop(peer);
    })
}

async fn close(mut socket: WebSocket, code: u16, reason: &'static str) {
    // Whoever has left needs no word.
    let _ = socket.send(Message::Close(Some(CloseFrame { code, reason: reason.into() }))).await;
}

async fn serve(cao: &Cao, at: &TerminalRef, mut socket: WebSocket) {
    let shown = async {
        let screen = cao.yard.screen(at, 0).await.ok()?;
        let follow = cao.yard.follow(at, Some(screen.offset)).ok()?;
        Some((screen.ansi, follow))
    };
    let Some((ansi, follow)) = shown.await else {
        return close(socket, NO_TERMINAL, "Terminal not found").await;
    };
    if socket.send(Message::Binary(ansi.into())).await.is_err() {
        return;
    }
    let (mut to_viewer, mut from_viewer) = socket.split();
    let is_over = tokio::select! {
        is_over = show(&mut to_viewer, follow) => is_over,
        () = take(&cao.yard, at, &mut from_viewer) => false,
        () = cao.stop.ends_were_told() => true,
    };
    if is_over {
        let frame = CloseFrame { code: close_code::NORMAL, reason: "the program ended".into() };
        // Whoever has left needs no word.
        let _ = to_viewer.send(Message::Close(Some(frame))).await;
    }
}

/// Sends what is printed; whether that came to its end.
async fn show(to_viewer: &mut SplitSink<WebSocket, Message>, mut follow: Follow) -> bool {
    while let Some(item) = follow.next().await {
        if let FollowItem::Bytes { data, .. } = item
            && to_viewer.send(Message::Binary(Bytes::from(data))).await.is_err()
        {
            return false;
        }
    }
    true
}

/// Does what the viewer says, until it leaves or says what cannot be read.
async fn take(yard: &Yard, at: &TerminalRef, from_viewer: &mut SplitStream<WebSocket>) {
    while let Some(Ok(message)) = from_viewer.next().await {
        let text = match message {
            Message::Text(text) => text,
            Message::Ping(_) | Message::Pong(_) => continue,
            Message::Binary(_) | Message::Close(_) => return,
        };
        let done = match serde_json::from_str(&text) {
            Ok(Said::Input { data }) => yard.type_bytes(at, data.into_bytes()).await.map(drop),
            Ok(Said::Resize { rows, cols }) => match Size::new(cols, rows) {
                Ok(size) => yard.resize(at, size).await.map(drop),
                Err(_) => Ok(()),
            },
            Ok(Said::Other) => Ok(()),
            Err(_) => return,
        };
        if let Err(error) = done {
            tracing::debug!(%error, "a viewer's input was not taken");
        }
    }
}
