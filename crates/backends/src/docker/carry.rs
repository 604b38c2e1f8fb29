//! The process that carries the streams of a program in a container.
//!
//! See `shared::carried`. It does what has to be done by whoever holds the connection: it watches for the end, asks for
//! the streams, and sees the program start. Its first line says what came of that; what follows is output. It ends with
//! the program's code, behind the last byte.

use std::future::poll_fn;
use std::io;
use std::os::fd::AsFd;
use std::time::Duration;

use hyper::Method;
use ptyard_core::ErrorCode;
use ptyard_terminal::backend::{Source, StartError};
use serde::{Deserialize, Serialize};
use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt, Interest, split};
use tokio::net::unix::pipe;
use tokio::sync::watch;
use tokio::task::JoinHandle;

use super::address::Address;
use super::api::{Container, ExecState};
use super::detach_keys;
use super::engine::{Engine, EngineError, Hijacked, runtime_code};
use super::streams::{Framing, StreamSink, StreamSource};
use super::watch::{Heard, Place, TOGETHER, Watching};
use crate::shared::carried::{REST_LIMIT, lost};
use crate::shared::start_error;

/// How long the process may take to be there once the start was ordered.
const START_LIMIT: Duration = Duration::from_secs(30);

/// Bytes read at a time.
const ROOM: usize = 64 << 10;

/// What stands behind the output of a program whose end was learned after the connections broke.
const INCOMPLETE: &[u8] =
    b"\r\n[ptyard: the connection to the engine broke; what was printed last may be missing]\r\n";

/// What a carrier is to do. The engine's address is in its variables, nothing of the program in its arguments.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Errand {
    /// What was made and is to be started.
    pub(super) place: Place,
    /// Rows and columns of its tty; `None` without one.
    pub(super) tty: Option<[u16; 2]>,
    /// Whether it reads what this process reads.
    pub(super) has_stdin: bool,
}

/// A carrier's first line.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) enum Told {
    /// The program runs, under this process id on the engine's machine if that is known.
    Runs { pid: Option<u32> },
    /// It does not.
    Refused { code: ErrorCode, message: String },
}

/// Carries the streams of the program that `argv` describes, until it is over; the status to exit with.
pub(crate) fn carry(argv: &[String]) -> u8 {
    let errand = argv.first().and_then(|text| serde_json::from_str(text).ok());
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let (Some(errand), Ok(runtime)) = (errand, runtime) else { return lost() };
    let carried = runtime.block_on(run(errand));
    carried.ok().flatten().and_then(|code| u8::try_from(code).ok()).unwrap_or_else(lost)
}

async fn run(errand: Errand) -> io::Result<Option<i32>> {
    let mut output = pipe::Sender::from_owned_fd(io::stdout().as_fd().try_clone_to_owned()?)?;
    let address = Address::from_variables(|name| std::env::var(name).ok());
    let begun = match address {
        Ok(address) => begin(&Engine::new(address), &errand).await,
        Err(error) => Err(start_error(ErrorCode::BackendUnreachable, error.to_string())),
    };
    let (told, begun) = match begun {
        Ok(begun) => (Told::Runs { pid: begun.pid }, Some(begun)),
        Err(StartError { code, message }) => (Told::Refused { code, message }, None),
    };
    output.write_all(format!("{}\n", serde_json::to_string(&told)?).as_bytes()).await?;
    let Some(Begun { source, sink, end, .. }) = begun else { return Ok(None) };
    if errand.has_stdin {
        let input = pipe::Receiver::from_owned_fd(io::stdin().as_fd().try_clone_to_owned()?)?;
        tokio::spawn(type_in(input, sink, framing(&errand)));
    }
    print(source, end, output).await
}

