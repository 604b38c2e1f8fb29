//! From nothing to the first answer: no server, an empty state directory, one command.

use std::time::Instant;

use crate::Outcome;
use crate::bed::Bed;
use crate::report::{Goal, Report, Row};
use crate::rounds::Samples;
use crate::server::{self, Server};

const CASE: &str = "start";

/// First answers of each round.
const STARTS: u32 = 4;

const COMMAND: [&str; 5] = ["exec", "--json", "--", "echo", "hi"];

pub(crate) async fn run(bed: &Bed, report: &mut Report) -> Outcome<()> {
    let [mut first, mut second, mut memory] = [const { Samples::none() }; 3];
    for _ in 0..bed.rounds * STARTS {
        let state = tempfile::tempdir()?;
        for wall in [&mut first, &mut second] {
            let started = Instant::now();
            let answer = server::run(&bed.ptyard, state.path(), &COMMAND).await?;
            wall.push(started.elapsed().as_secs_f64() * 1e3);
            if !String::from_utf8_lossy(&answer).contains("\"hi\\n\"") {
                return Err(format!("not an answer: {}", String::from_utf8_lossy(&answer)).into());
            }
        }
        let server = Server::of(state).await?;
        memory.push(server.memory()?.rss as f64 / 1024.0);
        server.stop().await?;
    }
    let spread = |samples: &Samples| format!("worst {:.1} ms", samples.worst());
    let row = Row::median(CASE, "`ptyard exec -- echo hi` that starts the server", &first, "ms");
    report.push(row.note(spread(&first)).goal(Goal::AtMost(50.0)));
    let row = Row::median(CASE, "the same again, with the server running", &second, "ms");
    report.push(row.note(spread(&second)));
    report.push(Row::median(CASE, "memory of the server after it", &memory, "MiB").goal(Goal::AtMost(20.0)));
    Ok(())
}
