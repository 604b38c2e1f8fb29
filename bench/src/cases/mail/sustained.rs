//! How many messages a second are accepted, handed over and confirmed, all of it on the disk, by one process.
//!
//! The agents are stand-ins that take everything at once, so that only what ptyard does is in the figure.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use futures_util::future::try_join_all;
use ptyard_core::AttemptId;
use ptyard_terminal::backend::BoxFuture;
use ptyard_yard::TerminalRef;
use ptyard_yard::inbox::{Handover, Refused, SendSpec, Until, Word};

use super::{CASE, PATIENCE};
use crate::Outcome;
use crate::bed::Bed;
use crate::report::{Goal, Report, Row};
use crate::rounds::Samples;
use crate::yard::{self, InProcess};

const AGENTS: usize = 100;

/// Messages for each agent, in each round.
const EACH: usize = 50;

/// An agent that takes everything, and whose turns are over at once.
#[derive(Default)]
struct Quick(VecDeque<Word>);

impl Handover for Quick {
    fn is_ready(&self) -> bool {
        true
    }

    fn hand_over(&mut self, attempt: AttemptId, _text: String) -> BoxFuture<'_, Result<(), Refused>> {
        let delivered = Word::Delivered { attempt, evidence: "bench".to_owned(), offset: None };
        self.0.extend([delivered, Word::TurnOver { attempt }, Word::Ready]);
        Box::pin(std::future::ready(Ok(())))
    }

    fn next(&mut self) -> BoxFuture<'_, Option<Word>> {
        // Taken out when it is looked for, not before: who gives up the wait has lost nothing.
        Box::pin(async move {
            match self.0.pop_front() {
                Some(word) => Some(word),
                None => std::future::pending().await,
            }
        })
    }
}

pub(super) async fn run(bed: &Bed, report: &mut Report) -> Outcome<()> {
    let place = InProcess::open()?;
    let mut agents = Vec::new();
    for _ in 0..AGENTS {
        let started = place.exec(&["cat"], yard::until("exit", Duration::ZERO)).await?;
        let at = TerminalRef::Id(started.id);
        place.yard.hand_over_mail(&at, Quick::default())?;
        agents.push(at);
    }
    let mut a_second = Samples::default();
    for round in 0..bed.rounds {
        let began = Instant::now();
        let sent = agents.iter().map(|at| async {
            let mut last = None;
            for number in 0..EACH {
                let spec = SendSpec::new(format!("message {number} of round {round}"));
                last = Some(place.yard.send(at, spec).await?.id);
            }
            let last = last.ok_or("nothing was sent")?;
            let told = place.yard.await_message(last, Until::Completed, PATIENCE).await?;
            if !Until::Completed.has_come(&told) {
                return Err(format!("a message is {}", told.state).into());
            }
            Ok::<_, Box<dyn std::error::Error + Send + Sync>>(())
        });
        try_join_all(sent).await?;
        a_second.push((AGENTS * EACH) as f64 / began.elapsed().as_secs_f64());
    }
    place.close().await;
    let what = format!("accepted and delivered on the disk, {AGENTS} agents, one process");
    let row = Row::median(CASE, what, &a_second, "messages/s");
    report.push(row.goal(Goal::AtLeast(1_000.0)));
    Ok(())
}
