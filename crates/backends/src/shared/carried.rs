//! Programs elsewhere whose streams are carried by a process of this machine.
//!
//! A connection dies with whoever holds it, and this server is to be killed and started at any time. So it is held by a
//! process of ours, the *carrier*, which a keeper has like any other program: what it prints is the far program's output,
//! byte by byte, what it reads is the input, and it ends with the far program's code. When the connection breaks, it ends
//! by a signal, which no far code looks like. This server reads and types as with a program of its own, and so does the
//! next one.

use std::future::poll_fn;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use ptyard_core::Exit;
use ptyard_terminal::backend::{Control, ControlError, Io, Sink, Source};

use super::fate::Herald;

/// How long after its end the rest of a program's output is taken, from each piece to the next: what it left running may
/// hold the streams open as long as it lives.
pub(crate) const REST_LIMIT: Duration = Duration::from_secs(5);

/// Ends this process, a carrier, so that nobody takes it for a code.
pub(crate) fn lost() -> u8 {
    let _fails = rustix::process::kill_process(rustix::process::getpid(), rustix::process::Signal::KILL);
    // Not reached.
    u8::MAX
}

/// The controls of a carrier, which one task polls for its end and others use meanwhile. It goes with the last of them.
#[derive(Clone)]
pub(crate) struct Carrier(Arc<Mutex<Box<dyn Control>>>);

impl Carrier {
    pub(crate) fn new(control: Box<dyn Control>) -> Self {
        Self(Arc::new(Mutex::new(control)))
    }

    pub(crate) fn control(&self) -> MutexGuard<'_, Box<dyn Control>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Publishes the end: the carrier's code is the far program's, and without one it is `lost`. `left` says how many
    /// processes outlived the program, as far as that can be found out.
    pub(crate) async fn watch_end(self, left: impl Future<Output = u32>, herald: Herald) {
        let ended = poll_fn(|cx| self.control().poll_exit(cx)).await;
        if ended.code.is_some() {
            herald.left_behind(left.await);
        }
        herald.ended(ended.code.map_or_else(Exit::lost, Exit::exited));
    }

    /// Ends it, and with it the connection.
    pub(crate) async fn end(&self) {
        let ending = self.control().kill(Duration::ZERO);
        ending.await;
    }
}

/// Output: the carrier's, behind what came with its first words.
pub(crate) struct CarriedSource {
    carrier: Box<dyn Source>,
    first: Vec<u8>,
    read: usize,
}

impl CarriedSource {
    /// `first` came before the source was made.
    pub(crate) fn new(carrier: Box<dyn Source>, first: Vec<u8>) -> Self {
        Self { carrier, first, read: 0 }
    }
}

impl Source for CarriedSource {
    fn poll_read(&mut self, cx: &mut Context<'_>, into: &mut [u8]) -> Poll<io::Result<usize>> {
        let left = &self.first[self.read..];
        if left.is_empty() {
            return self.carrier.poll_read(cx, into);
        }
        let taken = into.len().min(left.len());
        into[..taken].copy_from_slice(&left[..taken]);
        self.read += taken;
        Poll::Ready(Ok(taken))
    }
}

/// Input.
pub(crate) struct CarriedSink {
    carrier: Box<dyn Sink>,
    kind: Kind,
}

enum Kind {
    Pipe,
    /// The far tty is not ours to look at, so its end of file is typed: twice in the middle of a line, where once only
    /// hands the line over.
    Tty {
        at_line_start: bool,
        left: Option<u8>,
    },
}

/// What a terminal takes for the end of file.
const END_OF_FILE: u8 = 4;

impl CarriedSink {
    /// Of a program with these streams, whatever the carrier's own are.
    pub(crate) fn new(carrier: Box<dyn Sink>, io: Io) -> Self {
        let kind = match io {
            Io::Tty(_) => Kind::Tty { at_line_start: true, left: None },
            Io::Pipes(_) => Kind::Pipe,
        };
        Self { carrier, kind }
    }
}

impl Sink for CarriedSink {
    fn poll_write(&mut self, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let written = ready!(self.carrier.poll_write(cx, bytes))?;
        if let (Kind::Tty { at_line_start, .. }, Some(last)) = (&mut self.kind, bytes[..written].last()) {
            *at_line_start = matches!(last, b'\n' | b'\r');
        }
        Poll::Ready(Ok(written))
    }

    fn poll_close(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), ControlError>> {
        let Kind::Tty { at_line_start, left } = &mut self.kind else { return self.carrier.poll_close(cx) };
        let left = left.get_or_insert(if *at_line_start { 1 } else { 2 });
        while *left > 0 {
            let written = ready!(self.carrier.poll_write(cx, &[END_OF_FILE]));
            let written = written.map_err(|error| ControlError::Os {
                action: "close the input",
                message: error.to_string(),
            })?;
            *left = left.saturating_sub(u8::try_from(written).unwrap_or(1));
        }
        Poll::Ready(Ok(()))
    }
}
