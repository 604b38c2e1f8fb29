//! Typing into a program over the line to its terminal.

use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use ptyard_terminal::backend::Io;

use super::http::CallError;
use super::input;
use super::line::Line;
use super::socket::Word;
use crate::shared::greeting::piped;

/// Who types into one program.
#[derive(Clone)]
pub(crate) struct Typist {
    line: Line,
    io: Io,
    /// Of how many losses was told.
    told: Arc<AtomicU32>,
}

impl Typist {
    pub(crate) fn new(line: Line, io: Io) -> Self {
        Self { line, io, told: Arc::default() }
    }
}

impl input::Typist for Typist {
    /// For pipes it becomes up to five times as much, and daemons take 64 KiB at once.
    const PIECE: usize = 8 << 10;

    fn check(&self) -> Result<(), CallError> {
        let losses = self.line.losses();
        if self.told.swap(losses, Ordering::Relaxed) < losses {
            let why = "what was typed before may not have arrived; this was not typed";
            return Err(CallError::Broken(why.to_owned()));
        }
        Ok(())
    }

    fn send(&self, bytes: Vec<u8>) -> impl Future<Output = Result<(), CallError>> + Send + 'static {
        let bytes = match self.io {
            Io::Tty(_) => bytes,
            Io::Pipes(_) => bytes.chunks(piped::PIECE).flat_map(piped::line).collect(),
        };
        let line = self.line.clone();
        async move { line.say(Word::Bytes(bytes.into())).await }
    }

    fn close(&self) -> impl Future<Output = Result<(), CallError>> + Send + 'static {
        let line = self.line.clone();
        async move { line.say(Word::Bytes(piped::CLOSE.into())).await }
    }
}
