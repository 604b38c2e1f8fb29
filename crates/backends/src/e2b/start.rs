//! The way of a start.

use std::collections::BTreeMap;
use std::time::Duration;

use ptyard_core::{ErrorCode, TerminalId};
use ptyard_terminal::backend::{Io, Questions, Sink, StartError, StartSpec, Started, Stdin};

use super::Where;
use super::api::Api;
use super::connect::Stream;
use super::control::{SandboxControl, Subject};
use super::place::{Place, Whose};
use super::program::{self, Told, run, told};
use super::streams::{Input, Output};
use super::watch::follow;
use crate::remote::http::CallError;
use crate::shared::start_error;

/// How long the daemon may take to say that the program runs, and to look whether it can.
const START_LIMIT: Duration = Duration::from_secs(30);

/// Looks whether a program can be started, and says why not by its code. What it looks for is told in variables.
const LOOK: &str = r#"
cd "${PTYARD_LOOK_IN:-.}" 2>/dev/null || exit 101
case $PTYARD_LOOK_FOR in
  */*) [ -e "$PTYARD_LOOK_FOR" ] || exit 102; [ -x "$PTYARD_LOOK_FOR" ] || exit 103 ;;
  *) command -v -- "$PTYARD_LOOK_FOR" >/dev/null || exit 102 ;;
esac
"#;

/// A place that nothing may be left in unless the start succeeds.
struct Guarded {
    place: Option<Place>,
    id: TerminalId,
}

impl Guarded {
    fn keep(mut self) -> Option<Place> {
        self.place.take()
    }
}

impl Drop for Guarded {
    fn drop(&mut self) {
        if let Some(place) = self.place.take() {
            let id = self.id;
            tokio::spawn(async move { place.leave(id).await });
        }
    }
}

pub(super) async fn start(api: &Api, place: &Where, spec: StartSpec) -> Result<Started, StartError> {
    let (_none, unheld) =
        spec.ceilings.split(|_| Some("a sandbox's limits are those of its template".to_owned()))?;
    if spec.argv.first().is_none_or(String::is_empty) {
        return Err(start_error(ErrorCode::InvalidArgument, "the argument list is empty"));
    }
    let (sandbox, whose) = match place {
        Where::Template(template) => (api.make(template, spec.id).await, Whose::Ours),
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
    let guarded = Guarded { place: Some(place.clone()), id: spec.id };
    look(&place, &spec).await?;
    let starting = begin(&place, &spec);
    let (stream, pid) = tokio::time::timeout(START_LIMIT, starting)
        .await
        .unwrap_or_else(|_| Err(CallError::too_late("the program was not started", START_LIMIT)))
        .map_err(|error| of_program(&error))?;
    let followed = follow(stream, &place, spec.id, pid);
    let sink: Option<Box<dyn Sink>> = match spec.io {
        Io::Pipes(Stdin::Null) => None,
        io => Some(Box::new(Input::new(place.daemon.clone(), pid, io, followed.fate.exit()))),
    };
    let _kept = guarded.keep();
    let subject = Subject { place, id: spec.id, pid };
    Ok(Started {
        source: Box::new(Output::new(followed.output)),
        sink,
        control: Box::new(SandboxControl::new(subject, spec.io, followed.fate)),
        questions: Questions::Ours,
        pid: Some(pid),
        unheld,
    })
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

/// Looks whether the directory and the program are there: the shell that the daemon starts programs with would only
/// say so in the program's own output.
async fn look(place: &Place, spec: &StartSpec) -> Result<(), StartError> {
    let program = &spec.argv[0];
    let mut env: BTreeMap<String, String> = BTreeMap::new();
    if let Some(path) = spec.env.get("PATH") {
        env.insert("PATH".to_owned(), path.clone());
    }
    env.insert("PTYARD_LOOK_IN".to_owned(), spec.cwd.to_string_lossy().into_owned());
    env.insert("PTYARD_LOOK_FOR".to_owned(), program.clone());
    let looking = tokio::time::timeout(START_LIMIT, run(&place.daemon, LOOK, &[], &env)).await;
    let ran = looking
        .unwrap_or_else(|_| Err(CallError::too_late("no look into the sandbox", START_LIMIT)))
        .map_err(|error| error.of_start("the sandbox"))?;
    let (code, message) = match ran.exit.code {
        Some(101) => (ErrorCode::CwdNotFound, format!("{}: it cannot be entered there", spec.cwd.display())),
        Some(102) => (ErrorCode::ProgramNotFound, format!("{program}: not found there")),
        Some(103) => (ErrorCode::ProgramNotExecutable, format!("{program}: it cannot be executed there")),
        _ => return Ok(()),
    };
    Err(start_error(code, message))
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
