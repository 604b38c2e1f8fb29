//! Following a terminal: its output in order, the end of its program, and joining it again when the connection breaks.
//!
//! The shell around the program stays when the program has ended, and says the end again for a line that is typed. So an
//! end is known also to whoever was not connected when it was said first. The vendor keeps no output: what was printed
//! while nobody was connected is gone, and a line in the log says so.

use std::collections::BTreeMap;
use std::pin::Pin;
use std::time::Duration;

use bytes::Bytes;
use ptyard_core::{Exit, TerminalId};
use ptyard_terminal::backend::Io;
use tokio::sync::mpsc;
use tokio::time::{Instant, sleep, sleep_until};

use super::place::Place;
use super::toolbox::{Told, is_gone, told};
use crate::remote::http::CallError;
use crate::remote::line::{Keeper, Line};
use crate::remote::lodging::{Lodger, Lodging};
use crate::remote::output::own_line;
use crate::remote::socket::{Ear, Mouth, Word};
use crate::remote::sought::{NOBODY_LISTENED, Seeker};
use crate::shared::fate::{Fate, Herald};
use crate::shared::greeting::{Ending, piped};

/// Pieces of output that wait to be read, of at most 32 KiB each. The daemon lets go of whoever is 256 behind, so this
/// is as much again.
const PIECES: usize = 256;

/// How long after the end of a program on pipes it is waited for the pipes to be drained, before somebody is taken to
/// hold them.
const DRAIN_LIMIT: Duration = Duration::from_millis(300);

/// How long it is tried to join a terminal again.
const JOIN_LIMIT: Duration = Duration::from_secs(60);

/// Pauses between two tries.
const PAUSES: [Duration; 4] =
    [Duration::from_millis(100), Duration::from_millis(500), Duration::from_secs(2), Duration::from_secs(5)];

/// How long the shell may take to say again how the program ended.
const SAY_AGAIN_LIMIT: Duration = Duration::from_secs(10);

/// How long a look whether the program lives may take.
const LOOK_LIMIT: Duration = Duration::from_secs(30);

/// The line in the log where output may be missing.
const GAP: &str =
    "[ptyard: the connection broke and was made again; what was printed in between is not here]";

/// Says whether process `$1` is there.
const IS_THERE: &str = r#"if [ -d "/proc/$1" ]; then echo there; else echo gone; fi"#;

/// A terminal with a program.
pub(super) struct Terminal {
    pub(super) place: Place,
    pub(super) lodger: Lodger,
    pub(super) io: Io,
    pub(super) ending: Ending,
}

/// What comes of following.
pub(super) struct Followed {
    /// Output, closed at its end.
    pub(super) output: mpsc::Receiver<Bytes>,
    pub(super) fate: Fate,
    /// What is typed over.
    pub(super) line: Line,
}

/// The same of a terminal that an earlier server made, once it is found.
pub(super) fn follow_again<Look: Future<Output = Result<Terminal, CallError>> + Send + 'static>(
    seeker: Seeker<Place>,
    look: impl Fn() -> Look + Send + Sync + 'static,
    id: TerminalId,
) -> Followed {
    let (pieces, output) = mpsc::channel(PIECES);
    let (herald, fate) = Fate::new();
    let (keeper, line) = Keeper::awaited();
    tokio::spawn(async move {
        // When it is not found, the program is lost.
        let Some(terminal) = look_for(seeker, look, id).await else { return };
        let mut following = Following { terminal, pieces, line: keeper, herald: Some(herald), code: None };
        if let Some((ear, looking)) = following.join_again("its server died", NOBODY_LISTENED).await {
            following.run(ear, Vec::new(), looking).await;
        }
    });
    Followed { output, fate, line }
}

async fn look_for<Look: Future<Output = Result<Terminal, CallError>>>(
    seeker: Seeker<Place>,
    look: impl Fn() -> Look,
    id: TerminalId,
) -> Option<Terminal> {
    let found = seeker.seek(id, look).await;
    seeker.tell(found.as_ref().map(|terminal| terminal.place.clone()).map_err(Clone::clone));
    found.ok()
}

