//! How fast the output of programs elsewhere comes, against the plain client of the same wire that writes to a file; and
//! what a message to an agent in a pane of tmux costs.
//!
//! Places are made for the run: an engine, a tmux server and an sshd of its own. What is not installed is left out.

use std::path::Path;
use std::process::Stdio;
use std::time::{Duration, Instant};

use ptyard_server::api::{ExecRequest, WaitRequest};
use ptyard_testkit::places::docker::{Engine, IMAGE};
use ptyard_testkit::places::ssh::{HOST, SshServer};
use tokio::process::Command;

use super::mail;
use crate::Outcome;
use crate::bed::Bed;
use crate::corpus::Corpus;
use crate::peers::tmux;
use crate::report::{Goal, Report, Row};
use crate::rounds::Samples;
use crate::server::{self, Server};

const CASE: &str = "places";

/// A container that is there, for programs of both sides.
const THERE: &str = "there";

pub(crate) async fn run(bed: &Bed, report: &mut Report) -> Outcome<()> {
    let dir = tempfile::tempdir()?;
    let path = dir.path().join("corpus");
    let corpus = Corpus::write(&path, bed.corpus_bytes)?;
    // Everybody finds the file in the page cache.
    drop(std::fs::read(&path)?);
    docker(bed, &path, corpus, report).await?;
    in_tmux(bed, &path, corpus, report).await?;
    ssh(bed, &path, corpus, report).await?;
    mail::in_tmux(CASE, bed, report).await
}

/// Megabytes a second of both sides, round by round.
#[derive(Default)]
struct Sides {
    ours: Samples,
    theirs: Samples,
}

impl Sides {
    fn tell(&self, place: &str, whom: &str, least: f64, report: &mut Report) {
        report.push(Row::median(CASE, format!("drain: {whom}"), &self.theirs, "MB/s"));
        let ours = Row::median(CASE, format!("drain: {place}"), &self.ours, "MB/s");
        let ratio = self.ours.over(&self.theirs).median();
        report.push(ours.against(whom, ratio).goal(Goal::RatioAtLeast(least)));
    }
}

async fn docker(bed: &Bed, path: &Path, corpus: Corpus, report: &mut Report) -> Outcome<()> {
    let Some(engine) = Engine::start() else {
        report.push(Row::skipped(CASE, "docker", "no engine can be had here"));
        return Ok(());
    };
    let volume = format!("{}:/corpus:ro", path.display());
    engine.docker(&[
        "run", "--detach", "--init", "--name", THERE, "--volume", &volume, IMAGE, "sleep", "100000",
    ]);
    let variables = [("DOCKER_HOST", engine.host())];
    let mut server = Server::start_with(&bed.ptyard, &variables).await?;
    let megabytes = corpus.bytes as f64 / 1e6;
    let mut sides = Sides::default();
    for _ in 0..bed.rounds {
        let mut client = Command::new("docker");
        client.env("DOCKER_HOST", engine.host()).args(["exec", THERE, "cat", "/corpus"]);
        sides.theirs.push(megabytes / to_a_file(client, corpus.bytes).await?);
        let request = at(&format!("docker:container={THERE}"), &["cat", "/corpus"]);
        sides.ours.push(megabytes / drain(&mut server, &request, corpus.bytes).await?);
    }
    server.stop().await?;
    sides.tell("docker", "docker exec > file", 0.5, report);
    Ok(())
}

async fn ssh(bed: &Bed, path: &Path, corpus: Corpus, report: &mut Report) -> Outcome<()> {
    let Some(there) = SshServer::start() else {
        report.push(Row::skipped(CASE, "ssh", "no sshd can be had here"));
        return Ok(());
    };
    let all = format!("{}:{}", there.bin().display(), std::env::var("PATH")?);
    let mut server = Server::start_with(&bed.ptyard, &[("PATH", all)]).await?;
    let megabytes = corpus.bytes as f64 / 1e6;
    let path = path.to_string_lossy();
    let mut sides = Sides::default();
    for _ in 0..bed.rounds {
        let mut client = Command::new(there.bin().join("ssh"));
        client.args([HOST, "cat", &path]);
        sides.theirs.push(megabytes / to_a_file(client, corpus.bytes).await?);
        let request = at(&format!("ssh:{HOST}"), &["cat", &path]);
        sides.ours.push(megabytes / drain(&mut server, &request, corpus.bytes).await?);
    }
    server.stop().await?;
    sides.tell("ssh", "ssh host cat > file", 0.8, report);
    Ok(())
}

