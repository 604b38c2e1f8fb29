//! Flows: prompts that the calendar gives to an agent.
//!
//! A flow has a [`Schedule`], which is pure: moments come in, moments go out. [`due`] decides what is to be done now. One
//! [timer](timer) waits for the nearest moment of all flows, claims it in the store, and a [run](run) begins: an agent is
//! started, its work is posted, and [what becomes of it](follow) is written down. Moments that nobody ran are told as
//! missed and never made up for.
//!
//! # Invariants
//! 1. Each moment of a flow is run, told as missed, or passed while it was paused: once, whatever dies.
//! 2. A flow has one run at a time.
//! 3. What is told of a run is in the store.

mod book;
mod calendar;
mod due;
mod follow;
mod run;
mod schedule;
mod spec;
mod timer;

use std::sync::Arc;
use std::time::SystemTime;

use tokio::sync::watch;

pub use calendar::{Calendar, WallCalendar};
pub use due::{Due, LATE, MOST_MISSED, Missed, due};
pub use ptyard_store::{Cause, FlowRunRow, FlowRunState, Run};
pub use schedule::{Schedule, ScheduleError, zone, zone_within};
pub use spec::{BadFlowName, Flow, FlowAgent, FlowName, FlowSpec, WhenDone};

/// What a yard needs for its flows.
pub(crate) struct Flows {
    pub(crate) calendar: Arc<dyn Calendar>,
    /// When this server came.
    opened_at: SystemTime,
    /// Counts the changes of flows, for the timer.
    changes: watch::Sender<u64>,
}

impl Flows {
    pub(crate) fn new(calendar: Arc<dyn Calendar>) -> Self {
        Self { opened_at: calendar.now(), calendar, changes: watch::channel(0).0 }
    }
}
