//! A program's input.
//!
//! # Invariants
//! 1. A piece of input is sent once, and the next one only when it was taken: nothing is typed twice or out of order.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use ptyard_terminal::backend::{ControlError, Io, Sink};
use serde_json::json;
use tokio::task::JoinHandle;

use super::connect::{CALL_LIMIT, Daemon};
use crate::remote::http::{Again, CallError};
use crate::shared::fate::ExitWatch;

/// Most that one call types, in bytes.
const PIECE: usize = 16 << 10;

/// What a terminal takes for the end of file.
const END_OF_FILE: u8 = 4;

/// Input.
pub(super) struct Input {
    daemon: Daemon,
    pid: u32,
    io: Io,
    exit: ExitWatch,
    /// The piece that is under way.
    sending: Option<JoinHandle<Result<(), CallError>>>,
    /// Whether the next byte begins a line; in the middle of one, the end of file has to be typed twice.
    at_line_start: bool,
    closing: Closing,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Closing {
    Open,
    Begun,
    Closed,
}

impl Input {
    pub(super) fn new(daemon: Daemon, pid: u32, io: Io, exit: ExitWatch) -> Self {
        Self { daemon, pid, io, exit, sending: None, at_line_start: true, closing: Closing::Open }
    }

    /// Ready when the piece under way was taken.
    fn poll_taken(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), CallError>> {
        let Some(sending) = &mut self.sending else { return Poll::Ready(Ok(())) };
        let sent = ready!(Pin::new(sending).poll(cx));
        self.sending = None;
        Poll::Ready(sent.unwrap_or_else(|error| Err(CallError::Broken(error.to_string()))))
    }

    fn send(&mut self, bytes: &[u8]) {
        let name = if matches!(self.io, Io::Tty(_)) { "pty" } else { "stdin" };
        let order = json!({ "process": Daemon::of(self.pid), "input": { name: STANDARD.encode(bytes) } });
        let (daemon, mut exit) = (self.daemon.clone(), self.exit.clone());
        self.sending = Some(tokio::spawn(async move {
            // A program that does not read lets the call wait; that it is still there is told by its output.
            tokio::select! {
                sent = daemon.order("SendInput", &order, Again::IfNothingHappened, None) => sent,
                _ = exit.wait_for(Option::is_some) => Err(CallError::Broken("the program has ended".to_owned())),
            }
        }));
    }

    fn close(&mut self) {
        if matches!(self.io, Io::Tty(_)) {
            let typed = [END_OF_FILE; 2];
            let count = if self.at_line_start { 1 } else { 2 };
            self.send(&typed[..count]);
            return;
        }
        let (daemon, order) = (self.daemon.clone(), json!({ "process": Daemon::of(self.pid) }));
        self.sending = Some(tokio::spawn(async move {
            daemon.order("CloseStdin", &order, Again::Always, Some(CALL_LIMIT)).await
        }));
    }
}

impl Sink for Input {
    fn poll_write(&mut self, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        ready!(self.poll_taken(cx))
            .map_err(|error| io::Error::new(io::ErrorKind::BrokenPipe, error.to_string()))?;
        let piece = &bytes[..bytes.len().min(PIECE)];
        if let Some(last) = piece.last() {
            self.at_line_start = matches!(last, b'\n' | b'\r');
            self.send(piece);
        }
        Poll::Ready(Ok(piece.len()))
    }

    fn poll_close(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), ControlError>> {
        loop {
            let taken = ready!(self.poll_taken(cx));
            if let (Err(error), Closing::Begun) = (&taken, self.closing)
                && matches!(error, CallError::Refused { code: Some(code), .. } if code == "unimplemented")
            {
                self.closing = Closing::Open;
                return Poll::Ready(Err(ControlError::Unsupported {
                    backend: super::settings::NAME,
                    action: "close the input: the daemon of this sandbox is too old",
                }));
            }
            taken.map_err(|error| ControlError::Os {
                action: "close the input",
                message: error.to_string(),
            })?;
            match self.closing {
                Closing::Open => {
                    self.closing = Closing::Begun;
                    self.close();
                }
                Closing::Begun => self.closing = Closing::Closed,
                Closing::Closed => return Poll::Ready(Ok(())),
            }
        }
    }
}
