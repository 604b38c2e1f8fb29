//! The way of a start.

use std::time::Duration;

use ptyard_core::{ErrorCode, TerminalId};
use ptyard_terminal::backend::{Earlier, Io, Orphan, Questions, Sink, StartError, StartSpec, Started, Stdin};
use tokio::sync::mpsc;
use tokio::time::{Instant, sleep};

use super::api::Api;
use super::follow::{Follower, Link, PIECES};
use super::heard::Heard;
use super::place::{ORDERS, Place};
use super::terminal::{carrier_mark, next};
use super::typed::Typed;
use super::typist::Typist;
use super::{Blaxel, Where};
use crate::remote::control::SandboxControl;
use crate::remote::http::CallError;
use crate::remote::input::Input;
use crate::remote::ledger::Ledger;
use crate::remote::listed::{Entry, Listed};
use crate::remote::lodging::{Guarded, Lodger, Lodging};
use crate::remote::output::Output;
use crate::shared::fate::Fate;
use crate::shared::greeting::{Greeting, Said};
use crate::shared::{program, start_error};

/// What carries the bytes of a program.
const CARRIER: &str = include_str!("carrier.py");

/// How long a shell may take to greet, and the carrier to start the program.
const GREETING_LIMIT: Duration = Duration::from_secs(30);

/// How long the sandbox of a program of an earlier server is looked for, and the pause between two looks.
const SEARCH_LIMIT: Duration = Duration::from_secs(60);
const SEARCH_PAUSE: Duration = Duration::from_secs(2);

pub(super) async fn start(
    api: &Api,
    ledger: &Ledger,
    place: &Where,
    spec: StartSpec,
) -> Result<Started, StartError> {
    let (_none, unheld) =
        spec.ceilings.split(|_| Some("a sandbox's limits are those of its image".to_owned()))?;
    program::check(&spec)?;
    let greeting = Greeting::handing_over(|word| program::script(CARRIER, word, &[]))?;
    let of_sandbox = |error: CallError| error.of_start("the sandbox");
    let (whose, name) = place.whose(spec.id);
    let (finder, there) = Place::awaited(api, &name, whose);
    let entry = Entry { sandbox: name, whose, id: spec.id };
    ledger.enter(&entry).await.map_err(of_sandbox)?;
    let guarded = Guarded::new(Listed::new(there.clone(), ledger, &entry), spec.id);
    let sandbox = match place {
        Where::Own(image) => api.make(image.as_deref(), spec.id).await,
        Where::Sandbox(name) => api.find(name).await,
    };
    finder.send_replace(Some(sandbox.map_err(of_sandbox)?.into()));
    let unreachable = |error: CallError| error.of_start("the terminal");
    let connected = there.connect(spec.id, spec.io.size()).await;
    let mut link = connected.and_then(Link::new).map_err(unreachable)?;
    let order = program::order(&spec, api.alone());
    let greeted = greet(&mut link, greeting, spec.id, &order);
    let greeted = tokio::time::timeout(GREETING_LIMIT, greeted).await;
    let Greeted { pid, rest } = match greeted {
        Ok(Ok(greeted)) => greeted,
        Ok(Err(error)) => {
            let _anyway = link.leave().await;
            return Err(error);
        }
        Err(_) => return Err(start_error(ErrorCode::BackendUnreachable, "the shell there does not answer")),
    };
    let mut heard = Heard::default();
    for line in link.lines.take(&rest) {
        heard.take(line);
    }
    let program = Program { id: spec.id, io: spec.io, pid: Some(pid) };
    let started = followed(there, (ledger, &entry), program, heard, Typed::default(), Some(link));
    guarded.keep();
    Ok(Started { unheld, ..started })
}

