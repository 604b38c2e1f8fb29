//! Work that is begun by the calendar, and each time it was.

use std::time::SystemTime;

use ptyard_core::{FlowRunId, MessageId, TerminalId};

use crate::answer::Answer;
use crate::inbox::{NewMessage, Posted};

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
    /// The time zone that the expression is meant in.
    pub zone: String,
    /// The agent it starts, as JSON.
    pub agent: String,
    /// What the agent is told.
    pub text: String,
    /// Whether it runs.
    pub run: Run,
    /// When it was made.
    pub created_at: SystemTime,
    /// The moments of the calendar up to this one are done: they were run, or told as missed, or passed while it was
    /// paused.
    pub done_until: SystemTime,
}

/// Why a run began, or did not.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cause {
    /// Its moment of the calendar came.
    Schedule,
    /// Somebody asked for it.
    Asked,
}

/// Where a run stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FlowRunState {
    /// Its agent is started.
    Starting,
    /// Its agent has the work, or gets it as soon as it is ready.
    Running,
    /// It does not go on without a person.
    Held,
    /// Its agent is done.
    Completed,
    /// It came to nothing.
    Failed,
    /// It never began: no server ran, or the clock was set over its moment.
    Missed,
    /// It never began: the run before it was still going.
    Overlap,
}

impl FlowRunState {
    /// Whether it goes on.
    #[must_use]
    pub const fn is_open(self) -> bool {
        matches!(self, Self::Starting | Self::Running | Self::Held)
    }
}

/// One run of a flow, or several that never began.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FlowRunRow {
    /// Its id.
    pub id: FlowRunId,
    /// The flow.
    pub flow: String,
    /// Why it began.
    pub cause: Cause,
    /// The moment of the calendar it stands for; the first one where it stands for several.
    pub moment: Option<SystemTime>,
    /// For how many moments it stands; more than one only where they were missed.
    pub count: u32,
    /// Where it stands.
    pub state: FlowRunState,
    /// When it began, or was told.
    pub begun_at: SystemTime,
    /// When it ended.
    pub ended_at: Option<SystemTime>,
    /// The terminal of its agent.
    pub terminal: Option<TerminalId>,
    /// The message that carries the work.
    pub message: Option<MessageId>,
    /// What the agent answered, or why it is held, failed or did not begin.
    pub note: Option<String>,
}

/// Moments of a flow that have come.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DueFlow {
    /// The flow.
    pub name: String,
    /// Its [`FlowRow::done_until`] as the caller knows it.
    pub done_until: SystemTime,
    /// What it is from now on.
    pub until: SystemTime,
    /// Moments that are missed: the first, how many, and why.
    pub missed: Option<(SystemTime, u32, String)>,
    /// The moment that is to be run.
    pub moment: Option<SystemTime>,
    /// Now.
    pub at: SystemTime,
}

/// What became of [`DueFlow`].
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ClaimedFlow {
    /// The run that tells of the missed moments.
    pub missed: Option<FlowRunRow>,
    /// The run: [`FlowRunState::Starting`], or [`FlowRunState::Overlap`] when the one before it is still going.
    pub run: Option<FlowRunRow>,
}

/// The flows. Every answer survives the machine.
pub trait Flows {
    /// Writes a flow down. Fails when there is one of this name.
    fn add_flow(&self, flow: FlowRow) -> Answer<'_, ()>;

    /// Forgets a flow and its runs; it is as it was. Fails when there is none.
    fn remove_flow(&self, name: String) -> Answer<'_, FlowRow>;

    /// Pauses a flow, or resumes it: moments up to `at` are done then. Fails when there is none.
    fn set_flow_run(&self, name: String, run: Run, at: SystemTime) -> Answer<'_, FlowRow>;

    /// Claims moments of a flow that have come: for one caller only, and only when the flow is not paused and nobody
    /// claimed any of them before. `None` when somebody did.
    fn claim_flow(&self, due: DueFlow) -> Answer<'_, Option<ClaimedFlow>>;

    /// Begins a run that somebody asked for. Fails when there is no such flow, or a run of it is still going.
    fn begin_flow_run(&self, name: String, at: SystemTime) -> Answer<'_, FlowRunRow>;

    /// Posts the work of a run that is [`FlowRunState::Starting`], and takes note of its terminal, in one step.
    ///
    /// Fails when the run is not there or is not starting, and as [`post`](crate::Inbox::post) does.
    fn post_flow_run(&self, id: FlowRunId, message: NewMessage) -> Answer<'_, (FlowRunRow, Posted)>;

    /// Takes note of where a run stands that is still going. Fails when it is not there or is over.
    fn note_flow_run(
        &self,
        id: FlowRunId,
        state: FlowRunState,
        note: Option<String>,
        at: SystemTime,
    ) -> Answer<'_, FlowRunRow>;

    /// All flows, by name.
    fn flows(&self) -> Answer<'_, Vec<FlowRow>>;

    /// One flow.
    fn flow(&self, name: String) -> Answer<'_, Option<FlowRow>>;

    /// Up to `most` runs of a flow, newest first. Of runs that are over, [`FLOW_RUNS_KEPT`] of each flow are kept.
    ///
    /// [`FLOW_RUNS_KEPT`]: crate::sqlite::FLOW_RUNS_KEPT
    fn flow_runs(&self, name: String, most: u32) -> Answer<'_, Vec<FlowRunRow>>;

    /// One run.
    fn flow_run(&self, id: FlowRunId) -> Answer<'_, Option<FlowRunRow>>;

    /// The runs that are still going, oldest first.
    fn open_flow_runs(&self) -> Answer<'_, Vec<FlowRunRow>>;
}
