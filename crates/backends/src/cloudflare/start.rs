//! The way of a start.

use std::fmt;
use std::time::Duration;

use bytes::Bytes;
use ptyard_core::ErrorCode;
use ptyard_terminal::backend::{Earlier, Io, Orphan, Questions, Sink, StartError, StartSpec, Started, Stdin};
use tokio::sync::mpsc;

use super::api::Api;
use super::follow::{Follower, PIECES, REPLAY_BYTES};
use super::place::{Place, Terminal};
use super::{Cloudflare, Where};
use crate::remote::control::SandboxControl;
use crate::remote::http::CallError;
use crate::remote::input::Input;
use crate::remote::ledger::Ledger;
use crate::remote::line::{Keeper, Line};
use crate::remote::lodging::{Guarded, Lodger, Whose};
use crate::remote::output::Output;
use crate::remote::replay::Heard;
use crate::remote::socket::{Ear, Heard as Message, Mouth, Word};
use crate::remote::sought::Sought;
use crate::remote::typist::Typist;
use crate::shared::fate::Fate;
use crate::shared::greeting::{Afterwards, Ending, Far, Greeting, Said};
use crate::shared::start_error;

/// How long a shell may take to greet and to start the program.
const GREETING_LIMIT: Duration = Duration::from_secs(30);

pub(super) async fn start(
    api: &Api,
    ledger: &Ledger,
    place: &Where,
    spec: StartSpec,
) -> Result<Started, StartError> {
    let (_none, unheld) =
        spec.ceilings.split(|_| Some("a sandbox's limits are those of its worker".to_owned()))?;
    // The script says directory and variables again: the shell's own files have had the last word.
    let mut greeting = Greeting::new(&spec, &spec.env, Afterwards::Waits, Far::TtyOnly)?;
    let (sandbox, whose) = match place {
        Where::Own => (api.name().await.map_err(|error| error.of_start("the bridge"))?, Whose::Ours),
        Where::Sandbox(id) => (id.clone(), Whose::Theirs),
    };
    let mut place = Place::new(api, ledger, sandbox, whose, spec.id);
    let guarded = Guarded::new(place.clone(), spec.id);
    place.open(&spec).await.map_err(|error| error.of_start("the sandbox"))?;
    let connected = place.connect(spec.io.size()).await;
    let (mouth, mut ear, replay) = connected.map_err(|error| error.of_start("the terminal"))?;
    let mut heard = Heard::new(REPLAY_BYTES);
    // What a new terminal plays is its shell's greeting, and none of the program's.
    heard.take(&replay);
    let greeted = greet(&mouth, &mut ear, &mut greeting, &mut heard);
    let greeted = tokio::time::timeout(GREETING_LIMIT, greeted).await;
    let Greeted { shell, pid, rest } = greeted.unwrap_or_else(|_| {
        Err(start_error(ErrorCode::BackendUnreachable, "the shell there does not answer"))
    })?;

    let memo =
        Memo { word: greeting.word().to_owned(), shell, pid, begins: heard.total() - rest.len() as u64 };
    place.remember(&memo.to_string()).await.map_err(|error| error.of_start("the sandbox"))?;
    let (pieces, output) = mpsc::channel(PIECES);
    let (herald, fate) = Fate::new();
    let (keeper, line) = Keeper::new(mouth);
    place.terminal = Some(Terminal { line: line.clone(), shell, herald: herald.clone() });
    let follower = Follower {
        place: place.clone(),
        id: spec.id,
        io: spec.io,
        heard,
        ending: greeting.ending(),
        pieces: Some(pieces),
        line: keeper,
        herald,
        has_ended: false,
    };
    tokio::spawn(follower.follow(ear, rest));
    guarded.keep();
    let lodger = Lodger { id: spec.id, pid };
    let started = handed_over(Sought::there(place), lodger, spec.io, line, (output, fate));
    Ok(Started { pid: Some(pid), unheld, ..started })
}

/// A program that is followed, for whoever asked for it.
fn handed_over(
    place: Sought<Place>,
    lodger: Lodger,
    io: Io,
    line: Line,
    (output, fate): (mpsc::Receiver<Bytes>, Fate),
) -> Started {
    let sink: Option<Box<dyn Sink>> = match io {
        Io::Pipes(Stdin::Null) => None,
        io => Some(Box::new(Input::new(Typist::new(line, io), io, fate.exit()))),
    };
    Started {
        source: Box::new(Output::new(output)),
        sink,
        control: Box::new(SandboxControl::new(place, lodger, io, fate)),
        questions: Questions::Ours,
        pid: None,
        unheld: Vec::new(),
    }
}

