//! WebSockets to vendors: messages both ways over one connection, its end, and whether anybody is there.
//!
//! A socket has two halves. What is [heard](Ear) is read by whoever asks for it and by nobody else: while nobody asks,
//! nothing is read, and the far side waits. What is [said](Mouth) is written by a task of the socket's own, one message
//! after the other; whoever says something waits until the connection has taken it, and of those who wait, up to
//! [`WAITING`] stand in a queue and the others before it. Nothing is dropped and nothing is said twice.
//!
//! A far side that reads no more because a program does not read cannot answer a ping behind that. So silence counts
//! only when all that was said before the ping is known to have been read, and else a good deal later ([`Silence`]).
//!
//! # Invariants
//! 1. What was not heard by the reader is not read from the connection, but for one message.
//! 2. An address is shown without its query, which may hold secrets.
//! 3. What was said is said once: a message that a broken connection took may have arrived, and is not repeated here.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use futures_util::stream::{SplitSink, SplitStream};
use futures_util::{SinkExt, StreamExt};
use reqwest::Url;
use reqwest::header::{HeaderMap, HeaderValue, SEC_WEBSOCKET_PROTOCOL};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio::sync::{mpsc, oneshot};
use tokio::time::{Instant, MissedTickBehavior, interval, timeout, timeout_at};
use tokio_rustls::TlsConnector;
use tokio_rustls::rustls::pki_types::ServerName;
use tokio_tungstenite::tungstenite::client::IntoClientRequest;
use tokio_tungstenite::tungstenite::protocol::frame::coding::CloseCode;
use tokio_tungstenite::tungstenite::protocol::{CloseFrame, WebSocketConfig};
use tokio_tungstenite::tungstenite::{self, Message, Utf8Bytes};
use tokio_tungstenite::{WebSocketStream, client_async_with_config};

use super::http::{CONNECT_LIMIT, CallError, refused, tls};

/// Messages that wait for the connection to take them.
const WAITING: usize = 16;

/// Longest message that is heard, in bytes. Vendors send pieces of at most some tens of kilobytes.
const MOST_MESSAGE: usize = 4 << 20;

/// How long a farewell may take.
const FAREWELL_LIMIT: Duration = Duration::from_secs(2);

/// How long nothing may be heard.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Silence {
    /// How often the far side is asked whether it is there.
    pub(crate) ping_every: Duration,
    /// When a far side that has read everything, and should have answered, is lost.
    pub(crate) limit: Duration,
    /// When one is lost that may be waiting for a program to read what was typed.
    pub(crate) limit_behind_input: Duration,
}

impl Default for Silence {
    /// Three and a half pings; and a quarter of an hour for a program that does not read.
    fn default() -> Self {
        Self {
            ping_every: Duration::from_secs(10),
            limit: Duration::from_secs(35),
            limit_behind_input: Duration::from_secs(15 * 60),
        }
    }
}

/// What makes sockets: TLS with this machine's roots, no proxies.
#[derive(Clone)]
pub(crate) struct Dialer {
    tls: TlsConnector,
}

impl std::fmt::Debug for Dialer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Dialer").finish_non_exhaustive()
    }
}

/// What is asked for.
#[derive(Clone)]
pub(crate) struct Call {
    /// `ws://`, `wss://`, or their `http` namesakes. Who may be called without TLS is the caller's to decide.
    pub(crate) url: Url,
    /// Headers besides those of the protocol.
    pub(crate) headers: HeaderMap,
    /// Sub-protocols, of which the far side has to choose one when there are any.
    pub(crate) protocols: Vec<String>,
    /// How long it may take until both sides can speak.
    pub(crate) limit: Duration,
    /// How long nothing may be heard then.
    pub(crate) silence: Silence,
}

/// What came.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Heard {
    /// A message of text.
    Text(String),
    /// A message of bytes.
    Bytes(Bytes),
    /// The far side closed, with a code (1005: without one) and a reason. Nothing comes after it.
    Closed {
        /// The code of the protocol or the vendor.
        code: u16,
        /// What it says.
        reason: String,
    },
}

/// What is said.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Word {
    /// A message of text.
    Text(String),
    /// A message of bytes.
    Bytes(Bytes),
}

/// A connection, with TLS or without.
trait Transport: AsyncRead + AsyncWrite + Send + Unpin {}

impl<T: AsyncRead + AsyncWrite + Send + Unpin> Transport for T {}

struct Wire(Box<dyn Transport>);

impl AsyncRead for Wire {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        into: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_read(cx, into)
    }
}

impl AsyncWrite for Wire {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.0).poll_write(cx, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_shutdown(cx)
    }
}

impl Dialer {
    /// One for a vendor out there, or for loopback.
    pub(crate) fn new(is_loopback: bool) -> Result<Self, CallError> {
        Ok(Self { tls: TlsConnector::from(Arc::new(tls(is_loopback)?)) })
    }

