//! Work that is begun by the calendar.

use std::time::SystemTime;

use crate::answer::Answer;

/// Whether a flow runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Run {
    /// When its time comes.
    Scheduled,
    /// Not until it is resumed.
    Paused,
}

/// A flow.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FlowRow {
    /// Its name.
    pub name: String,
    /// When it runs, as a cron expression that the caller has read.
    pub cron: String,
    /// The profile of the agent it starts.
    pub profile: String,
    /// What the agent is told.
    pub text: String,
    /// Whether it runs.
    pub run: Run,
    /// The moment of the calendar for which it ran last.
    pub last_run: Option<SystemTime>,
}

/// The flows. Every answer survives the machine.
pub trait Flows {
    /// Writes a flow down, in place of one of the same name; that one's last run stays.
    fn put_flow(&self, flow: FlowRow) -> Answer<'_, ()>;

    /// Forgets a flow. Fails when there is none.
    fn remove_flow(&self, name: String) -> Answer<'_, ()>;

    /// Pauses or resumes a flow. Fails when there is none.
    fn set_flow_run(&self, name: String, run: Run) -> Answer<'_, ()>;

    /// Claims the run of a flow for a moment of the calendar: true for one caller only, and only when the flow is not
    /// paused and last ran at `last`.
    fn claim_flow_run(&self, name: String, last: Option<SystemTime>, this: SystemTime) -> Answer<'_, bool>;

    /// All flows, by name.
    fn flows(&self) -> Answer<'_, Vec<FlowRow>>;
}
