//! The client of a server: typed calls over the socket of the state directory.
//!
//! One [`Client`] is one connection; calls follow each other on it. The server closes it when it was silent for long; the
//! next call connects anew. Dropping the client, or a call's future with it,
//! closes the connection, and the server drops what it was doing for it: a window that was not delivered is delivered
//! to the next call (reading is cancel-safe).

mod agents;
mod call;
mod error;
mod events;
mod flows;
mod mail;
mod stream;

use std::path::{Path, PathBuf};

use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper::client::conn::http1::{SendRequest, handshake};
use hyper::{Request, Response, body::Incoming, header};
use hyper_util::rt::TokioIo;
use ptyard_server::api::{ErrorReply, PROTOCOL, Version};
use ptyard_server::{CLIENT_HEADER, TERMINAL_HEADER, TOKEN_HEADER};
use ptyard_terminal::local::env::TERMINAL_VARIABLE;
use ptyard_yard::agents::{STATE_VARIABLE, token::TOKEN_VARIABLE};
use serde::Serialize;
use serde::de::DeserializeOwned;
use tokio::net::UnixStream;
use tokio::task::JoinHandle;

pub use error::ClientError;
pub use events::Events;
pub use stream::{InputSink, OutputStream, StreamItem, Typing};

/// Connections that may end, one after the other, before one takes a request.
const MOST_CONNECTIONS: usize = 3;

/// As much of a program's name as a server takes, in characters.
const CLIENT_CHARS: usize = 128;

/// A connection to a server whose protocol is ours.
#[derive(Debug)]
pub struct Client {
    socket: PathBuf,
    sender: SendRequest<Full<Bytes>>,
    connection: JoinHandle<()>,
    version: Version,
    /// The headers that say who speaks: the terminal this process runs in, or what it is called.
    speaker: Vec<(&'static str, String)>,
}

impl Drop for Client {
    fn drop(&mut self) {
        self.connection.abort();
    }
}

impl Client {
    /// Connects to the server on `socket`.
    ///
    /// # Errors
    /// [`ClientError::NoServer`] when nothing answers there, [`ClientError::Incompatible`] when the server speaks
    /// another protocol.
    pub async fn connect(socket: &Path) -> Result<Self, ClientError> {
        Self::greet(socket).await?.understood()
    }

    /// Connects to a server whatever it speaks: only its version can be asked, and that it leaves.
    pub(crate) async fn greet(socket: &Path) -> Result<Self, ClientError> {
        let io = dial(socket).await?;
        let (sender, connection) = handshake(TokioIo::new(io)).await?;
        // An error of the connection is also the error of the call it broke, which reports it.
        let connection = tokio::spawn(async move { drop(connection.await) });
        let nobody =
            Version { version: String::new(), protocol: 0, pid: 0, state: String::new(), background: false };
        let speaker = speaker(socket);
        let mut client = Self { socket: socket.to_owned(), sender, connection, version: nobody, speaker };
        client.version = client.get("/v1/version").await?;
        Ok(client)
    }

    /// The same client, if the server speaks our protocol.
    pub(crate) fn understood(self) -> Result<Self, ClientError> {
        let Version { version, protocol, .. } = &self.version;
        if *protocol != PROTOCOL {
            return Err(ClientError::Incompatible { server: version.clone(), server_protocol: *protocol });
        }
        Ok(self)
    }

    /// Another connection to the same place.
    ///
    /// # Errors
    /// As [`Client::connect`].
    pub async fn reconnect(&self) -> Result<Self, ClientError> {
        let mut again = Self::connect(&self.socket).await?;
        again.speaker.clone_from(&self.speaker);
        Ok(again)
    }

    /// The same client, for a program that is called so; nothing vouches for it, and for one that speaks for a terminal it
    /// says nothing. A name in several lines becomes one line, one that is too long is cut.
    #[must_use]
    pub fn called(mut self, name: &str) -> Self {
        let line: String = name.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
        let line: String = line.trim().chars().take(CLIENT_CHARS).collect();
        if !line.is_empty() {
            self.speaker.push((CLIENT_HEADER, line));
        }
        self
    }