    /// Opens a socket. Once: what it starts would be started twice.
    pub(crate) async fn open(&self, call: Call) -> Result<(Mouth, Ear), CallError> {
        let limit = call.limit;
        let silence = call.silence;
        let opening = Box::pin(self.handshake(call));
        let socket = timeout(limit, opening).await.map_err(|_| CallError::too_late("no socket", limit))??;
        let (sink, stream) = socket.split();
        let (words, waiting) = mpsc::channel(WAITING);
        let input = Arc::new(Input::default());
        tokio::spawn(speak(sink, waiting, Arc::clone(&input), silence.ping_every));
        Ok((Mouth { words }, Ear { stream, input, silence, heard_at: Instant::now() }))
    }

    async fn handshake(&self, call: Call) -> Result<WebSocketStream<Wire>, CallError> {
        let (wire, request) = (self.connect(&call.url).await?, request(call)?);
        let config = WebSocketConfig::default()
            .read_buffer_size(32 << 10)
            // Each message goes out as it is said.
            .write_buffer_size(0)
            .max_message_size(Some(MOST_MESSAGE))
            .max_frame_size(Some(MOST_MESSAGE));
        let (socket, _head) =
            client_async_with_config(request, wire, Some(config)).await.map_err(of_handshake)?;
        Ok(socket)
    }

    async fn connect(&self, url: &Url) -> Result<Wire, CallError> {
        let not_sent = |error: &dyn std::fmt::Display| CallError::NotSent(error.to_string());
        let host = url.host_str().ok_or_else(|| not_sent(&"the address names no host"))?;
        let port = url.port_or_known_default().ok_or_else(|| not_sent(&"the address names no port"))?;
        // An IPv6 address stands in brackets in an address, and nowhere else.
        let host = host.trim_start_matches('[').trim_end_matches(']').to_owned();
        let connecting = timeout(CONNECT_LIMIT, TcpStream::connect((host.as_str(), port)));
        let tcp = connecting
            .await
            .map_err(|_| not_sent(&format!("no answer within {CONNECT_LIMIT:?}")))?
            .map_err(|error| not_sent(&error))?;
        tcp.set_nodelay(true).map_err(|error| not_sent(&error))?;
        if matches!(url.scheme(), "ws" | "http") {
            return Ok(Wire(Box::new(tcp)));
        }
        let name = ServerName::try_from(host).map_err(|error| not_sent(&error))?;
        let tls = self.tls.connect(name, tcp).await.map_err(|error| not_sent(&error))?;
        Ok(Wire(Box::new(tls)))
    }
}

fn request(call: Call) -> Result<tungstenite::handshake::client::Request, CallError> {
    let mut url = call.url;
    let scheme = if matches!(url.scheme(), "ws" | "http") { "ws" } else { "wss" };
    url.set_scheme(scheme).map_err(|()| CallError::NotSent("the address is none of a socket".to_owned()))?;
    let mut request = url
        .as_str()
        .into_client_request()
        // The error would show the address.
        .map_err(|_| CallError::NotSent("the address is none of a socket".to_owned()))?;
    request.headers_mut().extend(call.headers);
    let agent = HeaderValue::from_static(concat!("ptyard/", env!("CARGO_PKG_VERSION")));
    request.headers_mut().insert("user-agent", agent);
    if !call.protocols.is_empty() {
        // Some vendors put values into names of sub-protocols.
        let mut all = HeaderValue::from_str(&call.protocols.join(","))
            .map_err(|_| CallError::NotSent("a sub-protocol holds what no name has".to_owned()))?;
        all.set_sensitive(true);
        request.headers_mut().insert(SEC_WEBSOCKET_PROTOCOL, all);
    }
    Ok(request)
}

/// A handshake that failed. Whether it had an effect is known only of one that was refused.
fn of_handshake(error: tungstenite::Error) -> CallError {
    match error {
        tungstenite::Error::Http(response) => {
            let wait =
                response.headers().get("retry-after").and_then(|wait| wait.to_str().ok()?.parse().ok());
            let body = response.body().as_deref().unwrap_or_default();
            refused(response.status().as_u16(), body, wait.map(Duration::from_secs))
        }
        error => broken(&error),
    }
}

fn broken(error: &tungstenite::Error) -> CallError {
    match error {
        // Other errors of this kind name the address.
        tungstenite::Error::Url(_) => CallError::NotSent("the address is none of a socket".to_owned()),
        tungstenite::Error::Capacity(error) => CallError::garbled(error),
        error => CallError::Broken(error.to_string()),
    }
}

/// How much was said, and how much of it is known to have been read: the count goes out with every ping and comes back
/// with its answer.
#[derive(Debug, Default)]
struct Input {
    said: AtomicU64,
    read: AtomicU64,
}

