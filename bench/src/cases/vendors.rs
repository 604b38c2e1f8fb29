//! Programs at vendors of sandboxes, against plain clients of the same wires in the same sandboxes.
//!
//! The vendors are the servers of the tests, in this process, so the network is the loopback device. What is compared is
//! what ptyard adds to a wire: its server's socket, its log, what it does so that nothing is lost or typed twice.

use std::fs;
use std::time::{Duration, Instant};

use ptyard_server::api::{ExecRequest, Input, WaitRequest, WriteRequest};

use crate::Outcome;
use crate::bed::Bed;
use crate::corpus::Corpus;
use crate::peers::vendors::{Plain, Vendor};
use crate::report::{Goal, Report, Row};
use crate::rounds::Samples;
use crate::server::{self, Server};

const CASE: &str = "vendors";

/// Answers of each side, over all rounds.
const ANSWERS: u32 = 500;

const LONGEST: Duration = Duration::from_secs(60);

/// What is printed when the terminal is as it is to be.
const READY: &str = "ready";

/// A plain client that has heard nothing for so long has heard all that the wire did not lose.
const SILENCE: Duration = Duration::from_secs(2);

pub(crate) async fn run(bed: &Bed, report: &mut Report) -> Outcome<()> {
    let dir = tempfile::tempdir()?;
    let path = dir.path().join("corpus");
    let corpus = Corpus::write(&path, bed.corpus_bytes)?;
    // Everybody finds the file in the page cache.
    drop(fs::read(&path)?);
    let script = |name: &str, last: &str| {
        let script = dir.path().join(name);
        fs::write(&script, format!("stty raw -echo; printf {READY}; {last}\n"))?;
        Ok::<_, std::io::Error>(script.display().to_string())
    };
    let echo = script("echo", "exec cat")?;
    let print = script("print", &format!("head -c 1 >/dev/null; exec cat '{}'", path.display()))?;
    let vendors = Vendor::all().await;
    let variables: Vec<_> = vendors.iter().flat_map(Vendor::variables).collect();
    let mut server = Server::start_with(&bed.ptyard, &variables).await?;
    for vendor in &vendors {
        answers(bed, vendor, &mut server, &echo, report).await?;
    }
    for vendor in &vendors {
        drain(bed, vendor, &mut server, &print, corpus, report).await?;
    }
    server.stop().await?;
    // Their programs are ended when they are dropped, which blocks.
    tokio::task::spawn_blocking(move || drop(vendors)).await?;
    Ok(())
}

/// A script there, until it is ready.
async fn ours(vendor: &Vendor, server: &mut Server, script: &str) -> Outcome<String> {
    let window = server::until(&format!("regex:{READY}"), LONGEST);
    let request = server::on_a_tty(&["sh", script], window);
    let request = ExecRequest { backend: Some(vendor.place()), ..request };
    let reply = server.client.exec(&request).await?;
    expect(&reply.ended_by, "regex")?;
    Ok(server::id(&reply))
}

async fn theirs(vendor: &Vendor, script: &str) -> Outcome<Plain> {
    let mut plain = vendor.run(script).await?;
    tokio::time::timeout(LONGEST, plain.hear_until(READY.as_bytes())).await??;
    Ok(plain)
}

