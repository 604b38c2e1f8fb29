//! One run: an agent is started and given its work.

use ptyard_store::{FlowRow, FlowRunRow, FlowRunState};
use serde_json::json;

use super::spec::{FlowAgent, WhenDone};
use crate::agents::framing::{self, Purpose, Sender, Tag};
use crate::error::YardError;
use crate::ids;
use crate::inbox::{self, Origin, SendSpec};
use crate::spec::TerminalRef;
use crate::yard::Yard;

impl Yard {
    /// Starts the agent of a run and gives it its work; from then on the run is followed. What goes wrong is written down
    /// as the run's end.
    pub(super) async fn start_run(&self, flow: FlowRow, run: FlowRunRow) {
        let begun = self.begin_run(&flow, &run).await;
        match begun {
            Ok((running, when_done)) => {
                self.tell_run(&running);
                self.follow_run(running, when_done);
                if when_done == WhenDone::End {
                    self.clear_away(&flow.name).await;
                }
            }
            Err(error) => {
                tracing::warn!(flow = flow.name, run = %run.id, %error, "a run of a flow came to nothing");
                self.end_run(&run, FlowRunState::Failed, Some(error.to_string())).await;
            }
        }
    }

    async fn begin_run(&self, flow: &FlowRow, run: &FlowRunRow) -> Result<(FlowRunRow, WhenDone), YardError> {
        let agent: FlowAgent = serde_json::from_str(&flow.agent)
            .map_err(|error| YardError::InvalidArgument(format!("its agent cannot be read: {error}")))?;
        let when_done = agent.when_done;
        let launched = self.launch(agent.launch_spec()).await?;
        for notice in &launched.notices {
            tracing::info!(flow = flow.name, run = %run.id, notice, "its agent is started");
        }
        let sender = Sender::Flow(flow.name.clone());
        let framed = framing::frame(&flow.text, Purpose::Task, &sender, Tag::new(ids::random_u32()));
        let origin = Some(Origin::Flow(flow.name.clone()));
        let spec = SendSpec { origin, purpose: inbox::Purpose::Assign, ..SendSpec::new(framed.text) };
        let message = self.addressed(&TerminalRef::Id(launched.id), spec)?;
        let (running, posted) = self.inner.store.post_flow_run(run.id, message.clone()).await?;
        self.accepted(message, posted).await?;
        Ok((running, when_done))
    }

    /// Removes what the agents of earlier runs printed that are done: each flow leaves one of them.
    async fn clear_away(&self, flow: &str) {
        let runs = self.inner.store.flow_runs(flow.to_owned(), ptyard_store::sqlite::FLOW_RUNS_KEPT).await;
        let done = runs.unwrap_or_default().into_iter().filter(|run| run.state == FlowRunState::Completed);
        for terminal in done.filter_map(|run| run.terminal) {
            // Most were removed before.
            if let Ok(id) = self.remove(&TerminalRef::Id(terminal)).await {
                tracing::debug!(%id, flow, "the terminal of an earlier run is removed");
            }
        }
    }

    /// Tells those who follow the events of a run.
    pub(super) fn tell_run(&self, run: &FlowRunRow) {
        // An answer is for those who ask for it.
        let why = run.note.as_ref().filter(|_| run.state != FlowRunState::Completed);
        let data = json!({
            "flow": run.flow,
            "run": run.id,
            "state": run.state.as_str(),
            "count": run.count,
            "why": why,
        });
        self.inner.events.push("flow_run", run.terminal, data);
    }
}
