//! Following a program: its output in order, its end, and the end of the stream that tells both.
//!
//! The daemon tells an end only when the output is closed, so a child that holds the output holds the end back, for
//! good if it is a server. So a look-out beside the program, in the sandbox, tells when it has ended while its output
//! is still open.

use std::collections::BTreeMap;

use bytes::Bytes;
use ptyard_core::{Exit, TerminalId};
use tokio::sync::mpsc;

use super::connect::Stream;
use super::place::Place;
use super::program::{Told, run, told};
use crate::remote::http::CallError;
use crate::remote::lodging::Lodging;
use crate::shared::fate::{Fate, Herald};

/// Pieces of output that wait to be read; the daemon waits beyond that, and then the program.
const PIECES: usize = 16;

/// Waits, in the sandbox, until the process in `$1` has ended and nobody has heard of it for a while, and prints its
/// status as wait(2) gives it. A process that is gone altogether was heard of.
const LOOK_OUT: &str = r#"
seen=0
while [ "$seen" -lt 2 ]; do
  { IFS= read -r line <"/proc/$1/stat"; } 2>/dev/null || exit 0
  status=${line##* }
  set -- "$1" ${line##*)}
  if [ "$2" = Z ]; then seen=$((seen + 1)); fi
  set -- "$1"
  sleep 1
done
echo "$status"
"#;

/// What comes of following.
pub(super) struct Followed {
    /// Output, closed at its end.
    pub(super) output: mpsc::Receiver<Bytes>,
    /// Of what outlived the program, one is told where all that is known is that somebody did.
    pub(super) fate: Fate,
}

/// Follows a program in tasks of their own, until its stream ends.
pub(super) fn follow(stream: Stream, place: &Place, id: TerminalId, pid: u32) -> Followed {
    let (pieces, output) = mpsc::channel(PIECES);
    let (herald, fate) = Fate::new();
    let end = Teller { herald, place: place.clone(), id };
    tokio::spawn(look_out(end.clone(), pid));
    tokio::spawn(read(stream, pieces, end));
    Followed { output, fate }
}

/// Whether a program's output was still open when its end was told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum OutputIs {
    Open,
    Closed,
}

/// Who tells the end.
#[derive(Clone)]
struct Teller {
    herald: Herald,
    place: Place,
    id: TerminalId,
}

impl Teller {
    /// Somebody told the end. Who else lives is counted where that matters: a sandbox of its own goes with all in it.
    async fn ended(&self, exit: Exit, output: OutputIs) {
        match output {
            // Somebody holds it.
            OutputIs::Open => self.herald.left_behind(1),
            OutputIs::Closed if !self.place.is_own() => {
                self.herald.left_behind(self.place.count(self.id).await.unwrap_or(1));
            }
            OutputIs::Closed => {}
        }
        self.herald.clone().ended(exit);
    }
}

async fn read(mut stream: Stream, pieces: mpsc::Sender<Bytes>, end: Teller) {
    let mut has_ended = false;
    let why = loop {
        let told = match stream.next().await {
            Ok(None) => break None,
            Ok(Some(message)) => told(&message),
            Err(error) => Err(error),
        };
        match told {
            Ok(Told::Output(bytes)) => {
                // Nobody reads any more: the terminal is gone.
                if pieces.send(bytes.into()).await.is_err() {
                    return;
                }
            }
            Ok(Told::Ended(exit)) => {
                has_ended = true;
                end.ended(exit, OutputIs::Closed).await;
            }
            Ok(Told::Started(_) | Told::StillHere) => {}
            Err(error) => break Some(error),
        }
    };
    if !has_ended {
        let why =
            why.unwrap_or_else(|| CallError::Broken("the stream ended without the program's end".to_owned()));
        tracing::warn!(terminal = %end.id, %why, "a program in a sandbox is lost");
        end.herald.ended(Exit::lost());
    }
}

async fn look_out(end: Teller, pid: u32) {
    let daemon = end.place.daemon.clone();
    let (pid, nothing) = (pid.to_string(), BTreeMap::new());
    let arguments = [pid.as_str()];
    let looking = run(&daemon, LOOK_OUT, &arguments, &nothing);
    let seen = tokio::select! {
        seen = looking => seen,
        () = end.herald.unheard() => return,
    };
    match seen {
        Ok(ran) => {
            if let Some(exit) = ran.output.trim().parse().ok().map(of_status) {
                end.ended(exit, OutputIs::Open).await;
            }
        }
        // The stream with the output tells by itself when it breaks.
        Err(error) => {
            tracing::debug!(terminal = %end.id, %error, "nobody looks out for the end of a program");
        }
    }
}

/// An end as the kernel writes it.
fn of_status(status: i32) -> Exit {
    match status & 0x7f {
        0 => Exit::exited((status >> 8) & 0xff),
        signal => Exit::signaled(signal),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kernels_word_is_understood() {
        assert_eq!(of_status(0x0500), Exit::exited(5));
        assert_eq!(of_status(0), Exit::exited(0));
        assert_eq!(of_status(9), Exit::signaled(9));
        assert_eq!(of_status(0x80 | 11), Exit::signaled(11));
    }
}
