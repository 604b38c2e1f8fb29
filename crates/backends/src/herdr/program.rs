//! The ends of a program that is shown in a pane: those of this machine's own, which tell herdr's side what they see.

use std::io;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use ptyard_core::turn::Evidence;
use ptyard_core::{Exit, Limit, Size};
use ptyard_terminal::backend::{
    BoxFuture, Control, ControlError, KillReport, Removal, Signal, Sink, Started, Target, TtyState,
};

use super::seat::Seat;
use super::session::Session;

/// How long a program has that is hung up on before it is killed.
const HANG_UP_GRACE: Duration = Duration::from_secs(5);

/// Gives a program its seat. Call it in a runtime.
pub(super) fn shown(started: Started, seat: Arc<Seat>, session: Arc<Session>) -> Started {
    session.take_seat(Arc::clone(&seat));
    let sink = started.sink.map(|sink| {
        let (seat, session) = (Arc::clone(&seat), Arc::clone(&session));
        Box::new(ShownSink { sink, seat, session }) as Box<dyn Sink>
    });
    let control = ShownControl { program: started.control, seat, session, end: End::Awaited };
    Started { sink, control: Box::new(control), ..started }
}

/// Input, of which herdr's side is told.
struct ShownSink {
    sink: Box<dyn Sink>,
    seat: Arc<Seat>,
    session: Arc<Session>,
}

impl Sink for ShownSink {
    fn poll_write(&mut self, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let written = self.sink.poll_write(cx, bytes);
        if let Poll::Ready(Ok(taken)) = written
            && bytes[..taken].iter().any(|byte| matches!(byte, b'\r' | b'\n'))
        {
            self.seat.wrote();
            self.session.writes.notify_one();
        }
        written
    }

    fn poll_close(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), ControlError>> {
        self.sink.poll_close(cx)
    }
}

/// Everything else.
struct ShownControl {
    program: Box<dyn Control>,
    seat: Arc<Seat>,
    session: Arc<Session>,
    end: End,
}

/// How far the end of the program is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum End {
    Awaited,
    /// Its pane was closed, and it was told.
    HungUp,
    Seen,
}

impl Control for ShownControl {
    fn poll_exit(&mut self, cx: &mut Context<'_>) -> Poll<Exit> {
        if self.end == End::Awaited && self.seat.poll_closed(cx).is_ready() {
            self.end = End::HungUp;
            // It runs to its end by itself.
            drop(self.program.kill(HANG_UP_GRACE));
        }
        let exit = self.program.poll_exit(cx);
        if exit.is_ready() {
            self.end = End::Seen;
        }
        exit
    }

    fn resize(&mut self, size: Size) -> Result<(), ControlError> {
        self.program.resize(size)
    }

    fn signal(&mut self, signal: Signal, target: Target) -> Result<(), ControlError> {
        self.program.signal(signal, target)
    }

    fn kill(&mut self, grace: Duration) -> BoxFuture<'static, KillReport> {
        self.program.kill(grace)
    }

    fn descendants(&mut self) -> u32 {
        self.program.descendants()
    }

    fn poll_ceiling(&mut self, cx: &mut Context<'_>) -> Poll<Limit> {
        self.program.poll_ceiling(cx)
    }

    fn poll_size(&mut self, cx: &mut Context<'_>) -> Poll<Size> {
        self.program.poll_size(cx)
    }

    fn poll_evidence(&mut self, cx: &mut Context<'_>) -> Poll<Evidence> {
        self.seat.poll_said(cx)
    }

    fn removal(&self) -> Removal {
        self.program.removal()
    }

    fn tty_state(&mut self) -> Option<TtyState> {
        self.program.tty_state()
    }

    fn foreground_command(&mut self) -> Option<String> {
        self.program.foreground_command()
    }
}

impl Drop for ShownControl {
    fn drop(&mut self) {
        self.session.leave_seat(self.seat.id);
    }
}