impl Input {
    fn is_all_read(&self) -> bool {
        self.said.load(Ordering::Acquire) == self.read.load(Ordering::Acquire)
    }
}

/// A word and who waits for it to be taken.
type Waiting = (Word, oneshot::Sender<Result<(), CallError>>);

/// The half that speaks. It can be shared; when all of it is gone, the far side is told so.
#[derive(Clone)]
pub(crate) struct Mouth {
    words: mpsc::Sender<Waiting>,
}

impl Mouth {
    /// Whether the connection took everything so far.
    pub(crate) fn is_open(&self) -> bool {
        !self.words.is_closed()
    }

    /// Says something, and waits until the connection has taken it. Given up while it waits, it may or may not be said.
    pub(crate) async fn say(&self, word: Word) -> Result<(), CallError> {
        let (taken, is_taken) = oneshot::channel();
        let gone = || CallError::Broken("the socket is closed".to_owned());
        self.words.send((word, taken)).await.map_err(|_| gone())?;
        is_taken.await.unwrap_or_else(|_| Err(gone()))
    }
}

type Sending = SplitSink<WebSocketStream<Wire>, Message>;

/// Writes what is said, and asks in between whether anybody is there.
async fn speak(
    mut sink: Sending,
    mut words: mpsc::Receiver<Waiting>,
    input: Arc<Input>,
    ping_every: Duration,
) {
    let mut pings = interval(ping_every);
    pings.set_missed_tick_behavior(MissedTickBehavior::Delay);
    // The first one is due at once, and the far side has just spoken.
    pings.tick().await;
    loop {
        tokio::select! {
            word = words.recv() => {
                let Some((word, taken)) = word else { break };
                let message = match word {
                    Word::Text(text) => Message::Text(text.into()),
                    Word::Bytes(bytes) => Message::Binary(bytes),
                };
                input.said.fetch_add(1, Ordering::AcqRel);
                let said = sink.send(message).await.map_err(|error| broken(&error));
                let has_failed = said.is_err();
                // Whoever gave up waiting does not want to know.
                let _given_up = taken.send(said);
                if has_failed {
                    return;
                }
            }
            _ = pings.tick() => {
                let said = input.said.load(Ordering::Acquire).to_be_bytes();
                // Whoever listens sees by itself that the connection broke.
                if sink.send(Message::Ping(Bytes::copy_from_slice(&said))).await.is_err() {
                    return;
                }
            }
        }
    }
    let farewell = CloseFrame { code: CloseCode::Normal, reason: Utf8Bytes::default() };
    let _unheard = timeout(FAREWELL_LIMIT, sink.send(Message::Close(Some(farewell)))).await;
}

/// The code of a close that has none.
const NO_CODE: u16 = 1005;

/// The half that hears.
pub(crate) struct Ear {
    stream: SplitStream<WebSocketStream<Wire>>,
    input: Arc<Input>,
    silence: Silence,
    heard_at: Instant,
}

impl Ear {
    /// What comes next. May be given up at any moment; nothing is lost then. A connection that just ends, or on which
    /// nothing comes for too long, is broken.
    pub(crate) async fn next(&mut self) -> Result<Heard, CallError> {
        loop {
            // What is there is taken first, however late it is: only who is waited for can be silent.
            let next = match timeout_at(self.heard_at + self.limit(), self.stream.next()).await {
                Ok(next) => next,
                // Something was said meanwhile.
                Err(_) if self.heard_at.elapsed() < self.limit() => continue,
                Err(_) => return Err(CallError::too_late("nothing came", self.limit())),
            };
            self.heard_at = Instant::now();
            match next {
                Some(Ok(Message::Text(text))) => return Ok(Heard::Text(text.as_str().to_owned())),
                Some(Ok(Message::Binary(bytes))) => return Ok(Heard::Bytes(bytes)),
                Some(Ok(Message::Pong(said))) => {
                    if let Ok(said) = said.as_ref().try_into().map(u64::from_be_bytes) {
                        self.input.read.fetch_max(said, Ordering::AcqRel);
                    }
                }
                Some(Ok(Message::Ping(_) | Message::Frame(_))) => {}
                Some(Ok(Message::Close(frame))) => {
                    let (code, reason) = frame.map_or((NO_CODE, String::new()), |frame| {
                        (frame.code.into(), frame.reason.as_str().to_owned())
                    });
                    return Ok(Heard::Closed { code, reason });
                }
                Some(Err(error)) => return Err(broken(&error)),
                None => return Err(CallError::Broken("the connection ended without a word".to_owned())),
            }
        }
    }

    /// Whether the far side is known to have read all that was said.
    pub(crate) fn is_all_read(&self) -> bool {
        self.input.is_all_read()
    }

    fn limit(&self) -> Duration {
        if self.input.is_all_read() { self.silence.limit } else { self.silence.limit_behind_input }
    }
}

#[cfg(test)]
mod tests;
