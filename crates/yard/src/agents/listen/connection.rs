//! One connection to the server of an agent's own program.

use std::io;
use std::net::Ipv4Addr;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use bytes::Bytes;
use http_body_util::{BodyExt as _, Empty};
use hyper::Request;
use hyper::body::Incoming;
use hyper::client::conn::http1;
use hyper::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, HOST};
use hyper_util::rt::TokioIo;
use ptyard_providers::launch::Door;
use tokio::net::TcpStream;
use tokio::task::JoinSet;

/// Most bytes that are read ahead of what was taken.
const READ_AHEAD: usize = 64 << 10;

/// Why there is none.
#[derive(Debug, thiserror::Error)]
pub(super) enum Refused {
    /// It may be had later.
    #[error("{0}")]
    Now(#[from] io::Error),
    /// It is no use to try again.
    #[error("it answered {0}, which is no stream of events of ours")]
    ForGood(String),
}

/// A stream of events. Dropped, it is closed.
#[derive(Debug)]
pub(super) struct Connection {
    body: Incoming,
    /// Drives it, and ends with it.
    _driver: JoinSet<()>,
}

impl Connection {
    /// Asks for the events. It may take for ever: a program that is not up yet takes the connection and forgets it.
    pub(super) async fn open(door: &Door) -> Result<Self, Refused> {
        let wire = TcpStream::connect((Ipv4Addr::LOCALHOST, door.port)).await?;
        let handshake = http1::Builder::new().max_buf_size(READ_AHEAD).handshake(TokioIo::new(wire));
        let (mut sender, connection) = handshake.await.map_err(io::Error::other)?;
        let mut driver = JoinSet::new();
        driver.spawn(async move {
            if let Err(error) = connection.await {
                tracing::debug!(%error, "a connection for events broke");
            }
        });
        let shown = BASE64_STANDARD.encode(format!("opencode:{}", door.secret));
        let request = Request::get("/event")
            .header(HOST, format!("127.0.0.1:{}", door.port))
            .header(ACCEPT, "text/event-stream")
            .header(AUTHORIZATION, format!("Basic {shown}"))
            .body(Empty::<Bytes>::new())
            .map_err(io::Error::other)?;
        let response = sender.send_request(request).await.map_err(io::Error::other)?;
        let (status, kind) = (response.status(), response.headers().get(CONTENT_TYPE));
        let is_stream = kind.is_some_and(|kind| kind.as_bytes().starts_with(b"text/event-stream"));
        match status.as_u16() {
            200 if is_stream => Ok(Self { body: response.into_body(), _driver: driver }),
            500.. => Err(io::Error::other(format!("it answered {status}")).into()),
            _ => Err(Refused::ForGood(status.to_string())),
        }
    }

    /// The next bytes; `None` when there are no more, for whatever reason.
    pub(super) async fn next(&mut self) -> Option<Bytes> {
        loop {
            // What is no data stands behind all data.
            if let Ok(bytes) = self.body.frame().await?.ok()?.into_data() {
                return Some(bytes);
            }
        }
    }
}
