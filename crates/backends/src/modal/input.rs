//! A program's input.
//!
//! # Invariants
//! 1. A piece of input goes to its own offset, and the next one only when it was taken: nothing is typed twice or out of
//!    order, however often it is sent.

use std::io;
use std::pin::{Pin, pin};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use ptyard_core::TerminalId;
use ptyard_modal_wire::router::TaskExecStdinStatusRequest;
use ptyard_terminal::backend::{ControlError, Io, Sink};
use tokio::task::JoinHandle;

use super::api::CALL_LIMIT;
use super::exec::Exec;
use super::follow::bear;
use super::patience::Patience;
use super::place::Place;
use crate::remote::http::CallError;
use crate::shared::fate::ExitWatch;

/// Most that one call types, in bytes.
const PIECE: usize = 64 << 10;

/// How long one call waits for a program that does not read; then it is made again.
const WRITE_LIMIT: Duration = Duration::from_secs(60);

/// How long the answer to a write may come behind the end of the program.
const LATE: Duration = Duration::from_secs(1);

/// What a terminal takes for the end of file.
const END_OF_FILE: u8 = 4;

/// Input.
pub(super) struct Input {
    place: Place,
    id: TerminalId,
    io: Io,
    exit: ExitWatch,
    /// How many bytes were taken; `None` when only the machine knows.
    taken: Option<u64>,
    /// The piece that is under way, and how many bytes will have been taken with it.
    sending: Option<JoinHandle<Result<u64, CallError>>>,
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
    /// The input of a program to which nothing was typed yet.
    pub(super) fn new(place: Place, id: TerminalId, io: Io, exit: ExitWatch) -> Self {
        let (sending, closing) = (None, Closing::Open);
        Self { place, id, io, exit, taken: Some(0), sending, at_line_start: true, closing }
    }

    /// The input of one to which somebody may have typed.
    pub(super) fn again(place: Place, id: TerminalId, io: Io, exit: ExitWatch) -> Self {
        Self { taken: None, ..Self::new(place, id, io, exit) }
    }

    /// Ready when the piece under way was taken.
    fn poll_taken(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), CallError>> {
        let Some(sending) = &mut self.sending else { return Poll::Ready(Ok(())) };
        let sent = ready!(Pin::new(sending).poll(cx));
        self.sending = None;
        let sent = sent.unwrap_or_else(|error| Err(CallError::Broken(error.to_string())));
        self.taken = sent.as_ref().ok().copied();
        Poll::Ready(sent.map(drop))
    }

    fn send(&mut self, bytes: &[u8], end: End) {
        let (place, id, taken) = (self.place.clone(), self.id, self.taken);
        let (data, mut exit) = (bytes.to_vec(), self.exit.clone());
        self.sending = Some(tokio::spawn(async move {
            let mut writing = pin!(write(place, id, taken, data, end));
            // A program that does not read lets the call wait; that it is still there is told by its end.
            tokio::select! {
                sent = &mut writing => return sent,
                _ = exit.wait_for(Option::is_some) => {}
            }
            // What ended it may have been this.
            let ended = || CallError::Broken("the program has ended".to_owned());
            tokio::time::timeout(LATE, writing).await.unwrap_or_else(|_| Err(ended()))
        }));
    }

    fn close(&mut self) {
        match self.io {
            Io::Tty(_) => {
                let count = if self.at_line_start { 1 } else { 2 };
                self.send(&[END_OF_FILE; 2][..count], End::Later);
            }
            Io::Pipes(_) => self.send(&[], End::Here),
        }
    }
}

/// Whether more input can come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum End {
    Here,
    Later,
}

/// Types a piece, and says how many bytes were taken then. Sent again it is not typed again: it has its offset.
async fn write(
    place: Place,
    id: TerminalId,
    taken: Option<u64>,
    data: Vec<u8>,
    end: End,
) -> Result<u64, CallError> {
    let joined = place.joined().await?;
    let exec = Exec::of(&joined.router, id);
    let mut patience = Patience::new(joined.router.api().settings().patience);
    let at = match taken {
        Some(at) => at,
        None => {
            let status =
                TaskExecStdinStatusRequest { task_id: joined.router.task(), exec_id: exec.id.clone() };
            joined.router.ask(&status, CALL_LIMIT).await?.num_bytes_written
        }
    };
    let then = at + data.len() as u64;
    let request = exec.write(at, data, end == End::Here);
    loop {
        match joined.router.ask_once(&request, WRITE_LIMIT).await {
            Ok(_) => return Ok(then),
            Err(error) if error.is_over_time() => patience.went_well(),
            Err(error) => bear(&mut patience, &joined, &error).await?,
        }
    }
}

impl Sink for Input {
    fn poll_write(&mut self, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        ready!(self.poll_taken(cx))
            .map_err(|error| io::Error::new(io::ErrorKind::BrokenPipe, error.to_string()))?;
        let piece = &bytes[..bytes.len().min(PIECE)];
        if let Some(last) = piece.last() {
            self.at_line_start = matches!(last, b'\n' | b'\r');
            self.send(piece, End::Later);
        }
        Poll::Ready(Ok(piece.len()))
    }

    fn poll_close(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), ControlError>> {
        loop {
            match ready!(self.poll_taken(cx)) {
                // Nothing is open of a program that has ended.
                Err(_) if self.exit.borrow().is_some() => return Poll::Ready(Ok(())),
                Err(error) => {
                    let message = error.to_string();
                    return Poll::Ready(Err(ControlError::Os { action: "close the input", message }));
                }
                Ok(()) => {}
            }
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
