//! The way of a start.

use std::time::Duration;

use ptyard_core::ErrorCode;
use ptyard_terminal::backend::{Io, Questions, Sink, StartError, StartSpec, Started, Stdin};
use tokio::sync::mpsc;

use super::Where;
use super::api::Api;
use super::follow::{Follower, PIECES, REPLAY_BYTES};
use super::line::Keeper;
use super::place::{Place, Terminal};
use super::typist::Typist;
use crate::remote::control::SandboxControl;
use crate::remote::http::CallError;
use crate::remote::input::Input;
use crate::remote::ledger::Ledger;
use crate::remote::lodging::{Guarded, Lodger, Whose};
use crate::remote::output::Output;
use crate::remote::replay::Heard;
use crate::remote::socket::{Ear, Heard as Message, Mouth, Word};
use crate::shared::fate::Fate;
use crate::shared::greeting::{Afterwards, Far, Greeting, Said};
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
    let sink: Option<Box<dyn Sink>> = match spec.io {
        Io::Pipes(Stdin::Null) => None,
        io => Some(Box::new(Input::new(Typist::new(line, io), io, fate.exit()))),
    };
    guarded.keep();
    Ok(Started {
        source: Box::new(Output::new(output)),
        sink,
        control: Box::new(SandboxControl::new(place, Lodger { id: spec.id, pid }, spec.io, fate)),
        questions: Questions::Ours,
        pid: Some(pid),
        unheld,
    })
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
