//! How long a caller who cannot know the prompt waits for the whole answer of a REPL.

use std::time::{Duration, Instant};

use ptyard_server::api::{Input, WriteRequest};
use serde_json::json;

use crate::Outcome;
use crate::bed::Bed;
use crate::peers::unix_local;
use crate::report::{Goal, Report, Row};
use crate::rounds::Samples;
use crate::server::{self, Server};

const CASE: &str = "repl";

/// Questions of each round.
const QUESTIONS: u32 = 5;

const PYTHON: [&str; 3] = ["python3", "-q", "-i"];

const LONGEST: Duration = Duration::from_secs(10);

pub(crate) async fn run(bed: &Bed, report: &mut Report) -> Outcome<()> {
    if std::process::Command::new(PYTHON[0]).arg("-V").output().is_err() {
        report.push(Row::skipped(CASE, "python3 until quiet:20", "no python3"));
        return Ok(());
    }
    let mut server = Server::start(&bed.ptyard).await?;
    let window = server::until("regex:>>> $", LONGEST);
    let id = server::id(&server.client.exec(&server::on_a_tty(&PYTHON, window)).await?);
    let mut python = match &bed.python {
        Some(python) => Some(unix_local::start(python).await?),
        None => None,
    };
    let (mut ours, mut theirs) = (Samples::default(), Samples::default());
    let mut wrong = 0;
    for round in 0..bed.rounds {
        for number in round * QUESTIONS..(round + 1) * QUESTIONS {
            let request = WriteRequest {
                input: Input::Chars(format!("1000+{number}\n")),
                window: server::until("quiet:20", LONGEST),
                ..WriteRequest::default()
            };
            let started = Instant::now();
            let answer = server.client.write(&id, &request).await?;
            ours.push(started.elapsed().as_secs_f64() * 1e3);
            let printed = answer.output.split_once('\n').map_or("", |(_echo, rest)| rest);
            wrong += u32::from(!printed.contains(&(1000 + number).to_string()));
        }
        if let Some(python) = &mut python {
            let answer = python.call(json!(["repl", PYTHON.join(" "), QUESTIONS])).await?;
            theirs
                .extend(answer["ms"].as_array().into_iter().flatten().filter_map(serde_json::Value::as_f64));
        }
    }
    server.stop().await?;
    if let Some(python) = python {
        python.stop().await?;
    }
    let row = Row::median(CASE, "over the socket, python3 until quiet:20", &ours, "ms");
    let note =
        format!("p99 {:.1} ms, {wrong} of {} answers incomplete", ours.quantile(0.99), ours.figures().len());
    if theirs.is_empty() {
        report.push(row.note(note).goal(Goal::AtMost(60.0)));
        report.push(Row::skipped(CASE, "unix_local (Python)", "not installed"));
    } else {
        let whom = "unix_local (Python)";
        report.push(row.against(whom, ours.median() / theirs.median()).note(note).goal(Goal::AtMost(60.0)));
        report.push(Row::median(CASE, whom, &theirs, "ms").note("a fixed window: 100 ms and 250 ms"));
    }
    Ok(())
}
