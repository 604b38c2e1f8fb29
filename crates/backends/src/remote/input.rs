//! A program's input.
//!
//! # Invariants
//! 1. A piece of input is sent once, and the next one only when it was taken: nothing is typed twice or out of order.

use std::future::Future;
use std::io;
use std::pin::{Pin, pin};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use ptyard_terminal::backend::{ControlError, Io, Sink};
use tokio::task::JoinHandle;

use super::http::CallError;
use crate::shared::fate::ExitWatch;

/// Who types into a program.
pub(crate) trait Typist: Clone + Send + Sync + Unpin + 'static {
    /// Most that is typed at once, in bytes.
    const PIECE: usize;

    /// Whether the next piece can be typed; what the last ones came to may only be known by now.
    fn check(&self) -> Result<(), CallError> {
        Ok(())
    }

    /// Types; waits while the program does not read.
    fn send(&self, bytes: Vec<u8>) -> impl Future<Output = Result<(), CallError>> + Send + 'static;

    /// Closes the input of a program on pipes.
    fn close(&self) -> impl Future<Output = Result<(), CallError>> + Send + 'static;

    /// Why the input was not closed.
    fn of_close(error: &CallError) -> ControlError {
        ControlError::Os { action: "close the input", message: error.to_string() }
    }
}

/// How long the answer to what was typed may come behind the end of the program.
const LATE: Duration = Duration::from_secs(1);

/// What a terminal takes for the end of file.
const END_OF_FILE: u8 = 4;

/// Input.
pub(crate) struct Input<T: Typist> {
    typist: T,
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

impl<T: Typist> Input<T> {
    pub(crate) const fn new(typist: T, io: Io, exit: ExitWatch) -> Self {
        Self { typist, io, exit, sending: None, at_line_start: true, closing: Closing::Open }
    }

    /// Ready when the piece under way was taken.
    fn poll_taken(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), CallError>> {
        let Some(sending) = &mut self.sending else { return Poll::Ready(Ok(())) };
        let sent = ready!(Pin::new(sending).poll(cx));
        self.sending = None;
        Poll::Ready(sent.unwrap_or_else(|error| Err(CallError::Broken(error.to_string()))))
    }

    fn send(&mut self, bytes: &[u8]) {
        let sending = self.typist.send(bytes.to_vec());
        let mut exit = self.exit.clone();
        self.sending = Some(tokio::spawn(async move {
            let mut sending = pin!(sending);
            // A program that does not read lets it wait; that it is still there is told by its output.
            tokio::select! {
                sent = &mut sending => return sent,
                _ = exit.wait_for(Option::is_some) => {}
            }
            // What ended it may have been this.
            let ended = || CallError::Broken("the program has ended".to_owned());
            tokio::time::timeout(LATE, sending).await.unwrap_or_else(|_| Err(ended()))
        }));
    }

    fn close(&mut self) {
        if matches!(self.io, Io::Tty(_)) {
            let typed = [END_OF_FILE; 2];
            let count = if self.at_line_start { 1 } else { 2 };
            self.send(&typed[..count]);
            return;
        }
        self.sending = Some(tokio::spawn(self.typist.close()));
    }
}

impl<T: Typist> Sink for Input<T> {
    fn poll_write(&mut self, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        ready!(self.poll_taken(cx))
            .and_then(|()| self.typist.check())
            .map_err(|error| io::Error::new(io::ErrorKind::BrokenPipe, error.to_string()))?;
        let piece = &bytes[..bytes.len().min(T::PIECE)];
        if let Some(last) = piece.last() {
            self.at_line_start = matches!(last, b'\n' | b'\r');
            self.send(piece);
        }
        Poll::Ready(Ok(piece.len()))
    }

    fn poll_close(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), ControlError>> {
        loop {
            if let Err(error) = ready!(self.poll_taken(cx)) {
                self.closing = Closing::Open;
                // Nothing is open of a program that has ended.
                let has_ended = self.exit.borrow().is_some();
                return Poll::Ready(if has_ended { Ok(()) } else { Err(T::of_close(&error)) });
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
