//! Terminals of a sandbox, and who looks at them.

use std::fs;
use std::io;
use std::sync::{Arc, Mutex};

use axum::extract::ws::{CloseFrame, Message, WebSocket};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use tokio::sync::{mpsc, watch};

use super::{Faults, Lodging};
use crate::vendors::locked;
use crate::vendors::program::{Event, Order, Program};

/// A terminal with a shell.
#[derive(Debug)]
pub(super) struct Pty {
    pub(super) program: Program,
    pub(super) size: Mutex<(u16, u16)>,
    viewers: Mutex<Vec<mpsc::Sender<Vec<u8>>>>,
    /// The status of its shell, as wait(2) gives it.
    ended: watch::Sender<Option<i32>>,
}

/// What a viewer gets: output; it is closed when the viewer is too far behind, or the shell has ended.
pub(super) struct Listening {
    pieces: mpsc::Receiver<Vec<u8>>,
    ended: watch::Receiver<Option<i32>>,
}

impl Pty {
    pub(super) fn start(
        order: &Order,
        lodging: &Lodging,
        size: (u16, u16),
    ) -> io::Result<(Arc<Self>, mpsc::Receiver<Event>)> {
        let (program, events) = Program::start(order, &lodging.sandbox.mark())?;
        let (viewers, ended) = (Mutex::default(), watch::Sender::new(None));
        Ok((Arc::new(Self { program, size: Mutex::new(size), viewers, ended }), events))
    }

    /// Passes on what is printed to whoever looks; nobody is waited for.
    pub(super) fn follow(self: &Arc<Self>, mut events: mpsc::Receiver<Event>) {
        let pty = Arc::clone(self);
        tokio::spawn(async move {
            while let Some(event) = events.recv().await {
                match event {
                    Event::Output(_, bytes) => {
                        locked(&pty.viewers).retain(|viewer| viewer.try_send(bytes.clone()).is_ok());
                    }
                    Event::End(status) => {
                        pty.ended.send_replace(Some(status));
                    }
                }
            }
            locked(&pty.viewers).clear();
        });
    }

    pub(super) fn listen(&self, viewer: &Viewer) -> Listening {
        let (sender, pieces) = mpsc::channel(viewer.faults.most_pieces_behind);
        locked(&self.viewers).push(sender);
        Listening { pieces, ended: self.ended.subscribe() }
    }

    pub(super) fn is_active(&self) -> bool {
        self.ended.borrow().is_none()
    }

    /// Ends the shell, what is in its session and what came of it.
    pub(super) fn end_tree(&self) {
        let mut tree = vec![self.program.pid];
        let mut at = 0;
        while at < tree.len() {
            let parent = tree[at];
            let children = processes().filter(|child| {
                (child.parent == parent || child.session == parent) && !tree.contains(&child.pid)
            });
            tree.extend(children.map(|child| child.pid).collect::<Vec<_>>());
            at += 1;
        }
        for pid in tree.into_iter().rev() {
            if let Some(pid) = Pid::from_raw(pid.cast_signed()) {
                let _gone = kill_process(pid, Signal::KILL);
            }
        }
        self.program.end(Signal::KILL);
    }
}

struct Process {
    pid: u32,
    parent: u32,
    session: u32,
}

fn processes() -> impl Iterator<Item = Process> {
    let entries = fs::read_dir("/proc").expect("/proc can be read");
    entries.filter_map(|entry| {
        let pid = entry.ok()?.file_name().to_str()?.parse().ok()?;
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
        let mut fields = stat.rsplit(')').next()?.split_whitespace().skip(1);
        let (parent, session) = (fields.next()?.parse().ok()?, fields.nth(1)?.parse().ok()?);
        Some(Process { pid, parent, session })
    })
}

/// Who looks at a terminal over one socket.
pub(super) struct Viewer {
    asks_for_exit: bool,
    pub(super) faults: Faults,
    sent: usize,
}

/// The socket is gone, by a fault or by who was at its other end.
struct Cut;

impl Viewer {
    pub(super) const fn new(asks_for_exit: bool, faults: Faults) -> Self {
        Self { asks_for_exit, faults, sent: 0 }
    }

    async fn put(&mut self, socket: &mut WebSocket, message: Message) -> Result<(), Cut> {
        if self.faults.cut_before_message == Some(self.sent) {
            return Err(Cut);
        }
        self.sent += 1;
        socket.send(message).await.map_err(|_| Cut)
    }

    /// Shows the terminal, and types into it, until one of both ends.
    pub(super) async fn show(mut self, pty: Arc<Pty>, mut socket: WebSocket, mut listening: Listening) {
        let _cut = self.show_all(&pty, &mut socket, &mut listening).await;
    }

    async fn show_all(
        &mut self,
        pty: &Arc<Pty>,
        socket: &mut WebSocket,
        listening: &mut Listening,
    ) -> Result<(), Cut> {
        let connected = json!({ "type": "control", "status": "connected" });
        self.put(socket, Message::text(connected.to_string())).await?;
        loop {
            tokio::select! {
                piece = listening.pieces.recv() => {
                    let Some(piece) = piece else { break };
                    for piece in piece.chunks(self.faults.output_piece_bytes.unwrap_or(usize::MAX)) {
                        self.put(socket, Message::binary(piece.to_vec())).await?;
                    }
                }
                message = socket.recv() => {
                    let bytes = match message {
                        Some(Ok(Message::Binary(bytes))) => bytes,
                        Some(Ok(Message::Text(text))) => text.into(),
                        Some(Ok(Message::Ping(_) | Message::Pong(_))) => continue,
                        Some(Ok(Message::Close(_)) | Err(_)) | None => return Ok(()),
                    };
                    // As in the daemon: nothing else is read while the program does not read.
                    let _ended = pty.program.write(&bytes).await;
                }
            }
        }
        let Some(status) = *listening.ended.borrow_and_update() else {
            let slow = CloseFrame { code: 1008, reason: "slow consumer".into() };
            return socket.send(Message::Close(Some(slow))).await.map_err(|_| Cut);
        };
        let end = end(status);
        if self.asks_for_exit && !self.faults.no_exit_message {
            let mut message = end.clone();
            message["type"] = json!("control");
            message["status"] = json!("exited");
            self.put(socket, Message::text(message.to_string())).await?;
        }
        let code = if end["exitCode"] == json!(0) { 1000 } else { 1011 };
        let reason = end.to_string().into();
        self.put(socket, Message::Close(Some(CloseFrame { code, reason }))).await
    }
}

/// An end as the daemon tells it.
fn end(status: i32) -> Value {
    match (status & 0x7f, (status >> 8) & 0xff) {
        (0, 0) => json!({ "exitCode": 0 }),
        (0, code) => json!({ "exitCode": code, "exitReason": "non-zero exit" }),
        (9, _) => json!({ "exitCode": 137, "exitReason": "SIGKILL" }),
        (15, _) => json!({ "exitCode": 143, "exitReason": "SIGTERM" }),
        (signal, _) => json!({ "exitCode": 128 + signal, "exitReason": format!("signal {signal}") }),
    }
}
