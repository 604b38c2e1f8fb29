//! A container of its own for one program.

use hyper::Method;
use ptyard_core::ErrorCode;
use ptyard_terminal::backend::{Io, Questions, Sink, StartError, StartSpec, Started};
use serde_json::json;
use tokio::io::split;
use tokio::sync::watch;

use super::api::{Container, Made, escaped};
use super::control::{DockerControl, Parts, Subject};
use super::engine::{Engine, EngineError};
use super::inside::Inside;
use super::streams::{StreamSink, StreamSource};
use super::watch::{Place, Watching};
use super::{console_size, detach_keys, framing, has_stdin, variables};
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

pub(super) async fn start(
    engine: Engine,
    image: String,
    mark: Option<&str>,
    spec: StartSpec,
) -> Result<Started, StartError> {
    let tty = matches!(spec.io, Io::Tty(_));
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
        "Tty": tty,
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
    let made = engine.post::<Made>("/containers/create", &order).await.map_err(|error| match error {
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

    // Before the start: an end cannot be missed, and no output.
    let place = Place::Container(made.id.clone());
    let watching = Watching::begin(&engine, place).await.map_err(failed)?;
    // No text contains the byte FF, and here it can be given; in a document it could not.
    let streams = format!(
        "{container}/attach?stream=1&stdout=1&stderr=1&stdin={}&detachKeys={}",
        u8::from(has_stdin),
        detach_keys("%FF")
    );
    let stream = engine.hijack(&streams, None).await.map_err(failed)?;
    engine.order(Method::POST, &format!("{container}/start")).await.map_err(failed)?;
    let inspected: Option<Container> = engine.get(&format!("{container}/json")).await.ok();

    let (ended, is_ended) = watch::channel(false);
    let (read, write) = split(stream);
    let inside = Inside { engine: engine.clone(), container: made.id, id: spec.id };
    let subject = Subject::Container { remove: own.hand_over() };
    let fate = watching.spawn(is_ended, inside.clone());
    let control = DockerControl::new(Parts { inside, subject, io: spec.io, fate });
    let framing = framing(spec.io);
    Ok(Started {
        source: Box::new(StreamSource::new(read, framing, ended)),
        sink: has_stdin.then(|| Box::new(StreamSink::new(write, framing)) as Box<dyn Sink>),
        control: Box::new(control),
        questions: Questions::Ours,
        pid: inspected.map(|container| container.state.pid).filter(|&pid| pid > 0),
        unheld: Vec::new(),
    })
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
