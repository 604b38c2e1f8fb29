//! A terminal over a socket: a shell that everybody types into, which is told to become the program.

use std::sync::atomic::{AtomicU32, Ordering};

use futures_util::{SinkExt, StreamExt};
use ptyard_testkit::vendors::blaxel::{self, BlaxelServer};
use ptyard_testkit::vendors::cloudflare::{self, CloudflareServer};
use ptyard_testkit::vendors::daytona::{self, DaytonaServer};
use serde_json::{Value, json};
use tokio::net::TcpStream;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::client::IntoClientRequest;
use tokio_tungstenite::{WebSocketStream, client_async};

use crate::Outcome;

/// How bytes go in messages.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Dialect {
    /// As they are; what is text is no output.
    Bytes,
    /// As text in documents.
    Documents,
}

pub(crate) struct Socket {
    stream: WebSocketStream<TcpStream>,
    dialect: Dialect,
}

/// A name that no other terminal has.
fn any_name() -> String {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    format!("plain{}", NEXT.fetch_add(1, Ordering::Relaxed))
}

impl Socket {
    pub(crate) async fn at_daytona(server: &DaytonaServer, sandbox: &str, script: &str) -> Outcome<Self> {
        let base = server.url().replace("/api", "/toolbox");
        let url = format!("{base}/{sandbox}/process/pty/create-connect?id={}", any_name());
        Self::open(&url, daytona::KEY, Dialect::Bytes, script).await
    }

    pub(crate) async fn at_cloudflare(
        server: &CloudflareServer,
        sandbox: &str,
        script: &str,
    ) -> Outcome<Self> {
        let (base, name) = (server.url(), any_name());
        let session = json!({ "id": name });
        let opened = super::connect::client()?
            .post(format!("{base}/v1/sandbox/{sandbox}/session"))
            .bearer_auth(cloudflare::KEY)
            .body(session.to_string());
        opened.send().await?.error_for_status()?;
        let url = format!("{base}/v1/sandbox/{sandbox}/pty?session={name}");
        Self::open(&url, cloudflare::KEY, Dialect::Bytes, script).await
    }

    pub(crate) async fn at_blaxel(server: &BlaxelServer, sandbox: &str, script: &str) -> Outcome<Self> {
        let base = server.url().replace("/v0", "/sbx");
        let (key, name) = (blaxel::KEY, any_name());
        let url = format!("{base}/{sandbox}/terminal/ws?sessionId={name}&token={key}");
        Self::open(&url, key, Dialect::Documents, script).await
    }

    async fn open(url: &str, key: &str, dialect: Dialect, script: &str) -> Outcome<Self> {
        let mut request = url.replacen("http", "ws", 1).into_client_request()?;
        let authorization = format!("Bearer {key}").parse()?;
        request.headers_mut().insert("authorization", authorization);
        let host = request.uri().authority().ok_or("an address without a host")?.to_string();
        let connection = TcpStream::connect(host).await?;
        connection.set_nodelay(true)?;
        let (stream, _answer) = client_async(request, connection).await?;
        let mut socket = Self { stream, dialect };
        socket.say(format!("exec sh {script}\r").as_bytes()).await?;
        Ok(socket)
    }

    pub(crate) async fn hear(&mut self) -> Outcome<Vec<u8>> {
        loop {
            match self.stream.next().await.ok_or("the socket was closed")?? {
                Message::Binary(bytes) => return Ok(bytes.into()),
                Message::Text(text) if self.dialect == Dialect::Documents => {
                    let mut document: Value = serde_json::from_str(&text)?;
                    if let Value::String(data) = document["data"].take() {
                        return Ok(data.into_bytes());
                    }
                }
                Message::Close(why) => return Err(format!("the socket was closed: {why:?}").into()),
                _ => {}
            }
        }
    }

    pub(crate) async fn say(&mut self, bytes: &[u8]) -> Outcome<()> {
        let message = match self.dialect {
            Dialect::Bytes => Message::binary(bytes.to_vec()),
            Dialect::Documents => {
                let data = std::str::from_utf8(bytes)?;
                Message::text(json!({ "type": "input", "data": data }).to_string())
            }
        };
        Ok(self.stream.send(message).await?)
    }
}