/// Follows a terminal in a task of its own, until nothing more can come. `first` was printed already.
pub(super) fn follow(terminal: Terminal, mouth: Mouth, ear: Ear, first: Vec<u8>) -> Followed {
    let (pieces, output) = mpsc::channel(PIECES);
    let (herald, fate) = Fate::new();
    let (keeper, line) = Keeper::new(mouth);
    let following = Following { terminal, pieces, line: keeper, herald: Some(herald), code: None };
    tokio::spawn(following.run(ear, first, None));
    Followed { output, fate, line }
}

struct Following {
    terminal: Terminal,
    pieces: mpsc::Sender<Bytes>,
    line: Keeper,
    /// Until the end was told.
    herald: Option<Herald>,
    /// What the shell said, once.
    code: Option<i32>,
}

/// Why a connection is not listened to any more.
enum Over {
    /// Nothing more can come, or nobody wants it.
    Done,
    /// The shell around the program is gone.
    Ended(String),
    /// The connection broke.
    Broken(String),
}

type Awaited<T> = Option<Pin<Box<dyn Future<Output = T> + Send>>>;

/// Waits for what there is to wait for.
async fn awaited<T>(future: &mut Awaited<T>) -> T {
    let done = match future {
        Some(future) => future.await,
        None => std::future::pending().await,
    };
    *future = None;
    done
}

impl Following {
    async fn run(mut self, mut ear: Ear, first: Vec<u8>, mut looking: Awaited<Option<Instant>>) {
        let mut first = Bytes::from(first);
        loop {
            let why = match self.hear(&mut ear, std::mem::take(&mut first), looking.take()).await {
                Over::Done => return,
                Over::Ended(why) => return self.lost(&why),
                Over::Broken(why) => why,
            };
            // Whoever types waits for the next one.
            self.line.broke(&ear);
            if self.herald.is_none() {
                return;
            }
            match self.join_again(&why, GAP).await {
                Some(joined) => (ear, looking) = joined,
                None => return,
            }
        }
    }

    /// Joins the terminal again, for a while; `why` is why that has to be, and `line` tells readers of it. When it came to
    /// nothing, that was told.
    async fn join_again(&mut self, why: &str, line: &str) -> Option<(Ear, Awaited<Option<Instant>>)> {
        let id = self.terminal.lodger.id;
        tracing::info!(terminal = %id, why, "nobody listens to a program in a sandbox");
        let (mouth, ear) = match self.join().await {
            Ok(joined) => joined,
            Err(error) => {
                self.lost(&format!("{why}, and it cannot be joined again: {error}"));
                return None;
            }
        };
        // What was begun when it broke is not gone on with.
        let mut before = self.terminal.ending.rest();
        before.extend(own_line(self.terminal.io, line));
        self.pieces.send(before.into()).await.ok()?;
        let looking = self.look(mouth.clone());
        self.line.mended(mouth);
        Some((ear, Some(looking)))
    }

    fn lost(&mut self, why: &str) {
        let id = self.terminal.lodger.id;
        if let Some(herald) = self.herald.take() {
            // What was said and not told yet is the end.
            let exit = self.code.map_or_else(Exit::lost, Exit::exited);
            if self.code.is_none() {
                tracing::warn!(terminal = %id, why, "a program in a sandbox is lost");
            }
            herald.ended(exit);
        }
    }

