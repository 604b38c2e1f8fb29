//! A server that tells events as the server of OpenCode does: `GET /event` behind HTTP Basic, chunked, until it is over.

use std::collections::VecDeque;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Mutex, mpsc, watch};
use tokio::task::JoinSet;

/// Longest request that is read.
const MOST_REQUEST: usize = 16 << 10;

/// What is done on a connection whose request is in order.
#[derive(Debug, Clone)]
pub enum Play {
    /// It is taken, and nothing is ever answered: the program is not up yet.
    Hang,
    /// These bytes are written as they are, and it is closed.
    Raw(Vec<u8>),
    /// It is answered with a stream that says this, and then nothing more.
    Silence(Vec<u8>),
    /// It is answered with a stream that says this, and ends.
    End(Vec<u8>),
    /// It is answered with a stream of what is [said](EventServer::say).
    Live,
}

/// Such a server. It ends with this value.
#[derive(Debug)]
pub struct EventServer {
    port: u16,
    live: mpsc::Sender<Vec<u8>>,
    requests: Arc<AtomicUsize>,
    open: watch::Receiver<usize>,
    _serving: JoinSet<()>,
}

struct Stage {
    secret: String,
    /// For the next connections; the last one is for all further ones.
    plays: VecDeque<Play>,
    live: Arc<Mutex<mpsc::Receiver<Vec<u8>>>>,
    requests: Arc<AtomicUsize>,
    open: watch::Sender<usize>,
}

impl EventServer {
    /// Serves at a port of loopback, any where `port` is 0, to whoever shows `secret`; each of `plays` for one connection
    /// that does, the last one for all further ones.
    ///
    /// # Panics
    /// When the port is taken, or there are no plays.
    pub async fn start(port: u16, secret: &str, plays: impl IntoIterator<Item = Play>) -> Self {
        let plays: VecDeque<Play> = plays.into_iter().collect();
        assert!(!plays.is_empty(), "something is to be played");
        let listener = TcpListener::bind(("127.0.0.1", port)).await.expect("the port is free");
        let port = listener.local_addr().expect("it listens").port();
        let (live, heard) = mpsc::channel(64);
        let requests = Arc::new(AtomicUsize::new(0));
        let (count, open) = watch::channel(0);
        let secret = secret.to_owned();
        let live_end = Arc::new(Mutex::new(heard));
        let stage = Stage { secret, plays, live: live_end, requests: Arc::clone(&requests), open: count };
        let mut serving = JoinSet::new();
        serving.spawn(serve(listener, stage));
        Self { port, live, requests, open, _serving: serving }
    }

    /// The port.
    #[must_use]
    pub fn port(&self) -> u16 {
        self.port
    }

    /// How many requests were read, whatever became of them.
    #[must_use]
    pub fn requests(&self) -> usize {
        self.requests.load(Ordering::Acquire)
    }

    /// Says an event to whoever is connected, or comes next.
    ///
    /// # Panics
    /// When it is over.
    pub async fn say(&self, event: &serde_json::Value) {
        self.live.send(event_of(event)).await.expect("it serves");
    }

    /// Waits until nobody is connected.
    ///
    /// # Panics
    /// When it is over.
    pub async fn is_left(&self) {
        self.open.clone().wait_for(|open| *open == 0).await.expect("it serves");
    }
}

/// An event as it stands in the stream.
#[must_use]
pub fn event_of(event: &serde_json::Value) -> Vec<u8> {
    format!("data: {event}\n\n").into_bytes()
}

async fn serve(listener: TcpListener, mut stage: Stage) {
    let mut connections = JoinSet::new();
    while let Ok((wire, _)) = listener.accept().await {
        let secret = stage.secret.clone();
        let (requests, live) = (Arc::clone(&stage.requests), Arc::clone(&stage.live));
        let play = match stage.plays.len() {
            0 | 1 => stage.plays.front().cloned(),
            _ => stage.plays.pop_front(),
        };
        let Some(play) = play else { return };
        let open = stage.open.clone();
        open.send_modify(|open| *open += 1);
        connections.spawn(async move {
            // Whoever goes away is done with.
            let _gone = answer(wire, &secret, play, &requests, &live).await;
            open.send_modify(|open| *open -= 1);
        });
    }
}

async fn answer(
    mut wire: TcpStream,
    secret: &str,
    play: Play,
    requests: &AtomicUsize,
    live: &Mutex<mpsc::Receiver<Vec<u8>>>,
) -> io::Result<()> {
    let request = request(&mut wire).await?;
    requests.fetch_add(1, Ordering::AcqRel);
    let shown = BASE64_STANDARD.encode(format!("opencode:{secret}"));
    let is_known = request.lines().any(|line| {
        line.split_once(": ").is_some_and(|(name, value)| {
            name.eq_ignore_ascii_case("authorization") && value == format!("Basic {shown}")
        })
    });
    if !is_known {
        return wire.write_all(b"HTTP/1.1 401 Unauthorized\r\ncontent-length: 0\r\n\r\n").await;
    }
    if !request.starts_with("GET /event HTTP/1.1\r\n") {
        return wire.write_all(b"HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\n\r\n").await;
    }
    match play {
        Play::Hang => until_gone(&mut wire).await,
        Play::Raw(bytes) => wire.write_all(&bytes).await,
        Play::Silence(says) => {
            begin(&mut wire, &says).await?;
            until_gone(&mut wire).await
        }
        Play::End(says) => {
            begin(&mut wire, &says).await?;
            wire.write_all(b"0\r\n\r\n").await
        }
        Play::Live => {
            begin(&mut wire, &event_of(&serde_json::json!({"type": "server.connected", "properties": {}})))
                .await?;
            let mut live = live.lock().await;
            let (mut reading, mut writing) = wire.split();
            let says = async {
                while let Some(said) = live.recv().await {
                    chunk(&mut writing, &said).await?;
                }
                Ok(())
            };
            tokio::select! {
                over = until_gone(&mut reading) => over,
                over = says => over,
            }
        }
    }
}

async fn request(wire: &mut TcpStream) -> io::Result<String> {
    let mut read = Vec::new();
    while !read.ends_with(b"\r\n\r\n") {
        if read.len() >= MOST_REQUEST {
            return Err(io::Error::other("a request without an end"));
        }
        read.push(wire.read_u8().await?);
    }
    String::from_utf8(read).map_err(io::Error::other)
}

async fn begin(wire: &mut TcpStream, says: &[u8]) -> io::Result<()> {
    let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n";
    wire.write_all(head.as_bytes()).await?;
    // An empty chunk would be the end.
    if says.is_empty() { wire.flush().await } else { chunk(wire, says).await }
}

async fn chunk(wire: &mut (impl tokio::io::AsyncWrite + Unpin), bytes: &[u8]) -> io::Result<()> {
    let head = format!("{:x}\r\n", bytes.len());
    wire.write_all(&[head.as_bytes(), bytes, b"\r\n"].concat()).await
}

async fn until_gone(wire: &mut (impl tokio::io::AsyncRead + Unpin)) -> io::Result<()> {
    while wire.read(&mut [0; 64]).await? > 0 {}
    Ok(())
}
