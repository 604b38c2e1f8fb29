//! A container of its own for one program.

use hyper::Method;
use ptyard_core::{ErrorCode, TerminalId};
use ptyard_terminal::backend::{Io, StartError, StartSpec, Started};
use serde_json::json;

use super::api::{Container, Made, escaped};
use super::carry::Errand;
use super::control::Subject;
use super::engine::{Engine, EngineError};
use super::inside::Inside;
use super::program::{self, Carriers};
use super::watch::Place;
use super::{console_size, has_stdin, variables};
use crate::shared::start_error;

/// Where programs are looked for in an image that has no PATH.
const DEFAULT_PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/// A container that is removed unless it is handed over.
pub(super) struct Own {
    engine: Engine,
    id: Option<String>,
}

impl Own {
    /// Its id, for whoever removes it from now on.
    fn hand_over(mut self) -> String {
        self.id.take().unwrap_or_default()
    }
}

impl Drop for Own {
    fn drop(&mut self) {
        if let Some(id) = self.id.take() {
            let engine = self.engine.clone();
            tokio::spawn(async move { remove(&engine, &id).await });
        }
    }
}

/// Removes a container with whatever runs in it. That it is gone already, or about to be, is well.
pub(super) async fn remove(engine: &Engine, id: &str) {
    let removed = engine.order(Method::DELETE, &format!("/containers/{id}?force=true&v=true")).await;
    match removed {
        Ok(()) | Err(EngineError::Refused { .. }) => {}
        Err(error) => tracing::warn!(container = id, %error, "a container is left behind"),
    }
}

/// The name of a terminal's own container, by which the next server finds it.
pub(super) fn name(id: TerminalId) -> String {
    format!("ptyard-{id}")
}

pub(super) async fn start(
    carriers: Carriers,
    image: String,
    mark: Option<&str>,
    spec: StartSpec,
) -> Result<Started, StartError> {
    let engine = carriers.engine.clone();
    let has_stdin = has_stdin(spec.io);
    // A container of one's own can be held to both.
    let ceilings = spec.ceilings;
    let mut labels = json!({ (super::TERMINAL_LABEL): spec.id.to_string() });
    if let Some(mark) = mark {
        labels[super::STATE_LABEL] = json!(mark);
    }
    let order = json!({
        "Image": image,
        "Entrypoint": [],
        "Cmd": spec.argv,
        "Env": variables(&spec.env),
        "WorkingDir": spec.cwd,
        "Tty": matches!(spec.io, Io::Tty(_)),
        "OpenStdin": has_stdin,
        "StdinOnce": has_stdin,
        "AttachStdin": has_stdin,
        "AttachStdout": true,
        "AttachStderr": true,
        "Labels": labels,
        "HostConfig": {
            "Init": true,
            "AutoRemove": true,
            "ConsoleSize": console_size(spec.io),
            "Memory": ceilings.memory_bytes.unwrap_or(0),
            "PidsLimit": ceilings.processes,
        },
    });
    let failed = |error: EngineError| error.of_start(ErrorCode::SpawnFailed);
    let create = format!("/containers/create?name={}", name(spec.id));
    let made = engine.post::<Made>(&create, &order).await.map_err(|error| match error {
        error if error.is_not_found() => start_error(
            ErrorCode::PlaceNotFound,
            format!("{error}; `docker pull {image}` gets an image from a registry"),
        ),
        error => failed(error),
    })?;
    let own = Own { engine: engine.clone(), id: Some(made.id.clone()) };
    let container = format!("/containers/{}", made.id);
    let inspected: Container = engine.get(&format!("{container}/json")).await.map_err(failed)?;
    find_program(&engine, &container, &inspected, &spec).await?;
    let errand = Errand { place: Place::Container(made.id.clone()), tty: console_size(spec.io), has_stdin };
    let inside = Inside { engine, container: made.id, id: spec.id };
    let subject = Subject::Container { remove: own.hand_over() };
    program::start(&carriers, inside, subject, &errand, spec.io).await
}

/// Looks whether the program is in the image: the init that starts it would only say so in the program's own output.
async fn find_program(
    engine: &Engine,
    container: &str,
    inspected: &Container,
    spec: &StartSpec,
) -> Result<(), StartError> {
    let program = spec.argv.first().map_or("", String::as_str);
    let paths: Vec<String> = if program.starts_with('/') {
        vec![program.to_owned()]
    } else if program.contains('/') {
        vec![format!("{}/{program}", spec.cwd.display())]
    } else {
        let env = inspected.config.env.iter().flatten();
        let path = env.filter_map(|variable| variable.strip_prefix("PATH=")).next_back();
        path.unwrap_or(DEFAULT_PATH).split(':').map(|dir| format!("{dir}/{program}")).collect()
    };
    for path in &paths {
        match engine.order(Method::HEAD, &format!("{container}/archive?path={}", escaped(path))).await {
            Ok(()) => return Ok(()),
            Err(error) if error.is_not_found() => {}
            // Whoever cannot be asked shall not be in the way.
            Err(_) => return Ok(()),
        }
    }
    Err(start_error(ErrorCode::ProgramNotFound, format!("{program}: not found in {}", paths.join(", "))))
}
