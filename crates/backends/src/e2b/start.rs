//! The way of a start.

use std::time::Duration;

use ptyard_core::{ErrorCode, TerminalId};
use ptyard_terminal::backend::{Earlier, Io, Orphan, Questions, Sink, StartError, StartSpec, Started, Stdin};

use super::api::Api;
use super::connect::Stream;
use super::place::Place;
use super::program::{self, Told, told};
use super::typist::Typist;
use super::watch::{Followed, follow, follow_again};
use super::{E2b, Where};
use crate::remote::control::SandboxControl;
use crate::remote::http::CallError;
use crate::remote::input::Input;
use crate::remote::ledger::Ledger;
use crate::remote::listed::{Entry, Listed};
use crate::remote::lodging::{Guarded, Lodger, Lodging, Whose};
use crate::remote::output::Output;
use crate::remote::sought::Sought;
use crate::shared::start_error;

/// How long the daemon may take to say that the program runs.
const START_LIMIT: Duration = Duration::from_secs(30);

pub(super) async fn start(
    api: &Api,
    (mark, ledger): (Option<&str>, &Ledger),
    place: &Where,
    spec: StartSpec,
) -> Result<Started, StartError> {
    let (_none, unheld) =
        spec.ceilings.split(|_| Some("a sandbox's limits are those of its template".to_owned()))?;
    if spec.argv.first().is_none_or(String::is_empty) {
        return Err(start_error(ErrorCode::InvalidArgument, "the argument list is empty"));
    }
    let (sandbox, whose) = match place {
        Where::Template(template) => (api.make(template, mark, spec.id).await, Whose::Ours),
        Where::Sandbox(id) => (api.connect(id).await, Whose::Theirs),
        Where::Nowhere => {
            return Err(start_error(ErrorCode::InvalidArgument, "e2b needs a template or a sandbox"));
        }
    };
    let sandbox = sandbox.map_err(|error| {
        error.of_start(match place {
            Where::Template(template) => template,
            Where::Sandbox(id) => id,
            Where::Nowhere => "e2b",
        })
    })?;
    let daemon = api.daemon(&sandbox).map_err(|error| error.of_start("the sandbox"))?;
    let place = Place { api: api.clone(), sandbox, daemon, whose };
    let entry = Entry { sandbox: place.sandbox.id.clone(), whose, id: spec.id };
    if whose == Whose::Theirs {
        ledger.enter(&entry).await.map_err(|error| error.of_start("the sandbox"))?;
    }
    let sought = Sought::there(place.clone());
    let there = Listed::new(sought.clone(), ledger, &entry);
    let guarded = Guarded::new(there.clone(), spec.id);
    place.look(&spec).await?;
    let starting = begin(&place, &spec);
    let (stream, pid) = tokio::time::timeout(START_LIMIT, starting)
        .await
        .unwrap_or_else(|_| Err(CallError::too_late("the program was not started", START_LIMIT)))
        .map_err(|error| of_program(&error))?;
    let followed = follow(stream, place, spec.id, spec.io, pid);
    guarded.keep();
    let lodger = Lodger { id: spec.id, pid };
    Ok(Started { pid: Some(pid), unheld, ..handed_over(sought, there, lodger, spec.io, followed) })
}

/// A program that is followed, for whoever asked for it.
fn handed_over(
    place: Sought<Place>,
    there: Listed<Sought<Place>>,
    lodger: Lodger,
    io: Io,
    followed: Followed,
) -> Started {
    let sink: Option<Box<dyn Sink>> = match io {
        Io::Pipes(Stdin::Null) => None,
        io => {
            let typist = Typist { place, id: lodger.id, io };
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

/// Takes up what there may be of a terminal of an earlier server. Whether it is there is found out behind.
pub(super) fn take_up(e2b: &E2b, orphan: &Orphan) -> Option<Earlier> {
    let (id, io) = (orphan.id, orphan.io);
    let whose = match &e2b.place {
        Where::Template(_) => Whose::Ours,
        Where::Sandbox(_) => Whose::Theirs,
        Where::Nowhere => return None,
    };
    let sandbox = e2b.place.word().to_owned();
    let (seeker, sought) = Sought::new(whose, &sandbox);
    let there = Listed::new(sought.clone(), &e2b.ledger, &Entry { sandbox, whose, id });
    let e2b = e2b.clone();
    let look = move || {
        let e2b = e2b.clone();
        async move { find(&e2b, whose, id).await }
    };
    if orphan.has_ended {
        seeker.leave_nothing(id, look, there);
        return None;
    }
    let followed = follow_again(seeker, look, id, io);
    let started = handed_over(sought, there, Lodger::unknown(id), io, followed);
    Some(Earlier { id, started, unseen_from: None })
}

async fn find(e2b: &E2b, whose: Whose, id: TerminalId) -> Result<Place, CallError> {
    let api = e2b.api().await?;
    let sandbox = match whose {
        Whose::Ours => api.of_terminal(id).await?,
        Whose::Theirs => e2b.place.word().to_owned(),
    };
    let sandbox = api.connect(&sandbox).await?;
    let daemon = api.daemon(&sandbox)?;
    Ok(Place { api: api.clone(), sandbox, daemon, whose })
}

/// Starts the program, and waits for the daemon's word that it runs.
async fn begin(place: &Place, spec: &StartSpec) -> Result<(Stream, u32), CallError> {
    let mut stream = place.daemon.start(&program::start(spec)).await?;
    while let Some(message) = stream.next().await? {
        if let Told::Started(pid) = told(&message)? {
            return Ok((stream, pid));
        }
    }
    Err(CallError::garbled("the program's stream ended before the program began"))
}

/// What became of a start that the daemon did not do.
fn of_program(error: &CallError) -> StartError {
    match error {
        CallError::Refused { code: Some(code), message, .. }
            if code == "invalid_argument" && message.contains("cwd") =>
        {
            start_error(ErrorCode::CwdNotFound, message.clone())
        }
        error => error.of_start("the program"),
    }
}
