//! Requests as they are on the wire, and what an answer lacks of a recorded one.

use bytes::Bytes;
use futures_util::{SinkExt as _, StreamExt as _};
use http_body_util::{BodyExt as _, Full};
use hyper::body::Incoming;
use hyper::client::conn::http1::handshake;
use hyper::{Request, Response};
use hyper_util::rt::TokioIo;
use ptyard_testkit::soon;
use serde_json::{Value, json};
use tokio::net::TcpStream;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::client::IntoClientRequest as _;
use tokio_tungstenite::tungstenite::http::{HeaderName, HeaderValue};
use tokio_tungstenite::{WebSocketStream, client_async};

/// A server, as a client sees it.
pub(crate) struct Wire {
    address: String,
    headers: Vec<(&'static str, String)>,
}

impl Wire {
    /// The server at this base, and what every request to it bears.
    pub(crate) fn new(base: &str, headers: &[(&'static str, &str)]) -> Self {
        let address = path_of(base).0.to_owned();
        Self { address, headers: headers.iter().map(|&(name, value)| (name, value.to_owned())).collect() }
    }

    async fn send(&self, method: &str, path: &str, kind: &str, body: Vec<u8>) -> Response<Incoming> {
        let stream = TcpStream::connect(&self.address).await.unwrap();
        let (mut sender, connection) = handshake(TokioIo::new(stream)).await.unwrap();
        tokio::spawn(connection);
        let mut request = Request::builder().method(method).uri(path).header("host", &self.address);
        for (name, value) in &self.headers {
            request = request.header(*name, value);
        }
        if !body.is_empty() {
            request = request.header("content-type", kind);
        }
        let body = Full::new(Bytes::from(body));
        soon(path, sender.send_request(request.body(body).unwrap())).await.unwrap()
    }

    /// The status and the document of an answer; `null` for none.
    pub(crate) async fn ask(&self, method: &str, path: &str, body: &Value) -> (u16, Value) {
        let (status, text) = self.text(method, path, body).await;
        (status, if text.is_empty() { Value::Null } else { serde_json::from_str(&text).unwrap() })
    }

    /// The status and the text of an answer.
    pub(crate) async fn text(&self, method: &str, path: &str, body: &Value) -> (u16, String) {
        let body = if body.is_null() { Vec::new() } else { body.to_string().into_bytes() };
        let reply = self.send(method, path, "application/json", body).await;
        let status = reply.status().as_u16();
        let text = soon(path, reply.into_body().collect()).await.unwrap().to_bytes();
        (status, String::from_utf8(text.into()).unwrap())
    }

    /// A stream of the Connect protocol that answers this.
    pub(crate) async fn frames(&self, path: &str, body: &Value) -> Frames {
        let reply = self.send("POST", path, "application/connect+json", framed(body)).await;
        assert_eq!(reply.status(), 200, "{path}");
        Frames { body: reply.into_body(), buffer: Vec::new() }
    }

    /// A WebSocket, and the headers that it was opened with.
    pub(crate) async fn socket(&self, path: &str, headers: &[(&'static str, &str)]) -> Socket {
        let mut request = format!("ws://{}{path}", self.address).into_client_request().unwrap();
        let own = self.headers.iter().map(|(name, value)| (*name, value.as_str()));
        for (name, value) in own.chain(headers.iter().copied()) {
            request
                .headers_mut()
                .insert(HeaderName::from_static(name), HeaderValue::from_str(value).unwrap());
        }
        let stream = TcpStream::connect(&self.address).await.unwrap();
        let (stream, reply) = soon(path, client_async(request, stream)).await.unwrap();
        let protocol = reply.headers().get("sec-websocket-protocol");
        let protocol = protocol.map(|protocol| protocol.to_str().unwrap().to_owned());
        Socket { stream, protocol }
    }
}

/// The address and the path of an `http` URL.
pub(crate) fn path_of(url: &str) -> (&str, &str) {
    let rest = url.strip_prefix("http://").unwrap();
    rest.split_at(rest.find('/').unwrap_or(rest.len()))
}

fn framed(body: &Value) -> Vec<u8> {
    let body = body.to_string().into_bytes();
    let mut framed = vec![0];
    framed.extend(u32::try_from(body.len()).unwrap().to_be_bytes());
    framed.extend(body);
    framed
}

/// The frames of a stream: flags and a document each.
pub(crate) struct Frames {
    body: Incoming,
    buffer: Vec<u8>,
}

impl Frames {
    pub(crate) async fn next(&mut self) -> (u8, Value) {
        loop {
            if let Some((head, rest)) = self.buffer.split_first_chunk::<5>() {
                let length = u32::from_be_bytes(head[1..].try_into().unwrap()) as usize;
                if rest.len() >= length {
                    let frame = (head[0], serde_json::from_slice(&rest[..length]).unwrap());
                    self.buffer.drain(..5 + length);
                    return frame;
                }
            }
            let more = soon("a frame", self.body.frame()).await.expect("the stream goes on").unwrap();
            self.buffer.extend(more.into_data().unwrap_or_default());
        }
    }

    /// The next frame that holds no data.
    pub(crate) async fn next_word(&mut self) -> (u8, Value) {
        loop {
            let (flags, frame) = self.next().await;
            if frame["event"]["data"].is_null() {
                return (flags, frame);
            }
        }
    }
}

/// A WebSocket.
pub(crate) struct Socket {
    stream: WebSocketStream<TcpStream>,
    /// What the server chose of what was offered.
    pub(crate) protocol: Option<String>,
}

impl Socket {
    pub(crate) async fn send(&mut self, message: Message) {
        self.stream.send(message).await.unwrap();
    }

    pub(crate) async fn next(&mut self) -> Message {
        soon("a message", self.stream.next()).await.expect("the socket is open").unwrap()
    }

    /// The next message that is a document, and the bytes that came before it.
    pub(crate) async fn document(&mut self) -> (Value, Vec<u8>) {
        let mut before = Vec::new();
        loop {
            match self.next().await {
                Message::Text(text) => return (serde_json::from_str(&text).unwrap(), before),
                Message::Binary(bytes) => before.extend(bytes),
                other => panic!("{other:?} in place of a document, after {before:?}"),
            }
        }
    }
}

/// Fails when `ours` has not every field that was recorded, of the same kind. What was recorded as null may be anything.
pub(crate) fn agrees(what: &str, ours: &Value, recorded: &Value) {
    let mut lacks = Vec::new();
    compare("", ours, recorded, &mut lacks);
    assert!(lacks.is_empty(), "{what}: {lacks:?} of {ours}");
}

fn compare(place: &str, ours: &Value, recorded: &Value, lacks: &mut Vec<String>) {
    match (recorded, ours) {
        (Value::Object(recorded), Value::Object(ours)) => {
            for (name, value) in recorded {
                let place = format!("{place}.{name}");
                match ours.get(name) {
                    Some(ours) => compare(&place, ours, value, lacks),
                    None => lacks.push(place),
                }
            }
        }
        (Value::Array(recorded), Value::Array(ours)) => {
            if let (Some(recorded), Some(ours)) = (recorded.first(), ours.first()) {
                compare(&format!("{place}[]"), ours, recorded, lacks);
            }
        }
        (Value::Null, _)
        | (Value::Bool(_), Value::Bool(_))
        | (Value::Number(_), Value::Number(_))
        | (Value::String(_), Value::String(_)) => {}
        _ => lacks.push(format!("{place} as {recorded}")),
    }
}

#[test]
fn what_is_left_out_or_of_another_kind_is_seen() {
    let recorded = json!({"id": "a", "size": {"cols": 80}, "none": null, "all": [{"n": 1}]});
    agrees(
        "the same",
        &json!({"id": "b", "size": {"cols": 1, "rows": 2}, "none": 3, "all": [{"n": 2}]}),
        &recorded,
    );
    let mut lacks = Vec::new();
    compare("", &json!({"id": 7, "size": {}, "none": null, "all": [{}]}), &recorded, &mut lacks);
    assert_eq!(lacks, [".all[].n", ".id as \"a\"", ".size.cols"]);
}
