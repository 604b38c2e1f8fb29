//! What it costs that programs outlive the server: the same terminal with a keeper as their parent, and without one.

use std::path::Path;
use std::time::{Duration, Instant};

use ptyard_core::TerminalId;

use crate::Outcome;
use crate::bed::Bed;
use crate::corpus::Corpus;
use crate::report::{Goal, Report, Row};
use crate::rounds::Samples;
use crate::yard::{self, InProcess};

const CASE: &str = "keeper";

/// Answers of each, over all rounds.
const ANSWERS: u32 = 2_000;

const LONGEST: Duration = Duration::from_secs(300);

const CAT: [&str; 3] = ["sh", "-c", "stty raw -echo; printf ready; exec cat"];

pub(crate) async fn run(bed: &Bed, report: &mut Report) -> Outcome<()> {
    let dir = tempfile::tempdir()?;
    let path = dir.path().join("corpus");
    let corpus = Corpus::write(&path, bed.corpus_bytes)?;
    // Everybody finds the file in the page cache.
    drop(std::fs::read(&path)?);

    let [mut plain_drain, mut kept_drain, mut plain_echo, mut kept_echo] = [const { Samples::none() }; 4];
    let megabytes = corpus.bytes as f64 / 1e6;
    for round in 0..bed.rounds {
        let numbers = round * ANSWERS.div_ceil(bed.rounds)..(round + 1) * ANSWERS.div_ceil(bed.rounds);
        let plain = InProcess::open()?;
        plain_drain.push(megabytes / drain(&plain, &path, corpus).await?);
        answers(&plain, numbers.clone(), &mut plain_echo).await?;
        plain.close().await;
        let kept = InProcess::kept(&bed.ptyard)?;
        kept_drain.push(megabytes / drain(&kept, &path, corpus).await?);
        answers(&kept, numbers, &mut kept_echo).await?;
        kept.close().await;
    }
    let without = "without a keeper";
    report.push(Row::median(CASE, "drain, without a keeper", &plain_drain, "MB/s"));
    let drain = Row::median(CASE, "drain, with a keeper", &kept_drain, "MB/s");
    let ratio = kept_drain.over(&plain_drain).median();
    report.push(drain.against(without, ratio).goal(Goal::RatioAtLeast(0.95)));
    report.push(Row::median(CASE, "write until regex, without a keeper", &plain_echo, "ms"));
    let echo = Row::median(CASE, "write until regex, with a keeper", &kept_echo, "ms");
    let ratio = kept_echo.median() / plain_echo.median();
    report.push(echo.against(without, ratio).goal(Goal::RatioAtMost(1.05)));
    Ok(())
}

/// Seconds until everything is in the log and the end is told.
async fn drain(place: &InProcess, path: &Path, corpus: Corpus) -> Outcome<f64> {
    let started = Instant::now();
    let window = place.exec(&["cat", &path.to_string_lossy()], yard::until("exit", LONGEST)).await?;
    let took = started.elapsed().as_secs_f64();
    if window.next != corpus.on_a_tty {
        return Err(format!("{} bytes came of {}", window.next, corpus.on_a_tty).into());
    }
    Ok(took)
}

async fn answers(place: &InProcess, numbers: std::ops::Range<u32>, samples: &mut Samples) -> Outcome<()> {
    let cat: TerminalId = place.exec(&CAT, yard::until("regex:ready", LONGEST)).await?.id;
    for number in numbers {
        let asked = format!("<{number}>");
        let window = yard::until(&format!("regex:{asked}"), LONGEST);
        samples
            .time(async || match place.write(cat, asked.into_bytes(), window).await?.ended_by {
                "regex" => Ok(()),
                other => Err(format!("an answer ended by {other}").into()),
            })
            .await?;
    }
    Ok(())
}
