//! The engine's HTTP API: requests, answers, and connections that turn into a program's streams.
//!
//! One connection per request. Requests are few (some at the start and end of a program), and a connection that is a
//! stream cannot be shared anyway.

use std::io;
use std::time::Duration;

use http_body_util::{BodyExt, Full};
use hyper::body::{Bytes, Incoming};
use hyper::header::{CONNECTION, CONTENT_TYPE, HOST, UPGRADE};
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use ptyard_core::ErrorCode;
use ptyard_terminal::backend::StartError;
use serde::de::DeserializeOwned;
use serde_json::Value;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::time::timeout;

use super::address::Address;
use crate::shared::start_error;

/// How long an engine may take to let us in and to begin an answer. Making a container with many layers takes seconds.
const ANSWER_LIMIT: Duration = Duration::from_secs(60);

/// Longest answer that is read whole: 4 MiB.
const MOST_ANSWER: usize = 4 << 20;

/// A connection.
pub(super) trait Wire: AsyncRead + AsyncWrite + Send + Unpin {}

impl<T: AsyncRead + AsyncWrite + Send + Unpin> Wire for T {}

/// A connection that has become a program's streams. Bytes that came with the header are its first bytes.
pub(super) type Hijacked = TokioIo<hyper::upgrade::Upgraded>;

/// An engine.
#[derive(Debug, Clone)]
pub(super) struct Engine {
    address: Address,
}

/// Why the engine did not do it.
#[derive(Debug, thiserror::Error)]
pub(super) enum EngineError {
    /// It cannot be reached.
    #[error("the engine at {address} cannot be reached: {message}")]
    Unreachable { address: String, message: String },
    /// It refused.
    #[error("{message}")]
    Refused { status: StatusCode, message: String },
    /// It answered what nobody can understand.
    #[error("the engine answered what is not understood: {0}")]
    Answer(String),
}

impl EngineError {
    pub(super) fn is_not_found(&self) -> bool {
        matches!(self, Self::Refused { status: StatusCode::NOT_FOUND, .. })
    }

    /// The error of a start. What a runtime says about the program itself is only in its words.
    pub(super) fn of_start(&self, otherwise: ErrorCode) -> StartError {
        let code = match self {
            Self::Unreachable { .. } => ErrorCode::BackendUnreachable,
            Self::Answer(_) => ErrorCode::SpawnFailed,
            Self::Refused { message, .. } => runtime_code(message).unwrap_or(otherwise),
        };
        start_error(code, self.to_string())
    }
}

/// What the words of a container runtime that could not start a program mean.
pub(super) fn runtime_code(message: &str) -> Option<ErrorCode> {
    let holds = |text: &str| message.contains(text);
    if holds("chdir to cwd") || holds("mkdir ") && holds("cwd") || holds("Cwd must be") {
        Some(ErrorCode::CwdNotFound)
    } else if holds("executable file not found") || holds("no such file or directory") {
        Some(ErrorCode::ProgramNotFound)
    } else if holds("permission denied") || holds("exec format error") || holds("is a directory") {
        Some(ErrorCode::ProgramNotExecutable)
    } else {
        None
    }
}

impl Engine {
    pub(super) const fn new(address: Address) -> Self {
        Self { address }
    }

    /// Where it listens.
    pub(super) const fn address(&self) -> &Address {
        &self.address
    }

    fn unreachable(&self, error: impl std::fmt::Display) -> EngineError {
        EngineError::Unreachable { address: self.address.to_string(), message: error.to_string() }
    }

