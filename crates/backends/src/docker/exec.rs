//! A program in a container that is there.

use ptyard_core::ErrorCode;
use ptyard_terminal::backend::{Io, StartError, StartSpec, Started};
use serde_json::json;

use super::api::{Container, Made, escaped};
use super::carry::Errand;
use super::control::Subject;
use super::engine::EngineError;
use super::inside::Inside;
use super::program::{self, Carriers};
use super::watch::Place;
use super::{console_size, detach_keys, has_stdin, variables};
use crate::shared::start_error;

pub(super) async fn start(carriers: Carriers, name: String, spec: StartSpec) -> Result<Started, StartError> {
    let engine = carriers.engine.clone();
    let missing = |error: EngineError| match error {
        error if error.is_not_found() => start_error(ErrorCode::PlaceNotFound, error.to_string()),
        error => error.of_start(ErrorCode::SpawnFailed),
    };
    let container: Container =
        engine.get(&format!("/containers/{}/json", escaped(&name))).await.map_err(missing)?;
    if !container.state.running || container.state.paused {
        let message = format!("the container {name} does not run");
        return Err(start_error(ErrorCode::BackendUnreachable, message));
    }
    let (_none, unheld) =
        spec.ceilings.split(|_| Some("a container's limits are shared by all that runs in it".to_owned()))?;
    let order = json!({
        "Cmd": spec.argv,
        "Env": variables(&spec.env),
        "WorkingDir": spec.cwd,
        "Tty": matches!(spec.io, Io::Tty(_)),
        "AttachStdin": has_stdin(spec.io),
        "AttachStdout": true,
        "AttachStderr": true,
        "ConsoleSize": console_size(spec.io),
        "DetachKeys": detach_keys("ctrl-^"),
    });
    let made: Made =
        engine.post(&format!("/containers/{}/exec", container.id), &order).await.map_err(missing)?;
    let errand = Errand {
        place: Place::Exec { container: container.id.clone(), exec: made.id.clone() },
        tty: console_size(spec.io),
        has_stdin: has_stdin(spec.io),
    };
    let inside = Inside { engine, container: container.id, id: spec.id };
    let started = program::start(&carriers, inside, Subject::Exec { exec: Some(made.id) }, &errand, spec.io);
    Ok(Started { unheld, ..started.await? })
}
