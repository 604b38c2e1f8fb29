//! Turns of an agent: its status, and one message per ready cycle.

mod attempt;
mod evidence;
mod report;
mod status;

pub use attempt::{AttemptId, Epoch};
pub use evidence::{Evidence, Position, Rule, Sight, Source};
pub use report::{StallReason, Stalled, StatusReport};
pub use status::{BlockedOn, Question, Status};
