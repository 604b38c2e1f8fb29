//! Following a program: its output from a byte on, in order, and its end.
//!
//! The two come by themselves: output may go on for a while when the end is known, and may be closed long before it.
//! When the connection breaks, or the machine says that it cannot now, both go on where they were.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use ptyard_core::{Exit, TerminalId};
use tokio::sync::mpsc;
use tokio::time::{Instant, sleep};
use tonic::Status;

use super::api::{CALL_LIMIT, gone};
use super::exec::{Exec, exit_of};
use super::link::of_status;
use super::patience::{Next, Patience};
use super::place::{Joined, Place};
use crate::remote::http::CallError;
use crate::remote::lodging::Lodging;
use crate::shared::fate::{Fate, Herald};

/// Pieces of output that wait to be read; the machine keeps the rest.
const PIECES: usize = 16;

/// How long one wait for the end takes at most; then it is begun again, which shows that somebody is there.
const WAIT: Duration = Duration::from_secs(60);

/// The pause when a wait was answered although the program runs.
const PAUSE: Duration = Duration::from_secs(1);

/// What comes of following.
pub(super) struct Followed {
    /// Output, closed at its end.
    pub(super) output: mpsc::Receiver<Bytes>,
    pub(super) fate: Fate,
}

/// Follows a program in tasks of their own; `seen` bytes of its output were seen before.
pub(super) fn follow(place: &Place, id: TerminalId, seen: u64) -> Followed {
    let (pieces, output) = mpsc::channel(PIECES);
    let (herald, fate) = Fate::new();
    let follower = Follower { place: place.clone(), id, herald };
    tokio::spawn(follower.clone().read(pieces, seen));
    tokio::spawn(follower.wait());
    Followed { output, fate }
}

#[derive(Clone)]
struct Follower {
    place: Place,
    id: TerminalId,
    herald: Herald,
}

/// Why there is no more output.
enum Closed {
    /// The program closed it.
    ByProgram,
    /// Nobody reads it any more.
    ByReader,
}

impl Follower {
    async fn read(self, pieces: mpsc::Sender<Bytes>, seen: u64) {
        let reading = async {
            let joined = self.place.joined().await?;
            self.read_all(&joined, &pieces, seen).await
        };
        let read = tokio::select! {
            read = reading => read,
            () = pieces.closed() => return,
        };
        if let Err(error) = read {
            tracing::warn!(terminal = %self.id, %error, "a program in a sandbox is lost");
            self.herald.ended(Exit::lost());
        }
    }

    async fn read_all(
        &self,
        joined: &Arc<Joined>,
        pieces: &mpsc::Sender<Bytes>,
        mut offset: u64,
    ) -> Result<Closed, CallError> {
        let mut patience = Patience::new(joined.router.api().settings().patience);
        loop {
            let from = offset;
            match self.read_some(joined, pieces, &mut offset).await {
                Ok(closed) => return Ok(closed),
                Err(error) => {
                    if offset > from {
                        patience.went_well();
                    }
                    bear(&mut patience, joined, &error).await?;
                }
            }
        }
    }

    /// Reads one stream to its end.
    async fn read_some(
        &self,
        joined: &Joined,
        pieces: &mpsc::Sender<Bytes>,
        offset: &mut u64,
    ) -> Result<Closed, CallError> {
        let exec = Exec::of(&joined.router, self.id);
        let mut stream = joined.router.open(&exec.read_from(*offset), CALL_LIMIT).await?;
        while let Some(piece) = stream.message().await.map_err(|status| of_stream(&status))? {
            let data = Bytes::from(piece.data);
            if data.is_empty() {
                return Err(CallError::garbled("a piece of output that is empty"));
            }
            let length = data.len() as u64;
            if pieces.send(data).await.is_err() {
                return Ok(Closed::ByReader);
            }
            *offset += length;
        }
        Ok(Closed::ByProgram)
    }

    async fn wait(self) {
        let exit = tokio::select! {
            exit = self.end() => exit,
            () = self.herald.unheard() => return,
        };
        if !self.place.is_own() {
            // Who else lives is counted where that matters: a sandbox of its own goes with all in it.
            self.herald.left_behind(self.place.count(self.id).await.unwrap_or(1));
        }
        self.herald.ended(exit);
    }

    async fn end(&self) -> Exit {
        let waiting = async {
            let joined = self.place.joined().await?;
            self.end_at(&joined).await
        };
        waiting.await.unwrap_or_else(|error: CallError| {
            tracing::warn!(terminal = %self.id, %error, "the end of a program in a sandbox is not known");
            Exit::lost()
        })
    }

    async fn end_at(&self, joined: &Arc<Joined>) -> Result<Exit, CallError> {
        let wait = Exec::of(&joined.router, self.id).wait();
        let mut patience = Patience::new(joined.router.api().settings().patience);
        loop {
            match joined.router.ask_once(&wait, WAIT).await {
                Ok(answer) => match answer.exit_status {
                    Some(status) => return Ok(exit_of(status)),
                    None => {
                        patience.went_well();
                        sleep(PAUSE).await;
                    }
                },
                // It runs, and somebody is there who says so.
                Err(error) if error.is_over_time() => patience.went_well(),
                Err(error) => bear(&mut patience, joined, &error).await?,
            }
        }
    }
}

/// What became of a stream that was open. A token that is over by now is replaced when the next one is opened.
fn of_stream(status: &Status) -> CallError {
    match of_status(status) {
        error if error.is_unauthenticated() => CallError::Broken(error.to_string()),
        error => error,
    }
}

/// Waits after a failure, for as long as it is worth it.
pub(super) async fn bear(
    patience: &mut Patience,
    joined: &Joined,
    error: &CallError,
) -> Result<(), CallError> {
    let Next::Retry(pause) = patience.failed(error, Instant::now()) else { return Err(error.clone()) };
    if patience.is_in_doubt() && joined.is_gone().await {
        return Err(gone(&joined.sandbox.0));
    }
    tracing::debug!(%error, ?pause, "a program in a sandbox cannot be reached, which is tried again");
    sleep(pause).await;
    Ok(())
}