    /// Which server this is.
    #[must_use]
    pub fn version(&self) -> &Version {
        &self.version
    }

    async fn get<R: DeserializeOwned>(&mut self, path: &str) -> Result<R, ClientError> {
        self.ask("GET", path, None).await
    }

    async fn post<R: DeserializeOwned>(
        &mut self,
        path: &str,
        body: &impl Serialize,
    ) -> Result<R, ClientError> {
        let body = serde_json::to_vec(body).map_err(|error| ClientError::unreadable(path, &error))?;
        self.ask("POST", path, Some(body)).await
    }

    async fn ask<R: DeserializeOwned>(
        &mut self,
        method: &str,
        path: &str,
        body: Option<Vec<u8>>,
    ) -> Result<R, ClientError> {
        let reply =
            self.send(method, path, body, "application/json").await?.into_body().collect().await?.to_bytes();
        serde_json::from_slice(&reply).map_err(|error| ClientError::unreadable(path, &error))
    }

    /// Makes an exchange on the connection, or on a new one if its end is noticed before the request was sent.
    async fn exchange(
        &mut self,
        mut request: Request<Full<Bytes>>,
    ) -> Result<Response<Incoming>, ClientError> {
        for _ in 0..MOST_CONNECTIONS {
            // Also a connection that just answered takes the next request only when it has read the whole reply.
            let broken = match self.sender.ready().await {
                Ok(()) => match self.sender.try_send_request(request).await {
                    Ok(reply) => return Ok(reply),
                    Err(mut broken) => {
                        // A request that comes back was not sent.
                        let unsent = broken.take_message();
                        let broken = broken.into_error();
                        let Some(unsent) = unsent else { return Err(broken.into()) };
                        request = unsent;
                        broken
                    }
                },
                Err(broken) => broken,
            };
            self.renew(broken).await?;
        }
        Err(ClientError::Broken("each connection ends before it takes a request".to_owned()))
    }

    /// Connects anew, after the server closed the connection while nothing was asked on it, so nothing can be done twice.
    async fn renew(&mut self, broken: hyper::Error) -> Result<(), ClientError> {
        *self = match Box::pin(self.reconnect()).await {
            // The server left, and the next one does not listen yet.
            Err(error) if error.is_no_listener() => return Err(broken.into()),
            again => again?,
        };
        Ok(())
    }