async fn answers(
    bed: &Bed,
    vendor: &Vendor,
    server: &mut Server,
    script: &str,
    report: &mut Report,
) -> Outcome<()> {
    let id = ours(vendor, server, script).await?;
    let mut plain = theirs(vendor, script).await?;
    let (mut limit, mut through) = (Samples::none(), Samples::none());
    let per_round = ANSWERS.div_ceil(bed.rounds);
    for round in 0..bed.rounds {
        // Different every time, so that no answer is taken for another.
        let questions = || (round * per_round..(round + 1) * per_round).map(|number| format!("<{number}>"));
        for asked in questions() {
            let asking = async || {
                plain.say(asked.as_bytes()).await?;
                plain.hear_until(asked.as_bytes()).await
            };
            limit.time(asking).await?;
        }
        for asked in questions() {
            let window = server::until(&format!("regex:{asked}"), LONGEST);
            let request = WriteRequest { input: Input::Chars(asked), window, ..WriteRequest::default() };
            through
                .time(async || expect(&server.client.write(&id, &request).await?.ended_by, "regex"))
                .await?;
        }
    }
    server.client.kill(&id, Some(0)).await?;
    server.client.remove(&id).await?;
    let row = |what: String, samples: &Samples| {
        let note = format!("p50 of {ANSWERS}; p99 {:.3} ms", samples.quantile(0.99));
        Row::median(CASE, what, samples, "ms").note(note)
    };
    let name = vendor.name();
    let whom = format!("{name}, plain client");
    report.push(row(format!("answer: {whom}"), &limit));
    let ratio = through.median() / limit.median();
    report.push(row(format!("answer: {name}, over the socket"), &through).against(&whom, ratio));
    let above = Row::new(CASE, format!("answer: {name}, above it"), through.median() - limit.median(), "ms");
    report.push(above.against(whom, ratio).goal(Goal::AtMost(2.0)));
    Ok(())
}

async fn drain(
    bed: &Bed,
    vendor: &Vendor,
    server: &mut Server,
    script: &str,
    corpus: Corpus,
    report: &mut Report,
) -> Outcome<()> {
    let (mut limit, mut through) = (Samples::none(), Samples::none());
    let mut came = Samples::none();
    for _ in 0..bed.rounds {
        let mut plain = theirs(vendor, script).await?;
        let (bytes, seconds) = all_of(&mut plain, corpus.bytes).await?;
        limit.push(bytes as f64 / 1e6 / seconds);
        came.push(bytes as f64 / corpus.bytes as f64 * 100.0);
        drop(plain);
        let seconds = whole(vendor, server, script, corpus.bytes).await?;
        through.push(corpus.bytes as f64 / 1e6 / seconds);
    }
    let name = vendor.name();
    let whom = format!("{name}, plain client");
    let note = format!("{:.0} % of the corpus came", came.median());
    report.push(Row::median(CASE, format!("drain: {whom}"), &limit, "MB/s").note(note));
    let ratio = through.over(&limit).median();
    let row = Row::median(CASE, format!("drain: {name}"), &through, "MB/s").note("all of it came");
    report.push(row.against(whom, ratio).goal(Goal::RatioAtLeast(0.5)));
    Ok(())
}

/// What of the corpus came, and in how many seconds.
async fn all_of(plain: &mut Plain, expected: u64) -> Outcome<(u64, f64)> {
    let started = Instant::now();
    plain.say(b"x").await?;
    let (mut came, mut last) = (0, started);
    while came < expected {
        // A wire that drops what waits when a program ends just stops.
        let Ok(Ok(heard)) = tokio::time::timeout(SILENCE, plain.hear()).await else { break };
        came += heard.len() as u64;
        last = Instant::now();
    }
    Ok((came, (last - started).as_secs_f64()))
}

/// Seconds until the end was told and everything is in the log.
async fn whole(vendor: &Vendor, server: &mut Server, script: &str, expected: u64) -> Outcome<f64> {
    let id = ours(vendor, server, script).await?;
    let window = server::until("exit", Duration::ZERO);
    let request = WriteRequest { input: Input::Chars("x".to_owned()), window, ..WriteRequest::default() };
    let started = Instant::now();
    server.client.write(&id, &request).await?;
    let until = WaitRequest { until: vec!["exit".to_owned()], timeout_ms: None, since: None };
    server.client.wait(&id, &until).await?;
    let took = started.elapsed().as_secs_f64();
    let end = server.client.info(&id).await?.log.end;
    server.client.remove(&id).await?;
    let expected = expected + READY.len() as u64;
    if end == expected { Ok(took) } else { Err(format!("{end} bytes came of {expected}").into()) }
}

fn expect(ended_by: &str, what: &str) -> Outcome<()> {
    if ended_by == what { Ok(()) } else { Err(format!("it ended by {ended_by}").into()) }
}
