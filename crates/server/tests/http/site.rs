//! A running server and a client for it.

use std::fs::Permissions;
use std::future::Future;
use std::net::SocketAddr;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::time::Duration;

use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::header::{CONTENT_TYPE, HOST};
use hyper::{HeaderMap, Method, Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use ptyard_server::api::{ErrorBody, ErrorReply, WindowReply};
use ptyard_server::{CAO_ALIAS, CaoConfig, CaoPlace, Served, Server, ServerConfig};
use ptyard_yard::{Yard, YardConfig};
use serde::de::DeserializeOwned;
use serde_json::Value;
use tempfile::TempDir;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpStream, UnixStream};
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

/// Longer than anything takes that works, even on a busy machine.
pub(crate) const PATIENCE: Duration = Duration::from_secs(30);

/// Waits for what must come.
pub(crate) async fn soon<T>(what: &str, future: impl Future<Output = T>) -> T {
    tokio::time::timeout(PATIENCE, future).await.unwrap_or_else(|_| panic!("{what} did not come"))
}

/// A server with a state directory of its own.
pub(crate) struct Site {
    pub(crate) dir: TempDir,
    pub(crate) socket: PathBuf,
    pub(crate) tcp: Option<SocketAddr>,
    /// Where CAO's clients come in.
    pub(crate) cao: Option<SocketAddr>,
    shutdown: oneshot::Sender<()>,
    pub(crate) served: JoinHandle<Served>,
}

impl Site {
    /// On the Unix socket alone.
    pub(crate) fn start() -> Self {
        Self::start_on(None, None)
    }

    /// On the Unix socket and on a free port of 127.0.0.1.
    pub(crate) fn start_with_tcp() -> Self {
        Self::start_on(Some(SocketAddr::from(([127, 0, 0, 1], 0))), None)
    }

    /// On the Unix socket, and for CAO's clients on a free port of 127.0.0.1.
    pub(crate) fn start_with_cao() -> Self {
        Self::start_on(None, Some(SocketAddr::from(([127, 0, 0, 1], 0))))
    }

    fn start_on(listen: Option<SocketAddr>, cao: Option<SocketAddr>) -> Self {
        let dir = tempfile::Builder::new().permissions(Permissions::from_mode(0o700)).tempdir().unwrap();
        let state = dir.path().to_owned();
        let alias = cao.map(|_| CAO_ALIAS);
        let yard = Yard::open(YardConfig { alias, ..YardConfig::new(state.clone()) }).unwrap();
        let home = state.join("cao");
        let cao = cao.map(|address| CaoConfig { address, home, place: CaoPlace::Here });
        let config = ServerConfig { listen, cao, ..ServerConfig::in_state(state) };
        let socket = config.socket.clone();
        let server = Server::bind(config, yard, axum::Router::new()).unwrap();
        let (tcp, cao) = (server.tcp_address(), server.cao_address());
        let (shutdown, asked) = oneshot::channel();
        let served = tokio::spawn(server.serve(async move {
            // A dropped sender asks for the end too.
            let _ = asked.await;
        }));
        Self { dir, socket, tcp, cao, shutdown, served }
    }

    /// Ends the server and waits until it has ended.
    pub(crate) async fn close(self) {
        drop(self.shutdown);
        let served = soon("the end of the server", self.served).await.unwrap();
        assert!(matches!(served, Served::Stopped));
    }

    /// A new connection to the Unix socket.
    pub(crate) async fn connect(&self) -> UnixStream {
        UnixStream::connect(&self.socket).await.unwrap()
    }

    /// A call with a JSON body (none for null), whatever the answer is.
    pub(crate) async fn call(&self, method: Method, path: &str, body: &Value) -> Answer {
        let answer = send(self.connect().await, request(method, path, body)).await;
        Answer::read(answer).await
    }

    /// A GET that must succeed.
    pub(crate) async fn get<T: DeserializeOwned>(&self, path: &str) -> T {
        self.call(Method::GET, path, &Value::Null).await.json()
    }

    /// A POST that must succeed.
    pub(crate) async fn post<T: DeserializeOwned>(&self, path: &str, body: Value) -> T {
        self.call(Method::POST, path, &body).await.json()
    }

    /// Starts a program and takes its first window.
    pub(crate) async fn exec(&self, body: Value) -> WindowReply {
        self.post("/v1/terminals", body).await
    }

    /// Types (or polls) and takes a window.
    pub(crate) async fn write(&self, id: &str, body: Value) -> WindowReply {
        self.post(&format!("/v1/terminals/{id}/write"), body).await
    }

    /// The log from `since` on until `text` is in it, through a cursor of its own.
    pub(crate) async fn until(&self, id: &str, since: u64, text: &str) {
        let body =
            serde_json::json!({"until": [format!("regex:{text}")], "since": since, "timeout_ms": 30_000});
        let reply: ptyard_server::api::WaitReply = self.post(&format!("/v1/terminals/{id}/wait"), body).await;
        assert_eq!(reply.ended_by, "regex", "{text} was not printed");
    }
}

/// An answer that was read to its end.
pub(crate) struct Answer {
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Bytes,
}

impl Answer {
    pub(crate) async fn read(response: Response<Incoming>) -> Self {
        let (head, body) = response.into_parts();
        let body = soon("the answer's body", body.collect()).await.unwrap().to_bytes();
        Self { status: head.status, headers: head.headers, body }
    }

    /// The body of a success.
    pub(crate) fn json<T: DeserializeOwned>(&self) -> T {
        assert!(self.status.is_success(), "{}: {}", self.status, String::from_utf8_lossy(&self.body));
        serde_json::from_slice(&self.body).unwrap()
    }

    /// The body of a refusal, which has one shape whatever happened.
    pub(crate) fn refusal(&self) -> (u16, ErrorBody) {
        assert!(!self.status.is_success(), "it was not refused");
        let reply: ErrorReply = serde_json::from_slice(&self.body).expect("every refusal is an ErrorReply");
        (self.status.as_u16(), reply.error)
    }

    /// Status and code of a refusal.
    pub(crate) fn code(&self) -> (u16, String) {
        let (status, error) = self.refusal();
        (status, error.code)
    }
}

/// A request with a JSON body (none for null).
pub(crate) fn request(method: Method, path: &str, body: &Value) -> Request<Full<Bytes>> {
    let request = Request::builder().method(method).uri(path).header(HOST, "localhost");
    if body.is_null() {
        return request.body(Full::default()).unwrap();
    }
    request.header(CONTENT_TYPE, "application/json").body(Full::from(body.to_string())).unwrap()
}

/// Sends a request on a connection of its own; the connection lives as long as the answer is read.
pub(crate) async fn send<S>(stream: S, request: Request<Full<Bytes>>) -> Response<Incoming>
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let (mut sender, connection) = hyper::client::conn::http1::handshake(TokioIo::new(stream)).await.unwrap();
    tokio::spawn(connection);
    soon("the answer", sender.send_request(request)).await.unwrap()
}

/// A new TCP connection.
pub(crate) async fn tcp(site: &Site) -> TcpStream {
    TcpStream::connect(site.tcp.expect("this site listens on TCP")).await.unwrap()
}

/// A request as bytes, for tests that leave in the middle.
pub(crate) fn raw_post(path: &str, body: &Value) -> Vec<u8> {
    let body = body.to_string();
    let length = body.len();
    format!(
        "POST {path} HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n\
         content-length: {length}\r\n\r\n{body}"
    )
    .into_bytes()
}