    /// Sends a request and gives back a reply that is not a refusal.
    async fn send(
        &mut self,
        method: &str,
        path: &str,
        body: Option<Vec<u8>>,
        accept: &str,
    ) -> Result<Response<Incoming>, ClientError> {
        let mut request = Request::builder()
            .method(method)
            .uri(path)
            .header(header::HOST, "localhost")
            .header(header::ACCEPT, accept);
        for (name, value) in &self.speaker {
            request = request.header(*name, value);
        }
        if body.is_some() {
            request = request.header(header::CONTENT_TYPE, "application/json");
        }
        let request = request.body(Full::from(body.unwrap_or_default())).map_err(ClientError::request)?;
        let reply = self.exchange(request).await?;
        if reply.status().is_success() {
            return Ok(reply);
        }
        let status = reply.status();
        let body = reply.into_body().collect().await?.to_bytes();
        Err(refusal(status.as_u16(), path, &body))
    }
}

/// For which terminal this process speaks, when it runs in one of the yard behind `socket`: anywhere else it speaks as
/// the person who runs it.
fn speaker(socket: &Path) -> Vec<(&'static str, String)> {
    let is_here = std::env::var_os(STATE_VARIABLE).is_some_and(|state| socket.starts_with(state));
    let variables = [(TERMINAL_HEADER, TERMINAL_VARIABLE), (TOKEN_HEADER, TOKEN_VARIABLE)];
    let told: Option<Vec<_>> = variables
        .into_iter()
        .map(|(header, variable)| Some((header, std::env::var(variable).ok()?)))
        .collect();
    told.filter(|_| is_here).unwrap_or_default()
}

async fn dial(socket: &Path) -> Result<UnixStream, ClientError> {
    UnixStream::connect(socket)
        .await
        .map_err(|source| ClientError::NoServer { socket: socket.to_owned(), source })
}

fn refusal(status: u16, path: &str, body: &[u8]) -> ClientError {
    match serde_json::from_slice::<ErrorReply>(body) {
        Ok(reply) => ClientError::Refused(Box::new(reply.error)),
        Err(_) => ClientError::Unreadable(format!("{path}: status {status} without an error document")),
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    use tokio::net::UnixListener;

    use super::*;

    /// Answers a request with its version.
    async fn answer(io: &mut UnixStream) {
        let version = format!(r#"{{"version":"1.2.3","protocol":{PROTOCOL},"pid":7,"state":"/s"}}"#);
        let reply = format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n{version}", version.len());
        let mut head = Vec::new();
        while !head.ends_with(b"\r\n\r\n") {
            head.push(io.read_u8().await.unwrap());
        }
        io.write_all(reply.as_bytes()).await.unwrap();
    }

    /// Answers so many requests on each of its connections, and closes it.
    async fn serve(
        listener: UnixListener,
        connections: impl IntoIterator<Item = usize, IntoIter: Send> + Send,
    ) {
        for requests in connections {
            let (mut io, _) = listener.accept().await.unwrap();
            for _ in 0..requests {
                answer(&mut io).await;
            }
        }
    }

    #[tokio::test]
    async fn a_program_is_called_in_one_line_also_on_the_next_connection() {
        let place = tempfile::tempdir().unwrap();
        let socket = place.path().join("socket");
        let serving = tokio::spawn(serve(UnixListener::bind(&socket).unwrap(), [1, 2]));
        let mut client = Client::connect(&socket).await.unwrap().called(" a\nname\u{1b} ");
        (&mut client.connection).await.unwrap();
        let _told: Version = client.get("/v1/version").await.unwrap();
        let name = (CLIENT_HEADER, "a name".to_owned());
        assert!(client.speaker.contains(&name), "{:?}", client.speaker);
        serving.await.unwrap();
        let long = client.called(&"x".repeat(500));
        assert!(long.speaker.last().is_some_and(|(_, line)| line.len() == CLIENT_CHARS));
        let before = long.speaker.len();
        assert_eq!(long.called("\n").speaker.len(), before, "no name is none");
    }

    #[tokio::test]
    async fn a_connection_that_the_server_closed_is_made_anew() {
        let place = tempfile::tempdir().unwrap();
        let socket = place.path().join("socket");
        let serving = tokio::spawn(serve(UnixListener::bind(&socket).unwrap(), [1, 2]));
        let mut client = Client::connect(&socket).await.unwrap();
        (&mut client.connection).await.unwrap();
        let told: Version = client.get("/v1/version").await.unwrap();
        assert_eq!(told.pid, 7);
        serving.await.unwrap();
        // Then there is no server: that is told as the end of the one that was there.
        (&mut client.connection).await.unwrap();
        let error = client.get::<Version>("/v1/version").await.unwrap_err();
        assert!(matches!(error, ClientError::Broken(_)), "{error:?}");
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn a_new_connection_is_used_when_it_has_read_the_greeting() {
        const TIMES: usize = 200;
        let place = tempfile::tempdir().unwrap();
        let socket = place.path().join("socket");
        let connections = std::iter::once(1).chain(std::iter::repeat_n(2, TIMES));
        let serving = tokio::spawn(serve(UnixListener::bind(&socket).unwrap(), connections));
        let mut client = Client::connect(&socket).await.unwrap();
        for time in 0..TIMES {
            (&mut client.connection).await.unwrap();
            client.get::<Version>("/v1/version").await.unwrap_or_else(|error| panic!("{time}: {error}"));
        }
        serving.await.unwrap();
    }
}
