//! Flows: prompts that the calendar gives to an agent.
//!
//! A flow has a [`Schedule`], which is pure: moments come in, moments go out. [`due`] decides what is to be done now;
//! runs that were missed, because no server ran or the flow's time came while the machine slept, become one run that
//! says how many it stands for.

mod due;
mod schedule;

pub use due::{Due, MOST_MISSED, Missed, due};
pub use schedule::{Schedule, ScheduleError};
