//! The streams of this process: what is typed and what is printed, each by a thread, as both block.

use std::io;

use ptyard_core::Size;
use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;
use rustix::termios::tcgetwinsize;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::{mpsc, watch};

use super::super::carry::write_all;
use super::super::frames;
use super::ROOM;

/// Pieces of output that wait to be written.
const PIECES: usize = 4;

/// The streams of this process.
pub(super) struct Streams {
    /// What was typed; closed where the input ends.
    pub(super) input: mpsc::Receiver<Vec<u8>>,
    pub(super) resized: Signal,
    pub(super) pieces: mpsc::Sender<Vec<u8>>,
    /// How much was handed on to be printed, in bytes, and how much of that is.
    pub(super) handed: u64,
    pub(super) printed: watch::Receiver<u64>,
}

impl Streams {
    pub(super) fn new() -> io::Result<Self> {
        let resized = signal(SignalKind::window_change())?;
        let (typed, input) = mpsc::channel(PIECES);
        let (pieces, to_print) = mpsc::channel(PIECES);
        let (print, printed) = watch::channel(0);
        // Both block, and nothing else may wait for that.
        std::thread::spawn(move || type_in(&typed));
        std::thread::spawn(move || print_out(to_print, &print));
        Ok(Self { input, resized, pieces, handed: 0, printed })
    }

    pub(super) async fn print(&mut self, bytes: Vec<u8>) {
        self.handed += bytes.len() as u64;
        // When nobody takes it any more, `printed` says so.
        let _unheard = self.pieces.send(bytes).await;
    }

    /// Waits until all is printed; whether it is.
    pub(super) async fn all_printed(&mut self) -> bool {
        let handed = self.handed;
        self.printed.wait_for(|printed| *printed >= handed).await.is_ok()
    }
}

/// Reads what is typed, until it ends.
fn type_in(typed: &mpsc::Sender<Vec<u8>>) {
    let mut room = vec![0; ROOM];
    let input = io::stdin();
    loop {
        let read = match rustix::io::read(&input, &mut room) {
            Ok(read @ 1..) => read,
            Err(Errno::INTR) => continue,
            Err(Errno::AGAIN) if poll(&mut [PollFd::new(&input, PollFlags::IN)], None).is_ok() => continue,
            _ => return,
        };
        if typed.blocking_send(room[..read].to_vec()).is_err() {
            return;
        }
    }
}

/// Prints what is handed on, until nobody takes it.
fn print_out(mut pieces: mpsc::Receiver<Vec<u8>>, print: &watch::Sender<u64>) {
    let mut stdout = io::stdout().lock();
    while let Some(piece) = pieces.blocking_recv() {
        if write_all(&mut stdout, &piece).is_err() {
            return;
        }
        print.send_modify(|printed| *printed += piece.len() as u64);
    }
}

/// Waits until a piece can be handed on, or nobody takes it.
pub(super) async fn room(pieces: &mpsc::Sender<Vec<u8>>) {
    let _unheard = pieces.reserve().await;
}

/// Says how large our tty is, where there is one.
pub(super) fn resize(out: &mut Vec<u8>) {
    let size = tcgetwinsize(io::stdin()).ok();
    let size = size.and_then(|size| Size::new(size.ws_col.into(), size.ws_row.into()).ok());
    if let Some(size) = size {
        frames::size(out, size);
    }
}
