//! A thousand terminals that do nothing, in one server.

use std::time::{Duration, Instant};

use futures_util::future::try_join_all;
use ptyard::client::Client;
use ptyard_server::api::{Input, WriteRequest};

use crate::Outcome;
use crate::bed::Bed;
use crate::procfs;
use crate::report::{Goal, Report, Row};
use crate::server::{self, Server};

const CASE: &str = "crowd";

pub(super) const TERMINALS: usize = 1_000;

/// Connections that share the work; a server takes 512.
const CONNECTIONS: usize = 250;

/// What is settled before memory and wake-ups are looked at.
const SETTLE: Duration = Duration::from_secs(2);

/// How long nothing is to happen.
const IDLE: Duration = Duration::from_secs(2);

const LONGEST: Duration = Duration::from_secs(30);

pub(crate) async fn run(bed: &Bed, report: &mut Report) -> Outcome<()> {
    let server = Server::start(&bed.ptyard).await?;
    let before = server.memory()?;

    let started = Instant::now();
    let ids = start_all(&server).await?;
    let starting = started.elapsed().as_secs_f64();
    tokio::time::sleep(SETTLE).await;
    let after = server.memory()?;
    let per_terminal = |before: u64, after: u64| after.saturating_sub(before) as f64 / TERMINALS as f64;

    let switches = procfs::switches(server.pid())?;
    tokio::time::sleep(IDLE).await;
    let wakeups = procfs::switches(server.pid())? - switches;

    let slowest = ask_all(&server, &ids).await?;
    tokio::time::sleep(SETTLE).await;
    let answered = server.memory()?;
    let stopping = Instant::now();
    server.stop().await?;
    let stopping = stopping.elapsed().as_secs_f64();

    let each = starting * 1e3 / TERMINALS as f64;
    report
        .push(Row::new(CASE, "start 1,000 `cat` on ttys", starting, "s").note(format!("{each:.2} ms each")));
    let note = format!(
        "private {:.1}, files {:.1}, shared memory {:.1}; PSS {:.1} KiB",
        per_terminal(before.anon, after.anon),
        per_terminal(before.file, after.file),
        per_terminal(before.shmem, after.shmem),
        per_terminal(before.pss, after.pss)
    );
    let memory = Row::new(CASE, "memory of an idle terminal", per_terminal(before.rss, after.rss), "KiB");
    report.push(memory.note(note).goal(Goal::AtMost(64.0)));
    let woken = Row::new(CASE, "wake-ups of the server in 2 idle s", wakeups as f64, "");
    report.push(woken.note("context switches of all its threads").goal(Goal::AtMost(0.0)));
    let answers = Row::new(CASE, "all 1,000 answer when written to at once", slowest, "s");
    report.push(answers.note(format!("over {CONNECTIONS} connections")).goal(Goal::AtMost(5.0)));
    let memory = per_terminal(before.rss, answered.rss);
    report.push(Row::new(CASE, "memory of a terminal that answered once", memory, "KiB"));
    report.push(Row::new(CASE, "end all 1,000 and the server", stopping, "s"));
    Ok(())
}

/// Starts them all.
pub(super) async fn start_all(server: &Server) -> Outcome<Vec<String>> {
    /// Starts are work of the server, not of its clients: a few connections keep it busy.
    const STARTERS: usize = 8;
    let start = async |count: usize| {
        let mut client = server.connect().await?;
        let mut ids = Vec::new();
        for _ in 0..count {
            let request = server::on_a_tty(&["cat"], server::until("exit", Duration::ZERO));
            ids.push(server::id(&client.exec(&request).await?));
        }
        Ok::<_, Box<dyn std::error::Error + Send + Sync>>(ids)
    };
    Ok(try_join_all((0..STARTERS).map(|_| start(TERMINALS / STARTERS))).await?.concat())
}

/// Seconds until the last of them has answered.
async fn ask_all(server: &Server, ids: &[String]) -> Outcome<f64> {
    let clients: Vec<Client> = try_join_all((0..CONNECTIONS).map(|_| server.connect())).await?;
    let started = Instant::now();
    let asked =
        clients.into_iter().zip(ids.chunks(TERMINALS / CONNECTIONS)).map(|(mut client, ids)| async move {
            for id in ids {
                // The tty echoes the line, then `cat` answers with it.
                let window = server::until("regex:hello\r\nhello", LONGEST);
                let input = Input::Chars("hello\n".to_owned());
                let reply =
                    client.write(id, &WriteRequest { input, window, ..WriteRequest::default() }).await?;
                if reply.ended_by != "regex" {
                    return Err(format!("terminal {id} did not answer: {}", reply.ended_by).into());
                }
            }
            Ok::<_, Box<dyn std::error::Error + Send + Sync>>(())
        });
    try_join_all(asked).await?;
    Ok(started.elapsed().as_secs_f64())
}
