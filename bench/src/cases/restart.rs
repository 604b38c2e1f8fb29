//! The server is killed under a thousand programs; the next command starts another, which serves them all.

use std::time::Instant;

use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};

use super::crowd;
use crate::Outcome;
use crate::bed::Bed;
use crate::report::{Goal, Report, Row};
use crate::rounds::Samples;
use crate::server::{self, Server};

const CASE: &str = "restart";

pub(crate) async fn run(bed: &Bed, report: &mut Report) -> Outcome<()> {
    let mut server = Server::start(&bed.ptyard).await?;
    crowd::start_all(&server).await?;
    let mut first = Samples::none();
    for _ in 0..bed.rounds {
        kill(server.pid())?;
        let started = Instant::now();
        let listed = server::run(&bed.ptyard, server.state(), &["list", "--json"]).await?;
        first.push(started.elapsed().as_secs_f64() * 1e3);
        let running = String::from_utf8_lossy(&listed).matches(r#""state":"running""#).count();
        if running != crowd::TERMINALS {
            return Err(format!("{running} of {} terminals are served again", crowd::TERMINALS).into());
        }
        server = server.again().await?;
    }
    server.stop().await?;
    let row = Row::median(
        CASE,
        "`ptyard list` after `kill -9` of the server, 1,000 programs running",
        &first,
        "ms",
    );
    report.push(row.note(format!("worst {:.1} ms", first.worst())).goal(Goal::AtMost(200.0)));
    Ok(())
}

/// Kills a process and waits until it is gone.
fn kill(pid: u32) -> Outcome<()> {
    let pid = i32::try_from(pid).ok().and_then(Pid::from_raw).ok_or("the server has no process id")?;
    let process = pidfd_open(pid, PidfdFlags::empty())?;
    pidfd_send_signal(&process, Signal::KILL)?;
    server::ended(&process)
}
