//! Following a program: its output in order, and its end; and going on when the connection broke.

use std::time::Duration;

use bytes::Bytes;
use ptyard_core::{Exit, Size, TerminalId};
use ptyard_terminal::backend::{Io, Stdin};
use serde_json::Value;
use tokio::sync::mpsc;
use tokio::time::{Instant, sleep, timeout};

use super::place::Place;
use crate::remote::http::{CallError, refused};
use crate::remote::line::Keeper;
use crate::remote::lodging::Lodging;
use crate::remote::output::own_line;
use crate::remote::replay::Heard;
use crate::remote::socket::{Ear, Heard as Message, Mouth, Word};
use crate::shared::fate::Herald;
use crate::shared::greeting::{Ending, piped};

/// What a terminal plays again to who connects, in bytes.
pub(super) const REPLAY_BYTES: usize = 256 << 10;

/// Pieces of output that wait to be read; nothing is read from the socket beyond that.
pub(super) const PIECES: usize = 16;

/// How long a terminal may take to be ready.
const READY_LIMIT: Duration = Duration::from_secs(30);

/// How long a connection that broke is tried to be had again.
const MEND_LIMIT: Duration = Duration::from_secs(60);

/// The pause behind the first try; each further one is twice as long.
const FIRST_PAUSE: Duration = Duration::from_millis(100);
const LONGEST_PAUSE: Duration = Duration::from_secs(5);

/// The line in the log behind which it is not known how much is missing or stands there twice.
const GAP: &str = "[ptyard: nobody listened for a while; of what was printed in between some may be missing, or stand here twice]";

/// A terminal's word about itself.
enum Status {
    Ready,
    /// Its shell has ended.
    Exit,
    Error(CallError),
    Other,
}

fn status(text: &str) -> Status {
    let status: Value = serde_json::from_str(text).unwrap_or_default();
    match status["type"].as_str() {
        Some("ready") => Status::Ready,
        Some("exit") => Status::Exit,
        Some("error") => Status::Error(refused(0, text.as_bytes(), None)),
        _ => Status::Other,
    }
}

/// Waits until a terminal is ready; what it played before.
pub(super) async fn ready(ear: &mut Ear) -> Result<Vec<u8>, CallError> {
    let waiting = async {
        let mut replay = Vec::new();
        loop {
            match ear.next().await? {
                Message::Bytes(bytes) if replay.len() + bytes.len() <= 2 * REPLAY_BYTES => {
                    replay.extend(bytes);
                }
                Message::Bytes(_) => return Err(CallError::garbled("a replay without an end")),
                Message::Text(text) => match status(&text) {
                    Status::Ready => return Ok(replay),
                    Status::Exit => return Err(refused(0, b"the terminal's shell has ended", None)),
                    Status::Error(error) => return Err(error),
                    Status::Other => {}
                },
                Message::Closed { code, reason } => {
                    return Err(CallError::Broken(format!("closed before it was ready ({code}) {reason}")));
                }
            }
        }
    };
    timeout(READY_LIMIT, waiting)
        .await
        .unwrap_or_else(|_| Err(CallError::too_late("the terminal was not ready", READY_LIMIT)))
}

/// Who follows.
pub(super) struct Follower {
    pub(super) place: Place,
    pub(super) id: TerminalId,
    pub(super) io: Io,
    /// What came over all connections.
    pub(super) heard: Heard,
    pub(super) ending: Ending,
    /// `None` when nothing more can come.
    pub(super) pieces: Option<mpsc::Sender<Bytes>>,
    pub(super) line: Keeper,
    pub(super) herald: Herald,
    pub(super) has_ended: bool,
}

/// Why nobody follows any more.
enum Over {
    /// The terminal is gone, or has nothing more to say.
    Unread,
    Lost(CallError),
}

impl From<CallError> for Over {
    fn from(error: CallError) -> Self {
        Self::Lost(error)
    }
}

impl Follower {
    /// Follows until the terminal is gone or nobody can tell any more what becomes of the program. `first` came behind the
    /// greeting.
    pub(super) async fn follow(mut self, ear: Ear, first: Vec<u8>) {
        let herald = self.herald.clone();
        let over = tokio::select! {
            over = self.read(ear, first) => over,
            () = herald.unheard() => return,
        };
        self.over(over).await;
    }

