//! A message to an idle agent that lives in a pane of tmux.

use super::{COUNTED, Figures, IDLE, MESSAGES, Ours, Place};
use crate::Outcome;
use crate::bed::Bed;
use crate::forks;
use crate::peers::tmux;
use crate::report::{Goal, Report, Row};
use crate::server::Server;

/// Tells what it takes, in rows of this case.
pub(crate) async fn in_tmux(case: &'static str, bed: &Bed, report: &mut Report) -> Outcome<()> {
    if !tmux::is_here().await {
        report.push(Row::skipped(case, "message to an agent in tmux", "not installed"));
        return Ok(());
    }
    let directory = tempfile::tempdir()?;
    let variables = [("TMUX_TMPDIR", directory.path().display().to_string())];
    let server = Server::start_with(&bed.ptyard, &variables).await?;
    let place = Place::new()?;
    let mut ours = Ours::on(server, &place, Some("tmux"), 1).await?;
    let mut figures = Figures::default();
    for round in 0..bed.rounds {
        ours.idle(&format!("round {round}"), MESSAGES, &mut figures).await?;
    }
    for (name, share, goal) in [("p50", 0.5, Goal::AtMost(5.0)), ("p99", 0.99, Goal::Shown)] {
        let what = format!("tmux: POST to an idle agent until its pane has it, {name}");
        report.push(Row::new(case, what, figures.first_byte_ms.quantile(share), "ms").goal(goal));
    }
    if forks::can_be_counted() {
        let (busy, idle) = ours.forks().await?;
        let a_message = f64::from(busy) / f64::from(COUNTED);
        let row = Row::new(case, "tmux: processes started for a message", a_message, "");
        report.push(row.goal(Goal::AtMost(0.0)));
        let a_minute = f64::from(idle) * 60.0 / IDLE.as_secs_f64();
        let row = Row::new(case, "tmux: processes started in an idle minute", a_minute, "");
        report.push(row.goal(Goal::AtMost(0.0)));
    } else {
        report.push(Row::skipped(case, "tmux: processes started", "no strace"));
    }
    ours.server.stop().await?;
    tmux::end(directory.path()).await
}
