//! Following a program: its output in order, its end, and the end of the stream that tells both.
//!
//! The daemon tells an end only when the output is closed, so a child that holds the output holds the end back, for
//! good if it is a server. So a look-out beside the program, in the sandbox, tells when it has ended while its output
//! is still open.
//!
//! A stream that broke is joined again. The daemon keeps no output: what was printed meanwhile is gone, and a line in the
//! log says so. An end is kept for half a minute; later nobody knows how the program ended, and it is lost.

use std::collections::BTreeMap;
use std::time::Duration;

use bytes::Bytes;
use ptyard_core::{Exit, TerminalId};
use ptyard_terminal::backend::Io;
use tokio::sync::mpsc;
use tokio::time::{Instant, sleep};

use super::connect::Stream;
use super::place::Place;
use super::program::{Told, run, told};
use crate::remote::http::CallError;
use crate::remote::lodging::Lodging;
use crate::remote::output::own_line;
use crate::remote::sought::{NOBODY_LISTENED, Seeker};
use crate::shared::fate::{Fate, Herald};

/// Pieces of output that wait to be read; the daemon waits beyond that, and then the program.
const PIECES: usize = 16;

/// How long it is tried to join a program again whose stream broke.
const JOIN_LIMIT: Duration = Duration::from_secs(60);

/// Pauses between two tries.
const PAUSES: [Duration; 4] =
    [Duration::from_millis(100), Duration::from_millis(500), Duration::from_secs(2), Duration::from_secs(5)];

/// The line in the log where output may be missing.
const GAP: &str =
    "[ptyard: the connection broke and was made again; what was printed in between is not here]";

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

/// Follows a program that was started, in tasks of their own, until its stream ends.
pub(super) fn follow(stream: Stream, place: Place, id: TerminalId, io: Io, pid: u32) -> Followed {
    let (pieces, output) = mpsc::channel(PIECES);
    let (herald, fate) = Fate::new();
    let follower = Follower { pieces, end: Teller { herald, place, id }, io, has_ended: false };
    tokio::spawn(look_out(follower.end.clone(), pid));
    tokio::spawn(follower.run(stream));
    Followed { output, fate }
}

/// The same of a program that an earlier server started, once its place is found. Nothing is typed before somebody listens.
pub(super) fn follow_again<Look: Future<Output = Result<Place, CallError>> + Send + 'static>(
    seeker: Seeker<Place>,
    look: impl Fn() -> Look + Send + Sync + 'static,
    id: TerminalId,
    io: Io,
) -> Followed {
    let (pieces, output) = mpsc::channel(PIECES);
    let (herald, fate) = Fate::new();
    tokio::spawn(async move {
        let place = match seeker.seek(id, look).await {
            Ok(place) => place,
            // Then the program is lost.
            Err(error) => return seeker.tell(Err(error)),
        };
        let end = Teller { herald, place: place.clone(), id };
        let mut follower = Follower { pieces, end, io, has_ended: false };
        let why = CallError::Broken("its server died".to_owned());
        let joined = follower.join(why, NOBODY_LISTENED).await;
        seeker.tell(Ok(place));
        if let Some(stream) = joined {
            follower.run(stream).await;
        }
    });
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

/// Who follows.
struct Follower {
    pieces: mpsc::Sender<Bytes>,
    end: Teller,
    io: Io,
    has_ended: bool,
}

/// Why a stream is not listened to any more.
enum Over {
    /// It said its end, or nobody wants it.
    Done,
    /// It broke.
    Broken(CallError),
}

impl Follower {
    async fn run(mut self, mut stream: Stream) {
        loop {
            let why = match self.read(&mut stream).await {
                Over::Done => return,
                // What was printed behind the end and not told is not known of.
                Over::Broken(_) if self.has_ended => return,
                Over::Broken(why) => why,
            };
            stream = match self.join(why, GAP).await {
                Some(stream) => stream,
                None => return,
            };
        }
    }

    async fn read(&mut self, stream: &mut Stream) -> Over {
        loop {
            let told = match stream.next().await {
                Ok(None) if self.has_ended => return Over::Done,
                Ok(None) => Err(CallError::Broken("the stream ended without the program's end".to_owned())),
                Ok(Some(message)) => told(&message),
                Err(error) => Err(error),
            };
            match told {
                Ok(Told::Output(bytes)) => {
                    // Nobody reads any more: the terminal is gone.
                    if self.pieces.send(bytes.into()).await.is_err() {
                        return Over::Done;
                    }
                }
                Ok(Told::Ended(exit)) => self.ended(exit).await,
                Ok(Told::Started(_) | Told::StillHere) => {}
                Err(error) => return Over::Broken(error),
            }
        }
    }

    async fn ended(&mut self, exit: Exit) {
        self.has_ended = true;
        self.end.ended(exit, OutputIs::Closed).await;
    }

    /// Joins the program again, for a while; `why` is why that has to be, and `line` tells readers of it. Without a stream
    /// it was told that the program is lost.
    async fn join(&mut self, mut why: CallError, line: &str) -> Option<Stream> {
        let Teller { place, id, herald } = self.end.clone();
        tracing::info!(terminal = %id, %why, "nobody listens to a program in a sandbox");
        let until = Instant::now() + JOIN_LIMIT;
        let mut pauses = PAUSES.into_iter();
        let mut pause = PAUSES[0];
        loop {
            let joined = async {
                let mut stream = place.daemon.join(id).await?;
                // Whether it is there is said in the stream.
                let first = stream.next().await?;
                Ok((stream, first.as_ref().map(told).transpose()?))
            };
            match joined.await {
                Ok((stream, first)) => {
                    self.pieces.send(own_line(self.io, line).into()).await.ok()?;
                    match first {
                        Some(Told::Started(pid)) => {
                            // The one before was cut off with the stream before.
                            tokio::spawn(look_out(self.end.clone(), pid));
                        }
                        Some(Told::Ended(exit)) => self.ended(exit).await,
                        Some(Told::Output(bytes)) => self.pieces.send(bytes.into()).await.ok()?,
                        Some(Told::StillHere) | None => {}
                    }
                    return Some(stream);
                }
                Err(error) => why = error,
            }
            // A gateway says of a sandbox that is gone what it says of one that cannot be reached.
            if !why.may_pass() || Instant::now() >= until || place.api.is_gone(&place.sandbox.id).await {
                break;
            }
            pause = pauses.next().unwrap_or(pause);
            tokio::select! {
                () = sleep(pause) => {}
                () = self.pieces.closed() => return None,
            }
        }
        tracing::warn!(terminal = %id, %why, "a program in a sandbox is lost");
        herald.ended(Exit::lost());
        None
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