/// What a later server has to know of a program.
struct Memo {
    /// By which its shell tells its end.
    word: String,
    /// The process id of that shell.
    shell: u32,
    pid: u32,
    /// How many bytes its terminal printed before it.
    begins: u64,
}

impl fmt::Display for Memo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {} {} {}", self.word, self.shell, self.pid, self.begins)
    }
}

impl Memo {
    fn of(text: &str) -> Option<Self> {
        let mut words = text.split(' ');
        let word = words.next()?.to_owned();
        let mut number = || words.next()?.parse::<u64>().ok();
        let (shell, pid) = (u32::try_from(number()?).ok()?, u32::try_from(number()?).ok()?);
        Some(Self { word, shell, pid, begins: number()? })
    }
}

/// Takes up what there may be of a terminal of an earlier server. Whether it is there is found out behind.
pub(super) fn take_up(cloudflare: &Cloudflare, orphan: Orphan) -> Option<Earlier> {
    let Orphan { id, io, logged, last, has_ended, .. } = orphan;
    let (whose, name) = match &cloudflare.place {
        Where::Own => (Whose::Ours, id.to_string()),
        Where::Sandbox(sandbox) => (Whose::Theirs, sandbox.clone()),
    };
    let (seeker, place) = Sought::new(whose, &name);
    let cloudflare = cloudflare.clone();
    let look = move || {
        let cloudflare = cloudflare.clone();
        async move { cloudflare.there(id).await }
    };
    if has_ended {
        seeker.leave_nothing(id, look, place);
        return None;
    }
    let (pieces, output) = mpsc::channel(PIECES);
    let (herald, fate) = Fate::new();
    let (keeper, line) = Keeper::awaited();
    let terminal_line = line.clone();
    tokio::spawn(async move {
        let mut place = match seeker.seek(id, look).await {
            Ok(place) => place,
            // Then the program is lost.
            Err(error) => return seeker.tell(Err(error)),
        };
        let Some(memo) = place.memo().await.as_deref().and_then(Memo::of) else {
            // Its start was not finished.
            return seeker.tell(Ok(place));
        };
        let (shell, line) = (memo.shell, terminal_line);
        place.terminal = Some(Terminal { line, shell, herald: herald.clone() });
        seeker.tell(Ok(place.clone()));
        let follower = Follower {
            place,
            id,
            io,
            heard: Heard::so_far(REPLAY_BYTES, memo.begins + logged, last),
            ending: Ending::of(&memo.word),
            pieces: Some(pieces),
            line: keeper,
            herald,
            has_ended: false,
        };
        follower.follow_again().await;
    });
    let started = handed_over(place, Lodger::unknown(id), io, line, (output, fate));
    Some(Earlier { id, started, unseen_from: None })
}

/// A program that was seen off.
struct Greeted {
    /// The process id of the shell that tells its end.
    shell: u32,
    pid: u32,
    /// What came behind the greeting.
    rest: Vec<u8>,
}

/// Sees the program off. A connection that breaks meanwhile is a start that failed: what was said may have been heard.
async fn greet(
    mouth: &Mouth,
    ear: &mut Ear,
    greeting: &mut Greeting,
    heard: &mut Heard,
) -> Result<Greeted, StartError> {
    let unreachable = |error: CallError| error.of_start("the terminal");
    // The blank keeps it out of the history of shells that are so set.
    let line = format!(" exec /bin/sh -c '{}'\n", greeting.greeter());
    mouth.say(Word::Bytes(line.into_bytes().into())).await.map_err(unreachable)?;
    let (mut shell, mut pid, mut rest) = (0, 0, Vec::new());
    loop {
        let bytes = match ear.next().await.map_err(unreachable)? {
            Message::Bytes(bytes) => bytes,
            Message::Text(_) => continue,
            Message::Closed { code, reason } => {
                return Err(unreachable(CallError::Broken(format!("closed ({code}) {reason}"))));
            }
        };
        heard.take(&bytes);
        let mut said = greeting.hear(&bytes, &mut rest);
        while let Some(what) = said {
            match what {
                Said::Ready(there) => {
                    shell = there;
                    let script = greeting.script().to_vec();
                    mouth.say(Word::Bytes(script.into())).await.map_err(unreachable)?;
                }
                Said::Pid(program) => pid = program,
                Said::Gone => return Ok(Greeted { shell, pid, rest }),
                Said::Refused(error) => return Err(error),
            }
            said = greeting.hear(b"", &mut rest);
        }
    }
}