/// Passes output on until it and the program have ended; the code, if it is known.
async fn print(
    mut source: StreamSource<Hijacked>,
    mut end: JoinHandle<Heard>,
    mut output: pipe::Sender,
) -> io::Result<Option<i32>> {
    let (mut room, mut heard) = (vec![0; ROOM], None);
    let broke = loop {
        let reading = poll_fn(|cx| source.poll_read(cx, &mut room));
        let read = match heard {
            None => tokio::select! {
                biased;
                read = reading => read,
                ended = &mut end => {
                    heard = Some(ended?);
                    continue;
                }
                // Neither the server nor the keeper is there any more.
                () = unheard(&output) => return Ok(None),
            },
            Some(_) => tokio::time::timeout(REST_LIMIT, reading).await.unwrap_or(Ok(0)),
        };
        match read {
            Ok(0) => break false,
            Ok(read) => output.write_all(&room[..read]).await?,
            Err(_) => break true,
        }
    };
    let heard = match heard {
        Some(heard) => heard,
        // It may run, and nobody can hear it any more.
        None if broke => match tokio::time::timeout(TOGETHER, end).await {
            Ok(heard) => heard?,
            Err(_) => return Ok(None),
        },
        None => tokio::select! {
            heard = end => heard?,
            () = unheard(&output) => return Ok(None),
        },
    };
    if (broke || heard.cut_off) && heard.exit.code.is_some() {
        output.write_all(INCOMPLETE).await?;
    }
    Ok(heard.exit.code)
}

/// Waits until nobody can read this any more.
async fn unheard(output: &pipe::Sender) {
    loop {
        match output.ready(Interest::ERROR).await {
            Ok(ready) if !ready.is_error() && !ready.is_write_closed() => tokio::task::yield_now().await,
            _ => return,
        }
    }
}

/// Passes input on. The end of a pipe is passed on too; that of a tty's is typed.
async fn type_in(mut input: pipe::Receiver, mut sink: StreamSink<Hijacked>, framing: Framing) {
    let mut room = vec![0; ROOM];
    loop {
        let passed = match input.read(&mut room).await {
            Ok(read @ 1..) => sink.write(&room[..read]).await,
            Ok(0) if framing == Framing::Pieces => {
                let _broken = sink.close().await;
                return;
            }
            _ => return,
        };
        // Whoever types hears of it when the program is lost.
        if passed.is_err() {
            return;
        }
    }
}

/// A program that has begun.
struct Begun {
    source: StreamSource<Hijacked>,
    sink: StreamSink<Hijacked>,
    end: JoinHandle<Heard>,
    pid: Option<u32>,
}

const fn framing(errand: &Errand) -> Framing {
    match errand.tty {
        Some(_) => Framing::Raw,
        None => Framing::Pieces,
    }
}

async fn begin(engine: &Engine, errand: &Errand) -> Result<Begun, StartError> {
    let failed = |error: EngineError| error.of_start(ErrorCode::SpawnFailed);
    // Before the start: an end cannot be missed, and no output.
    let watching = Watching::begin(engine, errand.place.clone()).await.map_err(failed)?;
    let stream = match &errand.place {
        Place::Container(id) => {
            // No text contains the byte FF, and here it can be given; in a document it could not.
            let streams = format!(
                "/containers/{id}/attach?stream=1&stdout=1&stderr=1&stdin={}&detachKeys={}",
                u8::from(errand.has_stdin),
                detach_keys("%FF")
            );
            let stream = engine.hijack(&streams, None).await.map_err(failed)?;
            engine.order(Method::POST, &format!("/containers/{id}/start")).await.map_err(failed)?;
            stream
        }
        Place::Exec { exec, .. } => {
            let start = json!({ "Detach": false, "Tty": errand.tty.is_some(), "ConsoleSize": errand.tty });
            engine.hijack(&format!("/exec/{exec}/start"), Some(&start)).await.map_err(failed)?
        }
    };
    let (ended, is_ended) = watch::channel(false);
    let (read, write) = split(stream);
    let mut source = StreamSource::new(read, framing(errand), ended);
    let end = tokio::spawn(watching.until_the_end(is_ended));
    let pid = match &errand.place {
        Place::Container(id) => {
            let inspected: Option<Container> = engine.get(&format!("/containers/{id}/json")).await.ok();
            inspected.map(|container| container.state.pid).filter(|&pid| pid > 0)
        }
        Place::Exec { exec, .. } => Some(wait_until_there(engine, exec, &mut source).await?),
    };
    Ok(Begun { source, sink: StreamSink::new(write), end, pid })
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
        let reading = poll_fn(|cx| source.poll_read(cx, &mut room));
        match tokio::time::timeout(Duration::from_secs(2), reading).await {
            Ok(Ok(n @ 1..)) => said.extend_from_slice(&room[..n]),
            _ => break,
        }
    }
    String::from_utf8_lossy(&said).trim().to_owned()
}
