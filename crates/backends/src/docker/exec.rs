//! A program in a container that is there.

use std::time::Duration;

use ptyard_core::ErrorCode;
use ptyard_terminal::backend::{Io, Questions, Sink, Source, StartError, StartSpec, Started};
use serde_json::json;
use tokio::io::split;
use tokio::sync::watch;

use super::api::{Container, ExecState, Made, escaped};
use super::control::{DockerControl, Parts, Subject};
use super::engine::{Engine, EngineError, runtime_code};
use super::inside::Inside;
use super::streams::{StreamSink, StreamSource};
use super::watch::{Place, Watching};
use super::{console_size, detach_keys, framing, has_stdin, variables};
use crate::shared::start_error;

/// How long the process may take to be there once the start was ordered.
const START_LIMIT: Duration = Duration::from_secs(30);

pub(super) async fn start(engine: Engine, name: String, spec: StartSpec) -> Result<Started, StartError> {
    let failed = |error: EngineError| error.of_start(ErrorCode::SpawnFailed);
    let missing = |error: EngineError| match error {
        error if error.is_not_found() => start_error(ErrorCode::PlaceNotFound, error.to_string()),
        error => failed(error),
    };
    let container: Container =
        engine.get(&format!("/containers/{}/json", escaped(&name))).await.map_err(missing)?;
    if !container.state.running || container.state.paused {
        let message = format!("the container {name} does not run");
        return Err(start_error(ErrorCode::BackendUnreachable, message));
    }
    let (_none, unheld) =
        spec.ceilings.split(|_| Some("a container's limits are shared by all that runs in it".to_owned()))?;
    let tty = matches!(spec.io, Io::Tty(_));
    let has_stdin = has_stdin(spec.io);
    let order = json!({
        "Cmd": spec.argv,
        "Env": variables(&spec.env),
        "WorkingDir": spec.cwd,
        "Tty": tty,
        "AttachStdin": has_stdin,
        "AttachStdout": true,
        "AttachStderr": true,
        "ConsoleSize": console_size(spec.io),
        "DetachKeys": detach_keys("ctrl-^"),
    });
    let made: Made =
        engine.post(&format!("/containers/{}/exec", container.id), &order).await.map_err(missing)?;

    let place = Place::Exec { container: container.id.clone(), exec: made.id.clone() };
    let watching = Watching::begin(&engine, place).await.map_err(failed)?;
    let start = json!({ "Detach": false, "Tty": tty, "ConsoleSize": console_size(spec.io) });
    let stream = engine.hijack(&format!("/exec/{}/start", made.id), Some(&start)).await.map_err(failed)?;

    let (ended, is_ended) = watch::channel(false);
    let (read, write) = split(stream);
    let inside = Inside { engine: engine.clone(), container: container.id, id: spec.id };
    let fate = watching.spawn(is_ended, inside.clone());
    let subject = Subject::Exec { exec: made.id.clone() };
    // From here on an early return drops the control, which ends what may be running.
    let control = DockerControl::new(Parts { inside, subject, io: spec.io, fate });
    let framing = framing(spec.io);
    let mut source = StreamSource::new(read, framing, ended);
    let pid = wait_until_there(&engine, &made.id, &mut source).await?;
    Ok(Started {
        source: Box::new(source),
        sink: has_stdin.then(|| Box::new(StreamSink::new(write, framing)) as Box<dyn Sink>),
        control: Box::new(control),
        questions: Questions::Ours,
        pid: Some(pid),
        unheld,
    })
}

/// Waits until the process is there; the engine accepts a start before the runtime has tried it. What the runtime says
/// of one that it could not start comes as output.
async fn wait_until_there(engine: &Engine, exec: &str, source: &mut dyn Source) -> Result<u32, StartError> {
    let give_up = tokio::time::Instant::now() + START_LIMIT;
    let mut pause = Duration::from_millis(1);
    loop {
        let state: ExecState = engine
            .get(&format!("/exec/{exec}/json"))
            .await
            .map_err(|error| error.of_start(ErrorCode::SpawnFailed))?;
        if state.pid > 0 {
            return Ok(state.pid);
        }
        if let (false, Some(code)) = (state.running, state.exit_code) {
            let said = what_was_said(source).await;
            let code = runtime_code(&said).unwrap_or(match code {
                127 => ErrorCode::ProgramNotFound,
                126 => ErrorCode::ProgramNotExecutable,
                _ => ErrorCode::SpawnFailed,
            });
            return Err(start_error(code, said));
        }
        if tokio::time::Instant::now() >= give_up {
            return Err(start_error(ErrorCode::SpawnFailed, "the engine does not start the program"));
        }
        // The API has no way to wait for this; it takes some tens of milliseconds.
        tokio::time::sleep(pause).await;
        pause = (pause * 2).min(Duration::from_millis(50));
    }
}

async fn what_was_said(source: &mut dyn Source) -> String {
    let (mut said, mut room) = (Vec::new(), [0; 1024]);
    while said.len() < 4096 {
        let reading = std::future::poll_fn(|cx| source.poll_read(cx, &mut room));
        match tokio::time::timeout(Duration::from_secs(2), reading).await {
            Ok(Ok(n @ 1..)) => said.extend_from_slice(&room[..n]),
            _ => break,
        }
    }
    String::from_utf8_lossy(&said).trim().to_owned()
}
