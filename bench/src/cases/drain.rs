//! How fast `cat` of a file of coloured log lines comes out of a terminal.

use std::path::Path;
use std::time::{Duration, Instant};

use ptyard_server::api::WindowRequest;
use ptyard_server::api::WriteRequest;
use ptyard_yard::TerminalRef;
use serde_json::json;

use crate::Outcome;
use crate::bed::Bed;
use crate::corpus::Corpus;
use crate::peers::tmux;
use crate::peers::{driver, unix_local};
use crate::report::{Goal, Report, Row};
use crate::rounds::Samples;
use crate::server::{self, Server};
use crate::tty::Tty;
use crate::yard::{self, InProcess};

const CASE: &str = "drain";

/// Long enough for any drain.
const LONGEST: Duration = Duration::from_secs(300);

#[derive(Default)]
struct Speeds {
    limit: Samples,
    log: Samples,
    window: Samples,
    screen: Samples,
    socket: Samples,
    tmux: Samples,
    unix_local: Samples,
}

pub(crate) async fn run(bed: &Bed, report: &mut Report) -> Outcome<()> {
    let dir = tempfile::tempdir()?;
    let path = dir.path().join("corpus");
    let corpus = Corpus::write(&path, bed.corpus_bytes)?;
    // Everybody finds the file in the page cache.
    drop(std::fs::read(&path)?);

    let mut python = match &bed.python {
        Some(python) => Some(unix_local::start(python).await?),
        None => None,
    };
    let tmux = tmux::is_here().await;
    let megabytes = corpus.bytes as f64 / 1e6;
    let mut speeds = Speeds::default();
    for _ in 0..bed.rounds {
        speeds.limit.push(megabytes / limit(&path, corpus)?);
        speeds.log.push(megabytes / log_only(&path, corpus).await?);
        speeds.screen.push(megabytes / live_screen(&path, corpus).await?);
        speeds.window.push(megabytes / one_window(&path, corpus).await?);
        speeds.socket.push(megabytes / over_the_socket(bed, &path, corpus).await?);
        if tmux {
            speeds.tmux.push(megabytes / tmux::drain(&path, corpus.on_a_tty).await?);
        }
        if let Some(python) = &mut python {
            let answer = python.call(json!(["drain", path])).await?;
            speeds.unix_local.push(megabytes / driver::number(&answer, "seconds")?);
        }
    }
    if let Some(python) = python {
        python.stop().await?;
    }
    tell(&speeds, corpus, report);
    Ok(())
}

fn tell(speeds: &Speeds, corpus: Corpus, report: &mut Report) {
    let row = |what: &str, samples: &Samples| Row::median(CASE, what, samples, "MB/s");
    let against = |what: &str, samples: &Samples, whom: &str, other: &Samples, goal: Goal| {
        row(what, samples).against(whom, samples.over(other).median()).goal(goal)
    };
    let limit = "plain read loop";
    let at_least = Goal::RatioAtLeast;
    report.push(row(limit, &speeds.limit).note(format!("{} MB of coloured lines", corpus.bytes / 1_000_000)));
    report.push(against("in process, log only", &speeds.log, limit, &speeds.limit, at_least(0.90)));
    report.push(against("in process, live screen", &speeds.screen, limit, &speeds.limit, at_least(0.65)));
    report.push(against(
        "in process, one window until exit",
        &speeds.window,
        limit,
        &speeds.limit,
        Goal::Shown,
    ));
    report.push(against(
        "over the socket, windows until exit",
        &speeds.socket,
        limit,
        &speeds.limit,
        Goal::Shown,
    ));
    for (whom, other, goal) in [
        ("unix_local (Python)", &speeds.unix_local, at_least(3.0)),
        ("tmux pipe-pane", &speeds.tmux, at_least(4.0)),
    ] {
        if other.is_empty() {
            report.push(Row::skipped(CASE, whom, "not installed"));
            continue;
        }
        report.push(row(whom, other));
        report.push(against("in process, log only", &speeds.log, whom, other, goal));
        report.push(against("over the socket, windows until exit", &speeds.socket, whom, other, Goal::Shown));
    }
}

fn check(end: u64, corpus: Corpus) -> Outcome<()> {
    if end == corpus.on_a_tty {
        return Ok(());
    }
    Err(format!("{end} bytes came of {}", corpus.on_a_tty).into())
}

fn limit(path: &Path, corpus: Corpus) -> Outcome<f64> {
    let started = Instant::now();
    let end = Tty::start(&["cat", &path.to_string_lossy()])?.drain()?;
    let took = started.elapsed().as_secs_f64();
    check(end, corpus)?;
    Ok(took)
}

/// Nothing but the log: nobody reads it, the end is an event.
async fn log_only(path: &Path, corpus: Corpus) -> Outcome<f64> {
    let place = InProcess::open()?;
    let mut events = place.yard.events(None);
    let started = Instant::now();
    let window = place.exec(&["cat", &path.to_string_lossy()], yard::until("exit", Duration::ZERO)).await?;
    while events.next().await.kind != "exited" {}
    let took = started.elapsed().as_secs_f64();
    check(place.yard.info(&TerminalRef::Id(window.id))?.log_end, corpus)?;
    place.close().await;
    Ok(took)
}

/// Somebody looked at the screen: it is kept up to date, and looked at again at the end.
async fn live_screen(path: &Path, corpus: Corpus) -> Outcome<f64> {
    let place = InProcess::open()?;
    let mut events = place.yard.events(None);
    let started = Instant::now();
    let window = place.exec(&["cat", &path.to_string_lossy()], yard::until("exit", Duration::ZERO)).await?;
    let at = TerminalRef::Id(window.id);
    place.yard.screen(&at, 0).await?;
    while events.next().await.kind != "exited" {}
    let screen = place.yard.screen(&at, 0).await?;
    let took = started.elapsed().as_secs_f64();
    check(screen.offset, corpus)?;
    if !screen.lines.iter().any(|line| line == "that was all") {
        return Err(format!("the last screen is not the end of the corpus: {:?}", screen.lines).into());
    }
    place.close().await;
    Ok(took)
}

/// Everything is decoded, counted and cut to one window.
async fn one_window(path: &Path, corpus: Corpus) -> Outcome<f64> {
    let place = InProcess::open()?;
    let started = Instant::now();
    let window = place.exec(&["cat", &path.to_string_lossy()], yard::until("exit", LONGEST)).await?;
    let took = started.elapsed().as_secs_f64();
    check(window.next, corpus)?;
    place.close().await;
    Ok(took)
}

/// The same as a client has it: a first window of 250 ms, then windows until the program has ended.
async fn over_the_socket(bed: &Bed, path: &Path, corpus: Corpus) -> Outcome<f64> {
    let mut server = Server::start(&bed.ptyard).await?;
    let first = WindowRequest { yield_ms: Some(250), max_tokens: Some(50), until: Vec::new() };
    let started = Instant::now();
    let mut window = server.client.exec(&server::on_a_tty(&["cat", &path.to_string_lossy()], first)).await?;
    while window.exit.is_none() {
        let poll = WriteRequest { window: server::until("exit", LONGEST), ..WriteRequest::default() };
        window = server.client.write(&window.id, &poll).await?;
    }
    let took = started.elapsed().as_secs_f64();
    check(window.next, corpus)?;
    server.stop().await?;
    Ok(took)
}
