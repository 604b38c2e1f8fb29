//! Adding flows, looking at them, and what people do to them.

use ptyard_store::{FlowRow, FlowRunRow, Run, StoreError};
use serde_json::json;

use super::schedule::{self, Schedule, ScheduleError};
use super::spec::{Flow, FlowAgent, FlowName, FlowSpec};
use super::timer::{schedule_of, timestamp};
use crate::agents::mail::FIRST_WORDS_BYTES;
use crate::error::YardError;
use crate::yard::Yard;

impl Yard {
    /// Adds a flow. Its first run is at the first moment after this one.
    ///
    /// # Errors
    /// When its name, schedule, profile, provider or session cannot be used, or there is a flow of this name.
    pub async fn add_flow(&self, spec: FlowSpec) -> Result<Flow, YardError> {
        let refused = |why: String| YardError::InvalidArgument(why);
        let name: FlowName =
            spec.name.parse().map_err(|error: super::BadFlowName| refused(error.to_string()))?;
        let now = self.flow_now()?;
        if let (Some(beside), Some(_within)) = (&spec.zone, schedule::zone_within(&spec.cron)) {
            return Err(ScheduleError::TwoZones { beside: beside.clone(), text: spec.cron }.into());
        }
        let zone = match schedule::zone_within(&spec.cron) {
            Some(within) => schedule::zone(Some(within))?,
            None => schedule::zone(spec.zone.as_deref())?,
        };
        let schedule = Schedule::parse(&spec.cron, zone, now)?;
        if spec.text.trim().is_empty() {
            return Err(refused("the prompt is empty".to_owned()));
        }
        if spec.text.len() > FIRST_WORDS_BYTES {
            return Err(YardError::InputTooLarge { bytes: spec.text.len(), most: FIRST_WORDS_BYTES });
        }
        self.check_launch(&spec.agent.clone().launch_spec())?;
        let row = FlowRow {
            name: name.to_string(),
            cron: schedule.to_string(),
            zone: schedule.zone_name().to_owned(),
            agent: serde_json::to_string(&spec.agent)
                .map_err(|error| YardError::Internal(error.to_string()))?,
            text: spec.text,
            run: Run::Scheduled,
            created_at: now.into(),
            done_until: now.into(),
        };
        self.inner.store.add_flow(row.clone()).await?;
        self.flow_changed(&row.name, "added");
        Ok(self.seen(row, None))
    }

    /// All flows, by name, each with its newest run.
    pub async fn flows(&self) -> Result<Vec<Flow>, YardError> {
        let mut flows = Vec::new();
        for row in self.inner.store.flows().await? {
            let last = self.inner.store.flow_runs(row.name.clone(), 1).await?.pop();
            flows.push(self.seen(row, last));
        }
        Ok(flows)
    }

    /// A flow and up to `most` of its runs, newest first.
    ///
    /// # Errors
    /// When there is none of this name.
    pub async fn flow(&self, name: &str, most: u32) -> Result<(Flow, Vec<FlowRunRow>), YardError> {
        let row = self.flow_row(name).await?;
        let runs = self.inner.store.flow_runs(row.name.clone(), most.max(1)).await?;
        let flow = self.seen(row, runs.first().cloned());
        Ok((flow, runs))
    }

    /// Forgets a flow and its runs. An agent that is at work for it goes on.
    ///
    /// # Errors
    /// When there is none of this name.
    pub async fn remove_flow(&self, name: &str) -> Result<Flow, YardError> {
        let last = self.inner.store.flow_runs(name.to_owned(), 1).await?.pop();
        let row = self.inner.store.remove_flow(name.to_owned()).await?;
        self.flow_changed(name, "removed");
        Ok(self.seen(row, last))
    }

    /// Pauses a flow, or resumes it. Moments that pass while it is paused are not missed.
    ///
    /// # Errors
    /// When there is none of this name.
    pub async fn set_flow(&self, name: &str, run: Run) -> Result<Flow, YardError> {
        let now = self.inner.flows.calendar.now();
        let row = self.inner.store.set_flow_run(name.to_owned(), run, now).await?;
        let what = match run {
            Run::Scheduled => "resumed",
            Run::Paused => "paused",
        };
        self.flow_changed(name, what);
        let last = self.inner.store.flow_runs(name.to_owned(), 1).await?.pop();
        Ok(self.seen(row, last))
    }

    /// Runs a flow now, also one that is paused. The run as it stands when its agent has the work.
    ///
    /// # Errors
    /// When there is none of this name, or a run of it is still going.
    pub async fn run_flow(&self, name: &str) -> Result<FlowRunRow, YardError> {
        let flow = self.flow_row(name).await?;
        let run = self.inner.store.begin_flow_run(flow.name.clone(), self.inner.flows.calendar.now()).await?;
        self.tell_run(&run);
        let (yard, id) = (self.clone(), run.id);
        // Whoever asked may leave; the run goes on.
        let started = tokio::spawn(async move { yard.start_run(flow, run).await });
        started.await.map_err(|error| YardError::Internal(error.to_string()))?;
        let run = self.inner.store.flow_run(id).await?;
        run.ok_or_else(|| StoreError::UnknownFlow(name.to_owned()).into())
    }

    async fn flow_row(&self, name: &str) -> Result<FlowRow, YardError> {
        let row = self.inner.store.flow(name.to_owned()).await?;
        row.ok_or_else(|| StoreError::UnknownFlow(name.to_owned()).into())
    }

    /// A flow as it is told.
    fn seen(&self, row: FlowRow, last: Option<FlowRunRow>) -> Flow {
        let next = schedule_of(&row).map(|schedule| {
            let after =
                self.flow_now().unwrap_or_default().max(timestamp(row.done_until).unwrap_or_default());
            schedule.next_after(after).filter(|_| row.run == Run::Scheduled)
        });
        let agent = serde_json::from_str::<FlowAgent>(&row.agent);
        let trouble = match (&next, &agent) {
            (Err(error), _) => Some(error.to_string()),
            (_, Err(error)) => Some(format!("its agent cannot be read: {error}")),
            _ => None,
        };
        Flow {
            name: row.name,
            cron: row.cron,
            zone: row.zone,
            agent: agent.unwrap_or_default(),
            text: row.text,
            run: row.run,
            created_at: row.created_at,
            next: next.ok().flatten().map(Into::into),
            last,
            trouble,
        }
    }

    fn flow_changed(&self, name: &str, what: &str) {
        self.inner.events.push("flow", None, json!({ "flow": name, "what": what }));
        self.inner.flows.changes.send_modify(|changes| *changes += 1);
    }
}
