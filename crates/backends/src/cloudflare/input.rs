//! A program's input.
//!
//! # Invariants
//! 1. A piece of input is said once, and the next one only when the connection has taken it.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use ptyard_terminal::backend::{ControlError, Io, Sink};
use tokio::task::JoinHandle;

use super::line::Line;
use crate::remote::http::CallError;
use crate::remote::socket::Word;
use crate::shared::fate::ExitWatch;
use crate::shared::greeting::piped;

/// Most that one message types, in bytes.
const PIECE: usize = 16 << 10;

/// What a terminal takes for the end of file.
const END_OF_FILE: u8 = 4;

/// Input, over the line to the terminal.
pub(super) struct Input {
    line: Line,
    io: Io,
    exit: ExitWatch,
    /// The piece that is under way.
    sending: Option<JoinHandle<Result<(), CallError>>>,
    /// Of how many losses was told.
    told: u32,
    /// Whether the next byte begins a line; in the middle of one, the end of file has to be typed twice.
    at_line_start: bool,
    is_closing: bool,
}

impl Input {
    pub(super) fn new(line: Line, io: Io, exit: ExitWatch) -> Self {
        Self { line, io, exit, sending: None, told: 0, at_line_start: true, is_closing: false }
    }

    /// Ready when the piece under way was taken.
    fn poll_taken(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), CallError>> {
        let Some(sending) = &mut self.sending else { return Poll::Ready(Ok(())) };
        let sent = ready!(Pin::new(sending).poll(cx));
        self.sending = None;
        Poll::Ready(sent.unwrap_or_else(|error| Err(CallError::Broken(error.to_string()))))
    }

    fn send(&mut self, bytes: Vec<u8>) {
        let (line, mut exit) = (self.line.clone(), self.exit.clone());
        self.sending = Some(tokio::spawn(async move {
            tokio::select! {
                said = line.say(Word::Bytes(Bytes::from(bytes))) => said,
                _ = exit.wait_for(Option::is_some) => Err(CallError::Broken("the program has ended".to_owned())),
            }
        }));
    }

    fn close(&mut self) {
        match self.io {
            Io::Tty(_) if self.at_line_start => self.send(vec![END_OF_FILE]),
            Io::Tty(_) => self.send(vec![END_OF_FILE; 2]),
            Io::Pipes(_) => self.send(piped::CLOSE.to_vec()),
        }
    }
}

impl Sink for Input {
    fn poll_write(&mut self, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let broken = |message: String| io::Error::new(io::ErrorKind::BrokenPipe, message);
        ready!(self.poll_taken(cx)).map_err(|error| broken(error.to_string()))?;
        let losses = self.line.losses();
        if losses > self.told {
            self.told = losses;
            let message =
                "the connection broke, and what was typed before may not have arrived; this was not typed";
            return Poll::Ready(Err(broken(message.to_owned())));
        }
        let piece = &bytes[..bytes.len().min(PIECE)];
        if let Some(last) = piece.last() {
            self.at_line_start = matches!(last, b'\n' | b'\r');
            self.send(match self.io {
                Io::Tty(_) => piece.to_vec(),
                Io::Pipes(_) => piece.chunks(piped::PIECE).flat_map(piped::line).collect(),
            });
        }
        Poll::Ready(Ok(piece.len()))
    }

    fn poll_close(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), ControlError>> {
        loop {
            ready!(self.poll_taken(cx)).map_err(|error| ControlError::Os {
                action: "close the input",
                message: error.to_string(),
            })?;
            if self.is_closing {
                return Poll::Ready(Ok(()));
            }
            self.is_closing = true;
            self.close();
        }
    }
}