async fn in_tmux(bed: &Bed, path: &Path, corpus: Corpus, report: &mut Report) -> Outcome<()> {
    if !tmux::is_here().await {
        report.push(Row::skipped(CASE, "tmux", "not installed"));
        return Ok(());
    }
    let directory = tempfile::tempdir()?;
    let variables = [("TMUX_TMPDIR", directory.path().display().to_string())];
    let mut server = Server::start_with(&bed.ptyard, &variables).await?;
    let megabytes = corpus.bytes as f64 / 1e6;
    let mut sides = Sides::default();
    for _ in 0..bed.rounds {
        sides.theirs.push(megabytes / tmux::drain(path, corpus.on_a_tty).await?);
        sides.ours.push(megabytes / through_a_gate(&mut server, path, corpus.on_a_tty).await?);
    }
    server.stop().await?;
    tmux::end(directory.path()).await?;
    sides.tell("tmux", "tmux pipe-pane", 0.9, report);
    Ok(())
}

fn at(place: &str, argv: &[&str]) -> ExecRequest {
    let request = server::on_a_pipe(argv, server::until("exit", Duration::ZERO));
    ExecRequest { backend: Some(place.to_owned()), ..request }
}

/// Seconds until a client has written all of it to a file and has ended.
async fn to_a_file(mut client: Command, expected: u64) -> Outcome<f64> {
    let file = tempfile::NamedTempFile::new()?;
    client.stdin(Stdio::null()).stdout(file.reopen()?);
    let started = Instant::now();
    let status = client.status().await?;
    let took = started.elapsed().as_secs_f64();
    let length = file.as_file().metadata()?.len();
    if !status.success() || length != expected {
        return Err(format!("{client:?}: {status}, {length} of {expected} bytes").into());
    }
    Ok(took)
}

/// Seconds from the start of a program until its end was told and all of its output is in the log.
async fn drain(server: &mut Server, request: &ExecRequest, expected: u64) -> Outcome<f64> {
    let started = Instant::now();
    let id = server.client.exec(request).await?.id;
    until_exit(server, &id).await?;
    let took = started.elapsed().as_secs_f64();
    check(server, &id, expected).await?;
    Ok(took)
}

/// The same from the moment on at which a program that waits may begin.
async fn through_a_gate(server: &mut Server, path: &Path, expected: u64) -> Outcome<f64> {
    let dir = tempfile::tempdir()?;
    let go = dir.path().join("go");
    rustix::fs::mkfifoat(rustix::fs::CWD, &go, rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR)?;
    let script = format!("cat '{}' >/dev/null; exec cat '{}'", go.display(), path.display());
    let request = ExecRequest { tty: true, ..at("tmux", &["sh", "-c", &script]) };
    let id = server.client.exec(&request).await?.id;
    let gate = tokio::fs::OpenOptions::new().write(true).open(&go).await?;
    let started = Instant::now();
    drop(gate);
    until_exit(server, &id).await?;
    let took = started.elapsed().as_secs_f64();
    check(server, &id, expected).await?;
    Ok(took)
}

async fn until_exit(server: &mut Server, id: &str) -> Outcome<()> {
    let request = WaitRequest { until: vec!["exit".to_owned()], timeout_ms: None, since: None };
    server.client.wait(id, &request).await?;
    Ok(())
}

/// Sees that all of it came, and removes it.
async fn check(server: &mut Server, id: &str, expected: u64) -> Outcome<()> {
    let end = server.client.info(id).await?.log.end;
    server.client.remove(id).await?;
    if end == expected { Ok(()) } else { Err(format!("{end} bytes came of {expected}").into()) }
}
