//! Waits for the nearest moment of all flows.

use std::sync::{Arc, Weak};
use std::time::{Duration, SystemTime};

use jiff_02::Timestamp;
use ptyard_store::{DueFlow, FlowRow, Run};

use super::due::{Due, Missed, due};
use super::schedule::{self, Schedule, ScheduleError};
use crate::error::YardError;
use crate::yard::{Inner, Yard};

/// After this time it is tried again what the store refused, as a full disk does.
const AGAIN: Duration = Duration::from_secs(1);

impl Yard {
    /// From now on flows run when their time comes.
    pub(crate) fn start_flows(&self) {
        let yard = Arc::downgrade(&self.inner);
        tokio::spawn(run(yard));
    }

    /// Does what is due, and tells when something will be.
    async fn run_due_flows(&self) -> Result<Option<SystemTime>, YardError> {
        let mut nearest = None;
        for flow in self.inner.store.flows().await? {
            if self.registry().closed {
                return Ok(None);
            }
            if flow.run == Run::Paused {
                continue;
            }
            let (schedule, now) = match (schedule_of(&flow), self.flow_now()) {
                (Ok(schedule), Ok(now)) => (schedule, now),
                (Err(error), _) => {
                    tracing::warn!(flow = flow.name, %error, "a flow never runs");
                    continue;
                }
                (_, Err(error)) => return Err(error),
            };
            let due = due(&schedule, timestamp(flow.done_until)?, now);
            nearest = [nearest, due.next].into_iter().flatten().min();
            if let Some(until) = due.until {
                self.claim(flow, due, until, now).await?;
            }
        }
        Ok(nearest.map(SystemTime::from))
    }

    async fn claim(
        &self,
        flow: FlowRow,
        due: Due,
        until: Timestamp,
        now: Timestamp,
    ) -> Result<(), YardError> {
        let told = |missed: Missed| (missed.first.into(), missed.count, self.why_missed(missed));
        let claim = DueFlow {
            name: flow.name.clone(),
            done_until: flow.done_until,
            until: until.into(),
            missed: due.missed.map(told),
            moment: due.moment.map(SystemTime::from),
            at: now.into(),
        };
        let Some(claimed) = self.inner.store.claim_flow(claim).await? else { return Ok(()) };
        if let Some(missed) = &claimed.missed {
            tracing::warn!(flow = flow.name, count = missed.count, "runs of a flow were missed");
            self.tell_run(missed);
        }
        if let Some(run) = claimed.run {
            self.tell_run(&run);
            if run.state.is_open() {
                let yard = self.clone();
                tokio::spawn(async move { yard.start_run(flow, run).await });
            }
        }
        Ok(())
    }

    fn why_missed(&self, missed: Missed) -> String {
        let more = if missed.more { "these and more: " } else { "" };
        let why = if SystemTime::from(missed.first) < self.inner.flows.opened_at {
            "no server ran"
        } else {
            "the clock was set, or the machine slept"
        };
        format!("{more}{why}")
    }

    pub(super) fn flow_now(&self) -> Result<Timestamp, YardError> {
        timestamp(self.inner.flows.calendar.now())
    }
}

/// A moment as schedules have it.
pub(super) fn timestamp(at: SystemTime) -> Result<Timestamp, YardError> {
    Timestamp::try_from(at).map_err(|error| YardError::Internal(format!("the clock is wrong: {error}")))
}

/// The schedule of a flow that was written down.
pub(super) fn schedule_of(flow: &FlowRow) -> Result<Schedule, ScheduleError> {
    let zone = schedule::zone(Some(&flow.zone))?;
    let created = timestamp(flow.created_at).unwrap_or(Timestamp::UNIX_EPOCH);
    Schedule::parse(&flow.cron, zone, created)
}

async fn run(yard: Weak<Inner>) {
    let Some((mut changes, calendar)) =
        yard.upgrade().map(|inner| (inner.flows.changes.subscribe(), Arc::clone(&inner.flows.calendar)))
    else {
        return;
    };
    loop {
        let Some(inner) = yard.upgrade() else { return };
        // What changes from here on is looked at again.
        changes.borrow_and_update();
        let done = Yard { inner }.run_due_flows().await;
        let (nearest, again) = match done {
            Ok(nearest) => (nearest, false),
            Err(error) => {
                tracing::warn!(%error, "flows wait for the store");
                (None, true)
            }
        };
        tokio::select! {
            () = calendar.wait_until(nearest) => {}
            () = tokio::time::sleep(AGAIN), if again => {}
            changed = changes.changed() => if changed.is_err() {
                return;
            },
        }
    }
}
