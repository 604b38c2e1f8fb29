//! A program in a container, behind the process that carries its streams.

use std::future::poll_fn;

use ptyard_core::ErrorCode;
use ptyard_terminal::backend::{
    Ceilings, Earlier, Io, Placing, Questions, Sink, Source, StartError, StartSpec, Started, Stdin,
};

use super::carry::{Errand, Told};
use super::control::{DockerControl, Parts, Subject};
use super::engine::Engine;
use super::inside::Inside;
use crate::shared::carried::{CarriedSink, CarriedSource, Carrier};
use crate::shared::here::Here;
use crate::shared::start_error;

/// Longest first line of a carrier.
const MOST_TOLD: usize = 64 << 10;

/// How carriers are started, and for which engine.
#[derive(Clone)]
pub(super) struct Carriers {
    pub(super) engine: Engine,
    /// The command that calls [`carry`](crate::carry()) with the arguments behind it.
    pub(super) command: Vec<String>,
    /// Where they run.
    pub(super) here: Here,
}

/// Starts the program of an errand. Whatever fails, nothing of it is left.
pub(super) async fn start(
    carriers: &Carriers,
    inside: Inside,
    subject: Subject,
    errand: &Errand,
    io: Io,
) -> Result<Started, StartError> {
    let internal = |error: &dyn std::fmt::Display| start_error(ErrorCode::Internal, error.to_string());
    let mut argv = carriers.command.clone();
    argv.extend(["docker".to_owned(), serde_json::to_string(errand).map_err(|error| internal(&error))?]);
    let id = inside.id;
    let carrier = StartSpec {
        id,
        argv,
        cwd: "/".into(),
        env: carriers.engine.address().variables(),
        io: Io::Pipes(if errand.has_stdin { Stdin::Pipe } else { Stdin::Null }),
        ceilings: Ceilings::default(),
        title: None,
        placing: Placing::Exact,
    };
    let Started { mut source, sink, control, .. } = carriers.here.backend().await?.start(carrier).await?;
    let carrier = Carrier::new(control);
    // From here on an early return drops the control, which ends what may be running.
    let control = DockerControl::new(Parts { inside, subject, io, carrier }, io);
    let (told, rest) = first_line(&mut *source).await?;
    let pid = match serde_json::from_slice(&told) {
        Ok(Told::Runs { pid }) => pid,
        Ok(Told::Refused { code, message }) => return Err(start_error(code, message)),
        Err(error) => return Err(internal(&error)),
    };
    Ok(Started {
        source: Box::new(CarriedSource::new(source, rest)),
        sink: sink.map(|sink| Box::new(CarriedSink::new(sink, io)) as Box<dyn Sink>),
        control: Box::new(control),
        questions: Questions::Ours,
        pid,
        unheld: Vec::new(),
    })
}

/// Wraps what is left of a program whose carrier an earlier server started.
pub(super) fn again(kept: Earlier, inside: Inside, subject: Subject, io: Io) -> Earlier {
    let Earlier { id, started, unseen_from } = kept;
    let carrier = Carrier::new(started.control);
    let started = Started {
        sink: started.sink.map(|sink| Box::new(CarriedSink::new(sink, io)) as Box<dyn Sink>),
        control: Box::new(DockerControl::again(Parts { inside, subject, io, carrier })),
        // The process id here is the carrier's.
        pid: None,
        ..started
    };
    Earlier { id, started, unseen_from }
}

/// A carrier's first line, and what came behind it.
async fn first_line(source: &mut dyn Source) -> Result<(Vec<u8>, Vec<u8>), StartError> {
    let (mut heard, mut room) = (Vec::new(), [0; 4096]);
    loop {
        let read = poll_fn(|cx| source.poll_read(cx, &mut room)).await.unwrap_or(0);
        if read == 0 || heard.len() > MOST_TOLD {
            let said = String::from_utf8_lossy(&heard).trim().to_owned();
            return Err(start_error(ErrorCode::SpawnFailed, format!("its streams are not carried: {said}")));
        }
        heard.extend_from_slice(&room[..read]);
        if let Some(end) = heard.iter().position(|&byte| byte == b'\n') {
            let rest = heard.split_off(end + 1);
            return Ok((heard, rest));
        }
    }
}