    async fn send(
        &self,
        method: Method,
        path: &str,
        body: Option<&Value>,
        upgrade: bool,
    ) -> Result<Response<Incoming>, EngineError> {
        let sending = async {
            let wire = self.address.connect().await?;
            let (mut sender, connection) =
                hyper::client::conn::http1::handshake(TokioIo::new(wire)).await.map_err(io::Error::other)?;
            // It lives as long as the answer is read or the streams are used.
            tokio::spawn(async move {
                if let Err(error) = connection.with_upgrades().await {
                    tracing::debug!(%error, "a connection to the engine ended");
                }
            });
            let mut request = Request::builder().method(method).uri(path).header(HOST, "docker");
            if upgrade {
                request = request.header(CONNECTION, "Upgrade").header(UPGRADE, "tcp");
            }
            let bytes = match body {
                Some(body) => {
                    request = request.header(CONTENT_TYPE, "application/json");
                    Bytes::from(body.to_string())
                }
                None => Bytes::new(),
            };
            let request = request.body(Full::new(bytes)).map_err(io::Error::other)?;
            sender.send_request(request).await.map_err(io::Error::other)
        };
        let answered = timeout(ANSWER_LIMIT, sending).await;
        let response = match answered {
            Ok(answer) => answer.map_err(|error| self.unreachable(error))?,
            Err(_) => return Err(self.unreachable(format!("no answer within {ANSWER_LIMIT:?}"))),
        };
        let status = response.status();
        if status.is_success()
            || status == StatusCode::SWITCHING_PROTOCOLS
            || status == StatusCode::NOT_MODIFIED
        {
            return Ok(response);
        }
        let body = self.whole(response).await.unwrap_or_default();
        let message = serde_json::from_slice::<Value>(&body)
            .ok()
            .and_then(|value| Some(value.get("message")?.as_str()?.to_owned()))
            .unwrap_or_else(|| format!("status {status}: {}", String::from_utf8_lossy(&body)));
        Err(EngineError::Refused { status, message })
    }

    async fn whole(&self, response: Response<Incoming>) -> Result<Bytes, EngineError> {
        let body = http_body_util::Limited::new(response.into_body(), MOST_ANSWER);
        body.collect().await.map(http_body_util::Collected::to_bytes).map_err(|error| self.unreachable(error))
    }

    /// Asks, and reads the answer.
    pub(super) async fn get<T: DeserializeOwned>(&self, path: &str) -> Result<T, EngineError> {
        let response = self.send(Method::GET, path, None, false).await?;
        understood(&self.whole(response).await?)
    }

    /// Gives an order, and reads the answer.
    pub(super) async fn post<T: DeserializeOwned>(&self, path: &str, body: &Value) -> Result<T, EngineError> {
        let response = self.send(Method::POST, path, Some(body), false).await?;
        understood(&self.whole(response).await?)
    }

    /// Gives an order whose answer says nothing.
    pub(super) async fn order(&self, method: Method, path: &str) -> Result<(), EngineError> {
        let response = self.send(method, path, None, false).await?;
        self.whole(response).await.map(drop)
    }

    /// Asks for something that answers little by little. When this returns, the engine has begun to answer.
    pub(super) async fn follow(&self, method: Method, path: &str) -> Result<Lines, EngineError> {
        let response = self.send(method, path, None, false).await?;
        Ok(Lines { body: response.into_body(), buffer: Vec::new() })
    }

    /// Gives an order that turns the connection into the streams of a program. Never tried again: it may have been
    /// followed.
    pub(super) async fn hijack(&self, path: &str, body: Option<&Value>) -> Result<Hijacked, EngineError> {
        let response = self.send(Method::POST, path, body, true).await?;
        if response.status() != StatusCode::SWITCHING_PROTOCOLS {
            return Err(EngineError::Answer(format!(
                "{} instead of the program's streams; engines older than 1.10 do that",
                response.status()
            )));
        }
        let upgraded = hyper::upgrade::on(response).await.map_err(|error| self.unreachable(error))?;
        Ok(TokioIo::new(upgraded))
    }
}

fn understood<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, EngineError> {
    serde_json::from_slice(bytes).map_err(|error| EngineError::Answer(error.to_string()))
}

/// An answer that comes as JSON documents, one after the other.
pub(super) struct Lines {
    body: Incoming,
    buffer: Vec<u8>,
}

impl Lines {
    /// The next document; `None` when the connection ended, however it did.
    pub(super) async fn next(&mut self) -> Option<Value> {
        loop {
            let mut documents = serde_json::Deserializer::from_slice(&self.buffer).into_iter::<Value>();
            match documents.next() {
                Some(Ok(document)) => {
                    let read = documents.byte_offset();
                    self.buffer.drain(..read);
                    return Some(document);
                }
                Some(Err(error)) if !error.is_eof() => {
                    tracing::warn!(%error, "the engine answered what is no JSON");
                    return None;
                }
                _ => {}
            }
            if self.buffer.len() > MOST_ANSWER {
                return None;
            }
            let frame = self.body.frame().await?.ok()?;
            if let Ok(bytes) = frame.into_data() {
                self.buffer.extend_from_slice(&bytes);
            }
        }
    }
}
