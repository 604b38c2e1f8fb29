//! Turns of an agent: its status, and one message per ready cycle.

mod attempt;
mod decide;
mod dispatch;
mod event;
mod evidence;
mod explain;
mod machine;
mod recover;
mod report;
mod stage;
mod status;
mod track;

pub use attempt::{AttemptId, Epoch};
pub use decide::{SETTLED_AFTER, SILENCE, STALLED_AFTER};
pub use event::{Doubt, Effect, Event, Foreground, Hold, Keys, Outcome, Proof, Taken};
pub use evidence::{Evidence, Position, Rule, Sight, Source};
pub use explain::{Explanation, Said, Standing};
pub use machine::{Eager, MAX_ENTERS, TurnMachine};
pub use recover::Recovered;
pub use report::{StallReason, Stalled, StatusReport};
pub use status::{BlockedOn, Question, Status};
