//! A program that prints without end: what it does to memory, and to the window that looks at it.
//!
//! On a tty `yes` is slow, because the kernel turns every line feed by itself; into a pipe it prints as fast as anything
//! can be read.

use std::time::{Duration, Instant};

use ptyard_server::api::{ExecRequest, WindowRequest};
use serde_json::json;

use crate::Outcome;
use crate::bed::Bed;
use crate::peers::{driver, unix_local};
use crate::report::{Goal, Report, Row};
use crate::rounds::Samples;
use crate::server::{self, Server};

const CASE: &str = "flood";

const PEER: &str = "unix_local (Python)";

/// How long nobody polls.
const UNPOLLED: Duration = Duration::from_secs(5);

/// Tokens of the first window: at most 200 bytes.
const CAP_TOKENS: i64 = 50;

/// What `yes` prints to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Onto {
    Tty,
    Pipe,
}

impl Onto {
    fn yes(self, window: WindowRequest) -> ExecRequest {
        match self {
            Self::Tty => server::on_a_tty(&["yes"], window),
            Self::Pipe => server::on_a_pipe(&["yes"], window),
        }
    }

    const fn name(self) -> &'static str {
        match self {
            Self::Tty => "`yes` on a tty",
            Self::Pipe => "`yes` into a pipe",
        }
    }
}

pub(crate) async fn run(bed: &Bed, report: &mut Report) -> Outcome<()> {
    for onto in [Onto::Tty, Onto::Pipe] {
        unpolled(bed, onto, report).await?;
    }
    for onto in [Onto::Tty, Onto::Pipe] {
        first_window(bed, onto, report).await?;
    }
    Ok(())
}

async fn unpolled(bed: &Bed, onto: Onto, report: &mut Report) -> Outcome<()> {
    let mut server = Server::start(&bed.ptyard).await?;
    let before = server.memory()?;
    let id = server::id(&server.client.exec(&onto.yes(server::until("exit", Duration::ZERO))).await?);
    tokio::time::sleep(UNPOLLED).await;
    let after = server.memory()?;
    let printed = server.client.info(&id).await?.log.end;
    server.client.kill(&id, Some(0)).await?;
    server.stop().await?;

    let mib = |before: u64, after: u64| after.saturating_sub(before) as f64 / 1024.0;
    let growth = mib(before.rss, after.rss);
    let note = format!(
        "{} MB printed; of the growth {:.1} MiB private, {:.1} MiB of files",
        printed / 1_000_000,
        mib(before.anon, after.anon),
        mib(before.file + before.shmem, after.file + after.shmem)
    );
    let row =
        Row::new(CASE, format!("memory a server grows, 5 s of {}, unpolled", onto.name()), growth, "MiB");
    let row = row.note(note);
    let Some(python) = &bed.python else {
        report.push(row.goal(Goal::AtMost(16.0)));
        report.push(Row::skipped(CASE, PEER, "not installed"));
        return Ok(());
    };
    let mut python = unix_local::start(python).await?;
    let answer = python.call(json!(["unpolled", onto == Onto::Tty, UNPOLLED.as_secs()])).await?;
    python.stop().await?;
    let theirs = driver::number(&answer, "kib")? / 1024.0;
    report.push(row.against(PEER, growth / theirs).goal(Goal::AtMost(16.0)));
    report.push(Row::new(CASE, PEER, theirs, "MiB"));
    Ok(())
}

/// What the first windows were like.
struct Windows {
    wall_ms: Samples,
    seen_ms: Samples,
    shown_bytes: Samples,
    count_error: Samples,
    covered_mb: Samples,
    peer_ms: Samples,
}

async fn first_window(bed: &Bed, onto: Onto, report: &mut Report) -> Outcome<()> {
    let mut server = Server::start(&bed.ptyard).await?;
    let mut python = match &bed.python {
        Some(python) => Some(unix_local::start(python).await?),
        None => None,
    };
    let [wall_ms, seen_ms, shown_bytes, count_error, covered_mb, peer_ms] = [const { Samples::none() }; 6];
    let mut windows = Windows { wall_ms, seen_ms, shown_bytes, count_error, covered_mb, peer_ms };
    for _ in 0..bed.rounds {
        let window = WindowRequest { yield_ms: Some(250), max_tokens: Some(CAP_TOKENS), until: Vec::new() };
        let started = Instant::now();
        let reply = server.client.exec(&onto.yes(window)).await?;
        windows.seen_ms.push(started.elapsed().as_secs_f64() * 1e3);
        windows.wall_ms.push(reply.wall_ms);
        windows.shown_bytes.push(reply.output.len() as f64);
        let right = (reply.next - reply.from - reply.evicted).div_ceil(4);
        windows.count_error.push(reply.original_token_count.unwrap_or(0).abs_diff(right) as f64);
        windows.covered_mb.push((reply.next - reply.from) as f64 / 1e6);
        server.client.kill(&reply.id, Some(0)).await?;
        if let Some(python) = &mut python {
            let answer = python.call(json!(["first_window", onto == Onto::Tty])).await?;
            windows.peer_ms.push(driver::number(&answer, "ms")?);
        }
    }
    server.stop().await?;
    if let Some(python) = python {
        python.stop().await?;
    }
    tell(&windows, onto, report);
    Ok(())
}

fn tell(windows: &Windows, onto: Onto, report: &mut Report) {
    let what = format!("first 250 ms of {} in 50 tokens", onto.name());
    let note = format!(
        "worst; the client waited {:.1} ms; median {:.1} MB covered",
        windows.seen_ms.worst(),
        windows.covered_mb.median()
    );
    let row = Row::new(CASE, format!("{what}, wall_ms"), windows.wall_ms.worst(), "ms").note(note);
    report.push(row.goal(Goal::AtMost(300.0)));
    if !windows.peer_ms.is_empty() {
        report.push(Row::new(CASE, PEER, windows.peer_ms.worst(), "ms").note("worst"));
    }
    let shown = Row::new(CASE, format!("{what}, bytes shown"), windows.shown_bytes.worst(), "bytes");
    report.push(shown.goal(Goal::AtMost(200.0)));
    let error = Row::new(CASE, format!("{what}, error of the count"), windows.count_error.worst(), "tokens");
    report.push(error.goal(Goal::AtMost(0.0)));
}
