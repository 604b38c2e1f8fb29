//! The way of a start.

use std::time::Duration;

use bytes::Bytes;
use ptyard_core::ErrorCode;
use ptyard_terminal::backend::{Io, Questions, Sink, StartError, StartSpec, Started, Stdin};

use super::Where;
use super::api::{self, Api};
use super::follow::{Terminal, follow};
use super::place::Place;
use super::toolbox::{Told, told};
use super::typist::Typist;
use crate::remote::control::SandboxControl;
use crate::remote::http::CallError;
use crate::remote::input::Input;
use crate::remote::ledger::Ledger;
use crate::remote::listed::{Entry, Listed};
use crate::remote::lodging::{Guarded, Lodger, Whose};
use crate::remote::output::Output;
use crate::remote::socket::{Ear, Mouth, Word};
use crate::shared::greeting::{Afterwards, Far, Greeting, Said};
use crate::shared::start_error;

/// How long the shell may take to greet: it is a login shell, which reads all its files first.
const GREETING_LIMIT: Duration = Duration::from_secs(60);

/// Most that is typed in one message, in bytes; the daemon takes 64 KiB.
const PIECE: usize = 16 << 10;

pub(super) async fn start(
    api: &Api,
    ledger: &Ledger,
    place: &Where,
    spec: StartSpec,
) -> Result<Started, StartError> {
    let (_none, unheld) =
        spec.ceilings.split(|_| Some("a sandbox's limits are those of its snapshot".to_owned()))?;
    let mut greeting = Greeting::new(&spec, &spec.env, Afterwards::Waits, Far::TtyOnly)?;
    let (whose, sandbox) = match place {
        Where::Own(_) => (Whose::Ours, api::name(spec.id)),
        Where::Sandbox(id) => (Whose::Theirs, id.clone()),
    };
    let entry = Entry { sandbox, whose, id: spec.id };
    ledger.enter(&entry).await.map_err(|error| error.of_start("the sandbox"))?;
    let place = find(api, (ledger, &entry), place, &spec).await?;
    let there = Listed::new(place.clone(), ledger, &entry);
    let guarded = Guarded::new(there.clone(), spec.id);
    let size = spec.io.size();
    let made = place.toolbox.make(spec.id, size).await;
    let (mouth, mut ear) = made.map_err(|error| error.of_start("the terminal"))?;
    let greeted = tokio::time::timeout(GREETING_LIMIT, greet(&mouth, &mut ear, &mut greeting)).await;
    let (pid, first) = greeted.map_err(|_| {
        let message = "the shell in the sandbox does not answer";
        start_error(ErrorCode::SpawnFailed, message)
    })??;
    let lodger = Lodger { id: spec.id, pid };
    let terminal = Terminal { place: place.clone(), lodger, io: spec.io, ending: greeting.ending() };
    let followed = follow(terminal, mouth, ear, first);
    let sink: Option<Box<dyn Sink>> = match spec.io {
        Io::Pipes(Stdin::Null) => None,
        io => {
            let typist = Typist { mouth: followed.mouth, io };
            Some(Box::new(Input::new(typist, io, followed.fate.exit())))
        }
    };
    guarded.keep();
    Ok(Started {
        source: Box::new(Output::new(followed.output)),
        sink,
        control: Box::new(SandboxControl::new(there, lodger, spec.io, followed.fate)),
        questions: Questions::Ours,
        pid: Some(pid),
        unheld,
    })
}

/// Makes or finds the sandbox.
async fn find(
    api: &Api,
    (ledger, entry): (&Ledger, &Entry),
    place: &Where,
    spec: &StartSpec,
) -> Result<Place, StartError> {
    let (found, whose, what) = match place {
        Where::Own(snapshot) => {
            let made = api.make(snapshot.as_deref(), spec.id).await;
            (made, Whose::Ours, snapshot.as_deref().unwrap_or("the sandbox"))
        }
        Where::Sandbox(id) => (api.find(id).await, Whose::Theirs, id.as_str()),
    };
    let found = found.and_then(|sandbox| Ok((api.toolbox(&sandbox)?, sandbox.id)));
    match found {
        Ok((toolbox, sandbox)) => Ok(Place { api: api.clone(), sandbox, toolbox, whose }),
        Err(error) => {
            // It may be there all the same, or not be one that runs.
            if whose == Whose::Ours && !matches!(error, CallError::NotSent(_)) {
                let (api, ledger, entry) = (api.clone(), ledger.clone(), entry.clone());
                tokio::spawn(async move {
                    match api.remove(&entry.sandbox).await {
                        Ok(()) => ledger.leave_out(&entry).await,
                        Err(error) => {
                            tracing::warn!(terminal = %entry.id, %error, "a sandbox may be left");
                        }
                    }
                });
            } else {
                ledger.leave_out(entry).await;
            }
            Err(error.of_start(what))
        }
    }
}

/// Has the shell become the greeter, and sees the program off; its process id, and whatever came behind the last word
/// is output.
async fn greet(mouth: &Mouth, ear: &mut Ear, greeting: &mut Greeting) -> Result<(u32, Vec<u8>), StartError> {
    let of_start = |error: CallError| error.of_start("the terminal");
    // A blank before it keeps it out of most shells' histories.
    let order = format!(" exec /bin/sh -c '{}'\n", greeting.greeter());
    mouth.say(Word::Bytes(order.into())).await.map_err(of_start)?;
    let mut pid = 0;
    loop {
        let piece = match told(ear.next().await.map_err(of_start)?) {
            Told::Output(piece) => piece,
            Told::Connected => continue,
            Told::ShellEnded(why) | Told::LetGo(why) => return Err(start_error(ErrorCode::SpawnFailed, why)),
        };
        let mut rest = Vec::new();
        let mut said = greeting.hear(&piece, &mut rest);
        while let Some(what) = said {
            match what {
                Said::Ready(_) => {
                    for piece in greeting.script().chunks(PIECE) {
                        let word = Word::Bytes(Bytes::copy_from_slice(piece));
                        mouth.say(word).await.map_err(of_start)?;
                    }
                }
                Said::Pid(said) => pid = said,
                Said::Gone => return Ok((pid, rest)),
                Said::Refused(error) => return Err(error),
            }
            said = greeting.hear(b"", &mut rest);
        }
    }
}
