//! The way of a start.

use std::fmt;
use std::time::Duration;

use bytes::Bytes;
use ptyard_core::ErrorCode;
use ptyard_terminal::backend::{Earlier, Io, Orphan, Questions, Sink, StartError, StartSpec, Started, Stdin};

use super::api::Api;
use super::follow::{Followed, Terminal, follow, follow_again};
use super::place::Place;
use super::toolbox::{Told, told};
use super::{Daytona, Where};
use crate::remote::control::SandboxControl;
use crate::remote::http::CallError;
use crate::remote::input::Input;
use crate::remote::ledger::Ledger;
use crate::remote::listed::{Entry, Listed};
use crate::remote::lodging::{Guarded, Lodger, Whose};
use crate::remote::output::Output;
use crate::remote::socket::{Ear, Mouth, Word};
use crate::remote::sought::Sought;
use crate::remote::typist::Typist;
use crate::shared::greeting::{Afterwards, Ending, Far, Greeting, Said};
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
    let (whose, sandbox) = place.whose(spec.id);
    let entry = Entry { sandbox, whose, id: spec.id };
    ledger.enter(&entry).await.map_err(|error| error.of_start("the sandbox"))?;
    let place = find(api, (ledger, &entry), place, &spec).await?;
    let there = Listed::new(Sought::there(place.clone()), ledger, &entry);
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
    let memo = Memo { word: greeting.word().to_owned(), pid }.to_string();
    ledger.add_to(&entry, &memo).await.map_err(|error| error.of_start("the sandbox"))?;
    let followed = follow(terminal, mouth, ear, first);
    guarded.keep();
    Ok(Started { pid: Some(pid), unheld, ..handed_over(there, lodger, spec.io, followed) })
}

/// A program that is followed, for whoever asked for it.
fn handed_over(there: Listed<Sought<Place>>, lodger: Lodger, io: Io, followed: Followed) -> Started {
    let sink: Option<Box<dyn Sink>> = match io {
        Io::Pipes(Stdin::Null) => None,
        io => {
            let typist = Typist::new(followed.line, io);
            Some(Box::new(Input::new(typist, io, followed.fate.exit())))
        }
    };
    Started {
        source: Box::new(Output::new(followed.output)),
        sink,
        control: Box::new(SandboxControl::new(there, lodger, io, followed.fate)),
        questions: Questions::Ours,
        pid: None,
        unheld: Vec::new(),
    }
}

/// What a later server has to know of a program.
struct Memo {
    /// By which its shell tells its end.
    word: String,
    pid: u32,
}

impl fmt::Display for Memo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.word, self.pid)
    }
}

impl Memo {
    fn of(text: &str) -> Option<Self> {
        let (word, pid) = text.split_once(' ')?;
        Some(Self { word: word.to_owned(), pid: pid.parse().ok()? })
    }
}

/// Takes up what there may be of a terminal of an earlier server. Whether it is there is found out behind.
pub(super) fn take_up(daytona: &Daytona, orphan: &Orphan) -> Option<Earlier> {
    let (id, io) = (orphan.id, orphan.io);
    let (whose, sandbox) = daytona.place.whose(id);
    let (seeker, sought) = Sought::new(whose, &sandbox);
    let entry = Entry { sandbox, whose, id };
    let there = Listed::new(sought, &daytona.ledger, &entry);
    let daytona = daytona.clone();
    if orphan.has_ended {
        let look = move || {
            let (daytona, entry) = (daytona.clone(), entry.clone());
            async move { daytona.there(&entry).await }
        };
        seeker.leave_nothing(id, look, there);
        return None;
    }
    let look = move || {
        let (daytona, entry) = (daytona.clone(), entry.clone());
        async move {
            let place = daytona.there(&entry).await?;
            // Without it nobody is known to wait for anything: its start was not finished.
            let memo = daytona.ledger.memo_of(&entry).await.as_deref().and_then(Memo::of);
            let Memo { word, pid } =
                memo.unwrap_or_else(|| Memo { word: "ptyard-nobody".to_owned(), pid: 0 });
            Ok(Terminal { place, lodger: Lodger { id, pid }, io, ending: Ending::of(&word) })
        }
    };
    let followed = follow_again(seeker, look, id);
    let started = handed_over(there, Lodger::unknown(id), io, followed);
    Some(Earlier { id, started, unseen_from: None })
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