    /// Listens to one connection. `looking` is ready with the moment at which the end has to be known.
    async fn hear(&mut self, ear: &mut Ear, first: Bytes, mut looking: Awaited<Option<Instant>>) -> Over {
        let mut telling: Awaited<u32> = None;
        let mut due = None;
        let mut piece = Some(first);
        loop {
            if let Some(bytes) = piece.take() {
                let mut output = Vec::with_capacity(bytes.len());
                let was_drained = self.terminal.ending.is_drained();
                let code = self.terminal.ending.hear(&bytes, &mut output);
                if !output.is_empty() && self.pieces.send(output.into()).await.is_err() {
                    return Over::Done;
                }
                let is_first = self.code.is_none() && code.is_some();
                self.code = self.code.or(code);
                let is_drained = self.terminal.ending.is_drained();
                if self.herald.is_some() && (is_first || (is_drained && !was_drained)) {
                    due = None;
                    telling = Some(self.count());
                }
            }
            let due_at = due.unwrap_or_else(Instant::now);
            tokio::select! {
                heard = ear.next() => match heard.map(told) {
                    Ok(Told::Output(bytes)) => piece = Some(bytes),
                    Ok(Told::Connected) => {}
                    Ok(Told::ShellEnded(why)) => return Over::Ended(why),
                    Ok(Told::LetGo(why)) => return Over::Broken(why),
                    Err(error) => return Over::Broken(error.to_string()),
                },
                left = awaited(&mut telling) => {
                    let (Some(herald), Some(code)) = (self.herald.take(), self.code) else { continue };
                    herald.left_behind(left);
                    herald.ended(Exit::exited(code));
                    // The shell says nothing any more, and nobody else is there.
                    if left == 0 && self.is_output_over() {
                        return Over::Done;
                    }
                }
                at = awaited(&mut looking) => due = at,
                () = sleep_until(due_at), if due.is_some() => {
                    return Over::Ended("its program is gone, and its shell does not say how it ended".to_owned());
                }
                () = self.pieces.closed() => return Over::Done,
            }
        }
    }

    /// Whether nobody holds the output but the shell.
    fn is_output_over(&self) -> bool {
        match self.terminal.io {
            Io::Tty(_) => true,
            Io::Pipes(_) => self.terminal.ending.is_drained(),
        }
    }

    /// Counts who is left when the program has ended; 1 when that cannot be known.
    fn count(&self) -> Pin<Box<dyn Future<Output = u32> + Send>> {
        let (place, id) = (self.terminal.place.clone(), self.terminal.lodger.id);
        let line = matches!(self.terminal.io, Io::Pipes(_)).then(|| self.line.line());
        let is_over = self.is_output_over();
        Box::pin(async move {
            if !is_over {
                // Whoever passes the input on waits for a line.
                if let Some(line) = line {
                    let _broken = line.say(Word::Bytes(Bytes::from_static(piped::CLOSE))).await;
                }
                sleep(DRAIN_LIMIT).await;
            }
            place.count(id).await.unwrap_or(1)
        })
    }

    /// Looks whether the program lives after nobody listened for a while; when it does not, the shell is asked to say
    /// again how it ended.
    fn look(&self, mouth: Mouth) -> Pin<Box<dyn Future<Output = Option<Instant>> + Send>> {
        let (place, pid) = (self.terminal.place.clone(), self.terminal.lodger.pid.to_string());
        Box::pin(async move {
            let ran = place.run(IS_THERE, &[&pid], &BTreeMap::new(), LOOK_LIMIT).await;
            if ran.is_ok_and(|ran| ran.output.trim() == "gone") {
                let _broken = mouth.say(Word::Bytes(Bytes::from_static(piped::CLOSE))).await;
                return Some(Instant::now() + SAY_AGAIN_LIMIT);
            }
            None
        })
    }

    /// Joins the terminal again.
    async fn join(&self) -> Result<(Mouth, Ear), CallError> {
        let began = Instant::now();
        let mut pauses = PAUSES.into_iter();
        let mut pause = PAUSES[0];
        loop {
            match self.terminal.place.toolbox.connect(self.terminal.lodger.id).await {
                Ok(joined) => return Ok(joined),
                Err(error) if is_gone(&error) || began.elapsed() > JOIN_LIMIT => return Err(error),
                Err(error @ CallError::Refused { status: 400..=403, .. }) => return Err(error),
                Err(_) => {}
            }
            pause = pauses.next().unwrap_or(pause);
            tokio::select! {
                () = sleep(pause) => {}
                () = self.pieces.closed() => return Err(CallError::Broken("nobody listens".to_owned())),
            }
        }
    }
}
