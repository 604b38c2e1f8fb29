//! Terminals of a sandbox: each is a shell that stays when nobody listens, and what it printed last.

use std::sync::{Arc, Mutex};

use axum::extract::ws::{Message, WebSocket};
use futures_util::stream::{SplitSink, SplitStream};
use futures_util::{SinkExt, StreamExt};
use rustix::process::{Pid, Signal, kill_process_group};
use serde_json::{Value, json};
use tokio::sync::{mpsc, watch};

use super::faults::{Faults, Instead};
use super::{Lodging, Vendor, locked};
use crate::vendors::program::{Event, Io, Program, Told};

/// How much of its output a terminal plays again, in bytes.
const REPLAY_BYTES: usize = 100 << 10;

/// What the vendor reads at once, and makes one message of, in bytes.
const PIECE: usize = 4096;

/// How much waits for one listener, in bytes: 64 pieces; who is further behind misses some.
const WAITING: usize = 64 * PIECE;

/// What a client asked for.
pub(super) struct Wanted {
    pub(super) session: String,
    pub(super) shell: Option<String>,
    pub(super) cwd: String,
    pub(super) size: (u16, u16),
}

/// A terminal.
#[derive(Debug)]
pub(super) struct Terminal {
    program: Program,
    heard: Mutex<Heard>,
    /// True when its shell has ended.
    is_dead: watch::Sender<bool>,
}

#[derive(Debug, Default)]
struct Heard {
    printed: Vec<u8>,
    listeners: Vec<mpsc::Sender<Vec<u8>>>,
    pieces: usize,
}

impl Terminal {
    pub(super) fn is_dead(&self) -> bool {
        *self.is_dead.borrow()
    }

    /// The terminal of this name, which is made when there is none that lives.
    fn of(vendor: &Arc<Vendor>, lodging: &Lodging, wanted: &Wanted) -> std::io::Result<Arc<Self>> {
        let mut terminals = locked(&lodging.terminals);
        if let Some(terminal) = terminals.get(&wanted.session).filter(|terminal| !terminal.is_dead()) {
            return Ok(Arc::clone(terminal));
        }
        if lodging.sandbox.is_over() {
            return Err(std::io::Error::other("the sandbox is gone"));
        }
        let shell = wanted.shell.clone().unwrap_or_else(|| lodging.shell());
        let (cols, rows) = wanted.size;
        let mut order = lodging.order(vec![shell], Io::Tty(cols, rows), Told::AtOnce);
        order.cwd = Some(wanted.cwd.clone()).filter(|cwd| !cwd.is_empty());
        order.env.insert("TERM".to_owned(), "xterm-256color".to_owned());
        let (program, events) = Program::start(&order, &lodging.sandbox.mark())?;
        let terminal =
            Arc::new(Self { program, heard: Mutex::default(), is_dead: watch::Sender::new(false) });
        tokio::spawn(Arc::clone(&terminal).tell(events, Arc::clone(vendor)));
        terminals.insert(wanted.session.clone(), Arc::clone(&terminal));
        Ok(terminal)
    }

    /// Passes on what is printed to whoever has room for it, until the shell ends. Then all of its session is killed.
    async fn tell(self: Arc<Self>, mut events: mpsc::Receiver<Event>, vendor: Arc<Vendor>) {
        while let Some(event) = events.recv().await {
            let Event::Output(_, bytes) = event else { break };
            let faults = locked(&vendor.faults).clone();
            for piece in bytes.chunks(faults.output_piece_bytes.unwrap_or(PIECE)) {
                if faults.drop_with.is_none() || !locked(&vendor.faults).drops(piece) {
                    self.broadcast(piece, &faults);
                }
            }
        }
        self.end();
    }

    fn broadcast(&self, piece: &[u8], faults: &Faults) {
        let mut heard = locked(&self.heard);
        heard.pieces += 1;
        heard.printed.extend_from_slice(piece);
        if heard.printed.len() > 2 * REPLAY_BYTES {
            let over = heard.printed.len() - REPLAY_BYTES;
            heard.printed.drain(..over);
        }
        if faults.drop_every.is_some_and(|every| heard.pieces.is_multiple_of(every)) {
            return;
        }
        heard.listeners.retain(|listener| !listener.is_closed());
        for listener in &heard.listeners {
            let _dropped = listener.try_send(piece.to_vec());
        }
    }

    /// Listens to what comes; and what it printed last, from the beginning of a line on.
    fn listen(&self, piece: usize) -> (Vec<u8>, mpsc::Receiver<Vec<u8>>) {
        let (listener, pieces) = mpsc::channel(WAITING / piece);
        let mut heard = locked(&self.heard);
        heard.listeners.push(listener);
        let over = heard.printed.len().saturating_sub(REPLAY_BYTES);
        let last = &heard.printed[over..];
        let from = match over {
            0 => 0,
            _ => last.iter().position(|&byte| byte == b'\n').map_or(0, |at| at + 1),
        };
        (last[from..].to_vec(), pieces)
    }

