//! The HTTP face.

use std::convert::Infallible;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::State;
use axum::http::header::CONTENT_TYPE;
use axum::http::{Method, StatusCode, Uri};
use axum::response::{IntoResponse, Json, Response};
use futures_util::stream;
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::sync::mpsc;

use super::script::Turn;
use super::wire::{Finder, Question, Wire};
use super::{Asked, Shared, chat, gemini, messages, responses};

/// What requests that a CLI makes for itself are answered.
const ASIDE: &str = "A title";

/// Numbers answers, so that no two have one id.
static NUMBER: AtomicU64 = AtomicU64::new(1);

pub(super) async fn serve(listener: TcpListener, shared: Arc<Shared>) {
    let router = Router::new().fallback(answer).with_state(shared);
    // It only ends with its runtime.
    let _ = axum::serve(listener, router).await;
}

async fn answer(State(shared): State<Arc<Shared>>, method: Method, uri: Uri, body: Bytes) -> Response {
    let path = uri.path();
    if method == Method::GET && path.ends_with("/models") {
        return Json(json!({"object": "list", "data": [], "has_more": false})).into_response();
    }
    if path.ends_with("/count_tokens") {
        return Json(json!({"input_tokens": 100})).into_response();
    }
    if path.ends_with(":countTokens") {
        return Json(json!({"totalTokens": 100})).into_response();
    }
    let request: Value = serde_json::from_slice(&body).unwrap_or(Value::Null);
    let number = NUMBER.fetch_add(1, Ordering::Relaxed);
    let (question, wire): (Question, Box<dyn Wire>) = if path.ends_with("/responses") {
        (responses::read(&request), Box::new(responses::Responses::new(&request, number)))
    } else if path.ends_with("/chat/completions") {
        (chat::read(&request), Box::new(chat::Chat::new(&request, number)))
    } else if path.ends_with("/messages") {
        (messages::read(&request), Box::new(messages::Messages::new(&request, number)))
    } else if path.ends_with(":generateContent") || path.ends_with(":streamGenerateContent") {
        (gemini::read(&request, path), Box::new(gemini::Gemini::new(&request, number)))
    } else {
        shared.change(|state| state.strange.push(format!("{method} {uri}")));
        return StatusCode::NOT_FOUND.into_response();
    };
    reply(shared, question, wire).await
}

async fn reply(shared: Arc<Shared>, question: Question, mut wire: Box<dyn Wire>) -> Response {
    let Question { prompt, result, shell, tools, finder, wants_stream } = question;
    let Some(shell) = shell else {
        return whole_or_stream(wants_stream, &[wire.open(), wire.text(ASIDE), wire.close()], &*wire);
    };
    let has_result = result.is_some();
    let goes_on = has_result || finder == Finder::Asked;
    let (at, turn) = shared.change(|state| {
        let turn = state.script.turn(&prompt);
        let known = goes_on.then(|| state.asked.iter().rposition(|asked| asked.prompt == prompt)).flatten();
        let at = known.unwrap_or_else(|| {
            state.asked.push(Asked { prompt, result: None, given_up: false });
            state.asked.len() - 1
        });
        state.asked[at].result = result;
        (at, turn)
    });
    let (text, gate) = match turn {
        Turn::Fails(status) => {
            let status = StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
            let error = json!({"type": "invalid_request_error", "message": "the model fails as it was told"});
            return (status, Json(json!({"type": "error", "error": error}))).into_response();
        }
        Turn::Runs { command, .. } if !has_result => {
            let call = wire.call(&shell.tool, &shell.arguments(&command));
            return whole_or_stream(wants_stream, &[wire.open(), call, wire.close()], &*wire);
        }
        Turn::Calls { server, tool, arguments, .. } if !has_result => {
            let Some(tool) = tools.iter().find(|offered| offered.is_of(&server, &tool)) else {
                if let Finder::Offered(finder) = finder {
                    let query = json!({"query": format!("select:mcp__{server}__{tool}"), "max_results": 5});
                    let call = wire.call(&finder, &query);
                    return whole_or_stream(wants_stream, &[wire.open(), call, wire.close()], &*wire);
                }
                let missing = format!("no tool {tool} of {server} among {tools:?}");
                shared.change(|state| state.strange.push(missing));
                return StatusCode::NOT_FOUND.into_response();
            };
            let call = wire.call(tool, &arguments);
            return whole_or_stream(wants_stream, &[wire.open(), call, wire.close()], &*wire);
        }
        Turn::Calls { then: text, .. } | Turn::Runs { then: text, .. } | Turn::Says(text) => (text, None),
        Turn::Holds(text, gate) => (text, Some(gate)),
    };
    // One chunk waits at most: who does not read holds the model back.
    let (chunks, body) = mpsc::channel::<String>(1);
    tokio::spawn(async move {
        let give = async |chunk: String| chunks.send(chunk).await.is_ok();
        let mut goes_on = give(wire.open()).await;
        for (at, word) in text.split_inclusive(' ').enumerate() {
            goes_on = goes_on && give(wire.text(word)).await;
            if let (0, Some(mut gate)) = (at, gate.clone()) {
                tokio::select! {
                    _ = gate.wait_for(|is_open| *is_open) => {}
                    () = chunks.closed() => goes_on = false,
                }
            }
        }
        if !(goes_on && give(wire.close()).await) {
            shared.change(|state| state.asked[at].given_up = true);
        }
    });
    let body = stream::unfold(body, async |mut body| Some((Ok::<_, Infallible>(body.recv().await?), body)));
    ([(CONTENT_TYPE, "text/event-stream")], Body::from_stream(body)).into_response()
}

fn whole_or_stream(wants_stream: bool, stream: &[String], wire: &dyn Wire) -> Response {
    if wants_stream {
        ([(CONTENT_TYPE, "text/event-stream")], stream.concat()).into_response()
    } else {
        Json(wire.whole()).into_response()
    }
}
