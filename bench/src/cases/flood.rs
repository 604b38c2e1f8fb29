//! A program that prints without end: what it does to memory, and to the window that looks at it.

use std::time::{Duration, Instant};

use ptyard_server::api::WindowRequest;
use serde_json::json;

use crate::Outcome;
use crate::bed::Bed;
use crate::peers::unix_local::{self, UnixLocal};
use crate::report::{Goal, Report, Row};
use crate::rounds::Samples;
use crate::server::{self, Server};

const CASE: &str = "flood";

/// How long nobody polls.
const UNPOLLED: Duration = Duration::from_secs(5);

/// Tokens of the first window: at most 200 bytes.
const CAP_TOKENS: i64 = 50;

pub(crate) async fn run(bed: &Bed, report: &mut Report) -> Outcome<()> {
    unpolled(bed, report).await?;
    first_window(bed, report).await
}

async fn unpolled(bed: &Bed, report: &mut Report) -> Outcome<()> {
    let mut server = Server::start(&bed.ptyard).await?;
    let before = server.memory()?;
    let window = server::until("exit", Duration::ZERO);
    let id = server::id(&server.client.exec(&server::on_a_tty(&["yes"], window)).await?);
    tokio::time::sleep(UNPOLLED).await;
    let after = server.memory()?;
    let printed = server.client.info(&id).await?.log.end;
    server.client.kill(&id, Some(0)).await?;
    server.stop().await?;

    let mib = |before: u64, after: u64| after.saturating_sub(before) as f64 / 1024.0;
    let row = Row::new(CASE, "memory of a server, `yes` unpolled for 5 s", mib(before.rss, after.rss), "MiB");
    let note = format!(
        "{} MB printed; of the growth {:.1} MiB private, {:.1} MiB of files",
        printed / 1_000_000,
        mib(before.anon, after.anon),
        mib(before.file + before.shmem, after.file + after.shmem)
    );
    let whom = "unix_local (Python)";
    let Some(python) = &bed.python else {
        report.push(row.note(note).goal(Goal::AtMost(16.0)));
        report.push(Row::skipped(CASE, whom, "not installed"));
        return Ok(());
    };
    let mut python = UnixLocal::start(python).await?;
    let theirs =
        unix_local::number(&python.call(json!(["unpolled", UNPOLLED.as_secs()])).await?, "kib")? / 1024.0;
    python.stop().await?;
    let ratio = mib(before.rss, after.rss) / theirs;
    report.push(row.against(whom, ratio).note(note).goal(Goal::AtMost(16.0)));
    report.push(Row::new(CASE, whom, theirs, "MiB"));
    Ok(())
}

async fn first_window(bed: &Bed, report: &mut Report) -> Outcome<()> {
    let mut server = Server::start(&bed.ptyard).await?;
    let mut python = match &bed.python {
        Some(python) => Some(UnixLocal::start(python).await?),
        None => None,
    };
    let [mut wall, mut seen, mut bytes, mut off, mut covered, mut theirs] = [const { Samples::none() }; 6];
    for _ in 0..bed.rounds {
        let window = WindowRequest { yield_ms: Some(250), max_tokens: Some(CAP_TOKENS), until: Vec::new() };
        let started = Instant::now();
        let reply = server.client.exec(&server::on_a_tty(&["yes"], window)).await?;
        seen.push(started.elapsed().as_secs_f64() * 1e3);
        wall.push(reply.wall_ms);
        bytes.push(reply.output.len() as f64);
        let right = (reply.next - reply.from - reply.evicted).div_ceil(4);
        off.push(reply.original_token_count.unwrap_or(0).abs_diff(right) as f64);
        covered.push((reply.next - reply.from) as f64 / 1e6);
        server.client.kill(&reply.id, Some(0)).await?;
        if let Some(python) = &mut python {
            theirs.push(unix_local::number(&python.call(json!(["first_window"])).await?, "ms")?);
        }
    }
    server.stop().await?;
    if let Some(python) = python {
        python.stop().await?;
    }
    let note =
        format!("worst; the client waited {:.1} ms; median {:.1} MB covered", seen.worst(), covered.median());
    let row = Row::new(CASE, "first 250 ms of `yes` in 50 tokens, wall_ms", wall.worst(), "ms").note(note);
    report.push(row.goal(Goal::AtMost(300.0)));
    report.push(Row::new(CASE, "the same: bytes shown", bytes.worst(), "bytes").goal(Goal::AtMost(200.0)));
    report.push(
        Row::new(CASE, "the same: error of the token count", off.worst(), "tokens").goal(Goal::AtMost(0.0)),
    );
    if !theirs.is_empty() {
        report
            .push(Row::new(CASE, "unix_local (Python), the same window", theirs.worst(), "ms").note("worst"));
    }
    Ok(())
}