/// Takes up what there may be of a terminal of an earlier server. Whether it is there is found out behind.
pub(super) fn take_up(blaxel: &Blaxel, api: &Api, orphan: &Orphan) -> Option<Earlier> {
    let Orphan { id, io, logged, .. } = *orphan;
    let (whose, name) = blaxel.place.whose(id);
    let (finder, place) = Place::awaited(api, &name, whose);
    let entry = Entry { sandbox: name.clone(), whose, id };
    let api = api.clone();
    tokio::spawn(async move {
        let until = Instant::now() + SEARCH_LIMIT;
        loop {
            match api.find(&name).await {
                Ok(sandbox) => {
                    finder.send_replace(Some(sandbox.into()));
                    return;
                }
                Err(error) if error.may_pass() && Instant::now() < until => sleep(SEARCH_PAUSE).await,
                Err(error) => {
                    tracing::info!(terminal = %id, %error, "its sandbox is not found");
                    return;
                }
            }
        }
    });
    if orphan.has_ended {
        // All that may be left of it.
        let left = Listed::new(place, &blaxel.ledger, &entry);
        tokio::spawn(async move { left.leave(id).await });
        return None;
    }
    let program = Program { id, io, pid: None };
    let listed = (&blaxel.ledger, &entry);
    let started = followed(place, listed, program, Heard::from(logged), Typed::later(), None);
    Some(Earlier { id, started, unseen_from: None })
}

/// A program that runs, or may.
#[derive(Clone, Copy)]
struct Program {
    id: TerminalId,
    io: Io,
    pid: Option<u32>,
}

/// Has a program followed.
fn followed(
    mut place: Place,
    (ledger, entry): (&Ledger, &Entry),
    program: Program,
    heard: Heard,
    typed: Typed,
    link: Option<Link>,
) -> Started {
    let Program { id, io, pid } = program;
    let (pieces, output) = mpsc::channel(PIECES);
    let (herald, fate) = Fate::new();
    let (ask, orders) = mpsc::channel(ORDERS);
    // Its own place has no orders: it ends when all who have some are gone.
    let follower =
        Follower { place: place.clone(), id, orders, pieces: Some(pieces), herald, heard, typed, size: None };
    tokio::spawn(follower.run(link));
    place.orders = Some(ask.clone());
    let there = Listed::new(place, ledger, entry);
    let sink: Option<Box<dyn Sink>> = match io {
        Io::Pipes(Stdin::Null) => None,
        io => Some(Box::new(Input::new(Typist { orders: ask }, io, fate.exit()))),
    };
    let lodger = Lodger { id, pid: pid.unwrap_or_default() };
    Started {
        source: Box::new(Output::new(output)),
        sink,
        control: Box::new(SandboxControl::new(there, lodger, io, fate)),
        questions: Questions::Ours,
        pid,
        unheld: Vec::new(),
    }
}

/// A program that was seen off.
struct Greeted {
    pid: u32,
    /// What came behind the greeting.
    rest: Vec<u8>,
}

/// Sees the program off. A connection that breaks meanwhile is a start that failed: what was said may have been heard.
async fn greet(
    link: &mut Link,
    mut greeting: Greeting,
    id: TerminalId,
    order: &str,
) -> Result<Greeted, StartError> {
    let unreachable = |error: CallError| error.of_start("the terminal");
    // The blank keeps it out of the history of shells that are so set.
    let (variable, value) = carrier_mark(id);
    let line = format!(" export {variable}={value}; exec /bin/sh -c '{}'\n", greeting.greeter());
    link.say(&line).await.map_err(unreachable)?;
    let mut words =
        [std::str::from_utf8(greeting.script()).unwrap_or_default().to_owned(), order.to_owned()].into_iter();
    let (mut pid, mut rest) = (0, Vec::new());
    loop {
        let text = next(&mut link.ear).await.map_err(unreachable)?;
        let mut said = greeting.hear(text.as_bytes(), &mut rest);
        while let Some(what) = said {
            match what {
                // The shell says so first, and the carrier in its place then.
                Said::Ready(_) => {
                    let word = words.next().unwrap_or_default();
                    link.say(&word).await.map_err(unreachable)?;
                }
                Said::Pid(program) => pid = program,
                Said::Gone => return Ok(Greeted { pid, rest }),
                Said::Refused(error) => return Err(error),
            }
            said = greeting.hear(b"", &mut rest);
        }
    }
}