    /// The same of a program that an earlier server started. What was heard of it is what its log has.
    pub(super) async fn follow_again(mut self) {
        let herald = self.herald.clone();
        let joining = async {
            let died = CallError::Broken("its server died".to_owned());
            let (mouth, ear, replay) = self.connect_again(died).await?;
            let new = match self.heard.new_in(&replay) {
                Some(new) => new,
                // More was printed than is played, or it repeats itself.
                None => {
                    self.print(own_line(self.io, GAP)).await?;
                    0
                }
            };
            self.line.mended(mouth);
            let bytes = Bytes::from(replay).slice(new..);
            self.heard.take(&bytes);
            Ok((ear, bytes))
        };
        let joined = tokio::select! {
            joined = joining => joined,
            () = herald.unheard() => return,
        };
        match joined {
            Ok((ear, bytes)) => self.follow(ear, bytes.into()).await,
            Err(over) => self.over(over).await,
        }
    }

    /// Tells what is to be told when nobody follows any more.
    async fn over(&mut self, over: Over) {
        let Over::Lost(why) = over else { return };
        let rest = self.ending.rest();
        let _unread = self.print(rest).await;
        if !self.has_ended {
            tracing::warn!(terminal = %self.id, %why, "a program in a sandbox is lost");
            self.herald.clone().ended(Exit::lost());
        }
    }

    async fn read(&mut self, mut ear: Ear, first: Vec<u8>) -> Over {
        let mut bytes = Bytes::from(first);
        loop {
            if let Err(over) = self.pass(&bytes).await {
                return over;
            }
            bytes = match self.next(&mut ear).await {
                Ok(bytes) => bytes,
                Err(over) => return over,
            };
        }
    }

    /// What comes next, over this connection or another one.
    async fn next(&mut self, ear: &mut Ear) -> Result<Bytes, Over> {
        loop {
            let why = match ear.next().await {
                Ok(Message::Bytes(bytes)) => {
                    self.heard.take(&bytes);
                    return Ok(bytes);
                }
                Ok(Message::Text(text)) => match status(&text) {
                    // It would have told the program's end before its own.
                    Status::Exit => {
                        return Err(CallError::Broken("the terminal's shell has ended".to_owned()).into());
                    }
                    Status::Error(error) => {
                        tracing::warn!(terminal = %self.id, %error, "a terminal in a sandbox complains");
                        continue;
                    }
                    Status::Ready | Status::Other => continue,
                },
                Ok(Message::Closed { code, reason }) => {
                    CallError::Broken(format!("closed ({code}) {reason}"))
                }
                Err(error) => error,
            };
            tracing::debug!(terminal = %self.id, %why, "a connection to a sandbox broke");
            self.line.broke(ear);
            let (mouth, again, replay) = self.connect_again(why).await?;
            let Some(new) = self.heard.new_in(&replay) else {
                let why =
                    "what was printed while the connection was broken cannot be told from what was before";
                return Err(CallError::garbled(why).into());
            };
            *ear = again;
            self.line.mended(mouth);
            let bytes = Bytes::from(replay).slice(new..);
            self.heard.take(&bytes);
            return Ok(bytes);
        }
    }

    /// Connects again, as often as it takes for a while; `why` is why that has to be.
    async fn connect_again(&self, why: CallError) -> Result<(Mouth, Ear, Vec<u8>), CallError> {
        let (until, mut pause, mut why) = (Instant::now() + MEND_LIMIT, FIRST_PAUSE, why);
        while Instant::now() < until {
            // It has a size already, and keeps it.
            why = match self.place.connect(Size::DEFAULT).await {
                Err(error) if error.may_pass() => error,
                connected => return connected,
            };
            sleep(pause).await;
            pause = (pause * 2).min(LONGEST_PAUSE);
        }
        Err(why)
    }

    /// Passes on what came.
    async fn pass(&mut self, bytes: &[u8]) -> Result<(), Over> {
        let mut output = Vec::with_capacity(bytes.len());
        let code = self.ending.hear(bytes, &mut output);
        self.print(output).await?;
        if let (Some(code), false) = (code, self.has_ended) {
            self.has_ended = true;
            if self.io == Io::Pipes(Stdin::Pipe) {
                // Whoever read the input for the program reads no more, and says so when the output is drained.
                let line = self.line.line();
                tokio::spawn(async move { line.insist(Word::Bytes(Bytes::from_static(piped::CLOSE))).await });
            }
            let left = self.place.count(self.id).await.unwrap_or(1);
            self.herald.left_behind(left);
            self.herald.clone().ended(Exit::exited(code));
            if left == 0 && matches!(self.io, Io::Tty(_)) {
                self.pieces = None;
            }
        }
        if self.ending.is_drained() {
            self.pieces = None;
        }
        if self.has_ended && self.pieces.is_none() { Err(Over::Unread) } else { Ok(()) }
    }

    async fn print(&mut self, output: Vec<u8>) -> Result<(), Over> {
        match &self.pieces {
            Some(pieces) if !output.is_empty() => {
                // When nobody reads any more, the terminal is gone.
                pieces.send(output.into()).await.map_err(|_| Over::Unread)
            }
            _ => Ok(()),
        }
    }
}
