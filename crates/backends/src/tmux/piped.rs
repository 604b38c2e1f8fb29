//! The faster way of a pane's output.
//!
//! To a client in control mode the server (3.3a) writes what a pane prints in a form of its own, byte by byte, which costs
//! it as much again as all else that it does with them. Through `pipe-pane` it gives them as they are. But a pipe does not
//! say which of them came before something was typed, as the client's one stream does: so it is for programs of which
//! nobody needs to know ([`Placing::Loose`](ptyard_terminal::backend::Placing)).
//!
//! The client is told of the pane still: that it is there, and its size. Only its output is held back from it, which for
//! tmux is a client that is paused.

use std::time::Duration;

use rustix::fd::AsRawFd;
use tokio::io::AsyncReadExt;
use tokio::net::unix::pipe;
use tokio::sync::mpsc;

use super::link::{Link, TmuxError};
use super::protocol::Pane;

/// How long the end of the pipe that is the server's may take to open: a shell is started for it.
const OPEN_LIMIT: Duration = Duration::from_secs(2);

/// What it says then.
const OPEN: u8 = b'.';

/// Bytes of a piece.
const PIECE_BYTES: usize = 16 << 10;

/// What the log says where the pipe was closed before the pane.
const WORDS: &str =
    "the pipe of this pane is somebody else's now, or was closed; what was printed meanwhile is missing";

/// Why a pane has no pipe: its output comes the usual way.
#[derive(Debug, thiserror::Error)]
pub(super) enum Unpiped {
    #[error(transparent)]
    Tmux(#[from] TmuxError),
    #[error("it does not open: {0}")]
    Unopened(std::io::Error),
}

/// Lets the output of a pane that prints nothing at the moment come through a pipe from now on.
pub(super) async fn pipe(link: &Link, pane: Pane) -> Result<(), Unpiped> {
    let (ours, mut output) = pipe::pipe().map_err(Unpiped::Unopened)?;
    // The file of the pipe has no name but this one, so there is nothing to clear away.
    let at = format!("/proc/{}/fd/{}", std::process::id(), output.as_raw_fd());
    link.ask(format!("pipe-pane -O -t {pane} 'exec >{at} && printf . && exec cat'")).await?;
    // Held until then, or the pipe would seem closed.
    let opened = tokio::time::timeout(OPEN_LIMIT, output.read_u8()).await;
    drop(ours);
    match opened.unwrap_or_else(|_| Err(std::io::ErrorKind::TimedOut.into())) {
        Ok(OPEN) => {}
        unopened => {
            // Without a command it closes the pipe there is.
            link.ask(format!("pipe-pane -t {pane}")).await?;
            let error = unopened.err().unwrap_or_else(|| std::io::ErrorKind::InvalidData.into());
            return Err(Unpiped::Unopened(error));
        }
    }
    let Some(pieces) = link.told_by_pipe(pane) else { return Ok(()) };
    tokio::spawn(carry(output, pieces, link.clone(), pane));
    link.ask(format!("refresh-client -A '{pane}:pause'")).await?;
    Ok(())
}

/// Hands the bytes on as the client's would be, until the pane or the client is gone.
async fn carry(mut output: pipe::Receiver, pieces: mpsc::Sender<Vec<u8>>, link: Link, pane: Pane) {
    let mut buffer = vec![0; PIECE_BYTES];
    loop {
        let read = tokio::select! {
            biased;
            read = output.read(&mut buffer) => read,
            // The next client draws what this pipe brings no more.
            _ = link.gone() => return,
            () = pieces.closed() => return,
        };
        match read {
            Ok(0) | Err(_) => break,
            // Fails when nobody follows any more.
            Ok(bytes) if pieces.send(buffer[..bytes].to_vec()).await.is_err() => return,
            Ok(_) => {}
        }
    }
    // Of a pane that is gone the server gives an empty answer.
    let found = link.ask(format!("display-message -p -t {pane} '#{{pane_id}}'")).await;
    if found.is_ok_and(|found| Pane::parse(found.trim_end().as_bytes()) == Some(pane)) {
        tracing::warn!(%pane, "the pipe of a pane was closed before the pane");
        let _left = pieces.send(format!("\r\n[ptyard: {WORDS}]\r\n").into_bytes()).await;
        drop(pieces);
        let _gone = link.ask(format!("refresh-client -A '{pane}:continue'")).await;
    }
}
