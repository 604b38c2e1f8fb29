//! The WebSocket of one terminal: its bytes out, keys and sizes in.

use std::time::Duration;

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

/// How long a viewer may take to say its size: a page does with its first word. One that says nothing by then is shown the
/// screen as it is.
const SIZE_PATIENCE: Duration = Duration::from_millis(500);

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

async fn serve(cao: &Cao, at: &TerminalRef, socket: WebSocket) {
    let (mut to_viewer, mut from_viewer) = socket.split();
    // A screen of another size would run over the viewer's, so what it says of its size comes before.
    if let Ok(first) = tokio::time::timeout(SIZE_PATIENCE, from_viewer.next()).await
        && obey(&cao.yard, at, first).await == Viewer::Leaves
    {
        return;
    }
    let shown = async {
        let screen = cao.yard.screen(at, 0).await.ok()?;
        let follow = cao.yard.follow(at, Some(screen.offset)).ok()?;
        Some((screen.ansi, follow))
    };
    let Some((ansi, follow)) = shown.await else {
        return say_over(&mut to_viewer, NO_TERMINAL, "Terminal not found").await;
    };
    if to_viewer.send(Message::Binary(ansi.into())).await.is_err() {
        return;
    }
    let is_over = tokio::select! {
        is_over = show(&mut to_viewer, follow) => is_over,
        () = take(&cao.yard, at, &mut from_viewer) => false,
        () = cao.stop.ends_were_told() => true,
    };
    if is_over {
        say_over(&mut to_viewer, close_code::NORMAL, "the program ended").await;
    }
}

async fn say_over(to_viewer: &mut SplitSink<WebSocket, Message>, code: u16, reason: &'static str) {
    // Whoever has left needs no word.
    let _ = to_viewer.send(Message::Close(Some(CloseFrame { code, reason: reason.into() }))).await;
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
    while obey(yard, at, from_viewer.next().await).await == Viewer::Stays {}
}

/// Whether a viewer stays.
#[derive(Debug, PartialEq, Eq)]
enum Viewer {
    Stays,
    Leaves,
}

/// Does what the viewer says.
async fn obey(yard: &Yard, at: &TerminalRef, said: Option<Result<Message, axum::Error>>) -> Viewer {
    let text = match said {
        Some(Ok(Message::Text(text))) => text,
        Some(Ok(Message::Ping(_) | Message::Pong(_))) => return Viewer::Stays,
        Some(Ok(Message::Binary(_) | Message::Close(_)) | Err(_)) | None => return Viewer::Leaves,
    };
    let done = match serde_json::from_str(&text) {
        Ok(Said::Input { data }) => yard.type_bytes(at, data.into_bytes()).await.map(drop),
        Ok(Said::Resize { rows, cols }) => match Size::new(cols, rows) {
            Ok(size) => yard.resize(at, size).await.map(drop),
            Err(_) => Ok(()),
        },
        Ok(Said::Other) => Ok(()),
        Err(_) => return Viewer::Leaves,
    };
    if let Err(error) = done {
        tracing::debug!(%error, "a viewer's input was not taken");
    }
    Viewer::Stays
}