    /// Ends it with its session.
    pub(super) fn end(&self) {
        if let Some(group) = Pid::from_raw(self.program.pid.cast_signed()) {
            let _gone = kill_process_group(group, Signal::KILL);
        }
        self.is_dead.send_replace(true);
    }
}

/// Serves one socket, until somebody ends it.
pub(super) async fn serve(vendor: Arc<Vendor>, lodging: Arc<Lodging>, wanted: Wanted, mut socket: WebSocket) {
    let (mut cuts, mut gone) = (vendor.cuts.subscribe(), lodging.gone.subscribe());
    let (faults, instead) = {
        let mut faults = locked(&vendor.faults);
        (faults.clone(), faults.instead())
    };
    match instead {
        Some(Instead::Close) => return,
        Some(Instead::Error) => return fail(&mut socket, "failed on purpose").await,
        None => {}
    }
    let terminal = match Terminal::of(&vendor, &lodging, &wanted) {
        Ok(terminal) => terminal,
        Err(error) => return fail(&mut socket, &error.to_string()).await,
    };
    let mut dead = terminal.is_dead.subscribe();
    let (sink, stream) = socket.split();
    let mut telling = Telling { sink, sent: 0, faults };
    let has_died = tokio::select! {
        _cut = telling.tell(&terminal) => false,
        () = hear(&terminal, stream) => false,
        // What waits to be sent is not sent any more.
        _ = dead.wait_for(|dead| *dead) => true,
        _ = cuts.changed() => false,
        _ = gone.wait_for(|gone| *gone) => false,
    };
    if has_died {
        let _gone = telling.sink.send(Message::Close(None)).await;
    }
}

async fn fail(socket: &mut WebSocket, message: &str) {
    let error = json!({ "type": "error", "data": message });
    let _gone = socket.send(Message::Text(error.to_string().into())).await;
    let _gone = socket.send(Message::Close(None)).await;
}

/// Takes what is typed, and sizes.
async fn hear(terminal: &Terminal, mut stream: SplitStream<WebSocket>) {
    while let Some(Ok(message)) = stream.next().await {
        let order: Value = match message {
            Message::Text(text) => serde_json::from_str(&text).unwrap_or_default(),
            Message::Binary(bytes) => serde_json::from_slice(&bytes).unwrap_or_default(),
            Message::Close(_) => return,
            Message::Ping(_) | Message::Pong(_) => continue,
        };
        let number = |name: &str| order[name].as_u64().and_then(|number| u16::try_from(number).ok());
        match (order["type"].as_str(), number("cols"), number("rows")) {
            (Some("input"), ..) => {
                let text = order["data"].as_str().unwrap_or_default();
                if terminal.program.write(text.as_bytes()).await.is_err() {
                    return;
                }
            }
            (Some("resize"), Some(cols @ 1..), Some(rows @ 1..)) => {
                let _closed = terminal.program.resize(cols, rows);
            }
            _ => {}
        }
    }
}

struct Telling {
    sink: SplitSink<WebSocket, Message>,
    sent: usize,
    faults: Faults,
}

/// The socket was cut, by a fault or by who listened.
struct Cut;

impl Telling {
    async fn tell(&mut self, terminal: &Terminal) -> Result<(), Cut> {
        let (replay, mut pieces) = terminal.listen(self.faults.output_piece_bytes.unwrap_or(PIECE));
        if !replay.is_empty() {
            self.output(&[b"\x1b[0m", replay.as_slice()].concat()).await?;
            let twice = replay.len().min(self.faults.replay_twice_bytes);
            if twice > 0 {
                self.output(&replay[replay.len() - twice..]).await?;
            }
        }
        while let Some(piece) = pieces.recv().await {
            self.output(&piece).await?;
        }
        Ok(())
    }

    /// What is no text, as a piece by itself, is destroyed.
    async fn output(&mut self, piece: &[u8]) -> Result<(), Cut> {
        let data = String::from_utf8_lossy(piece);
        if self.faults.odd_messages {
            for odd in [
                "",
                "[1]",
                "\"output\"",
                "{\"data\":\"x\"}",
                "{\"type\":\"output\"}",
                "{\"type\":\"new\",\"data\":\"x\"}",
            ] {
                self.put(odd.to_owned()).await?;
            }
        }
        let message = match self.faults.capital_keys {
            true => json!({ "Type": "output", "Data": data }),
            false => json!({ "type": "output", "data": data }),
        };
        self.put(message.to_string()).await
    }

    async fn put(&mut self, text: String) -> Result<(), Cut> {
        if self.faults.cut_before_message == Some(self.sent) {
            return Err(Cut);
        }
        self.sent += 1;
        self.sink.send(Message::Text(text.into())).await.map_err(|_| Cut)
    }
}
