//! Turns of an agent: its status, and one message per ready cycle.
//!
//! The way the data goes: an observation becomes [`Evidence`], with its source and its position in the order of that
//! source; the [`TurnMachine`] is told of it, and of everything else that happens, as an [`Event`], and answers with
//! [`Effect`]s: what is to be written, what became of an attempt, what is to be told. It reads no clock, does no I/O and
//! is the only one who decides, so every interleaving of it can be tried (`tests/model`).
//!
//! Its one idea: *when* something is told proves nothing, *where* it stands does. A source [covers](Evidence) a write
//! when it shows something that cannot be older than it; see `track`.

mod attempt;
mod decide;
mod dispatch;
mod event;
mod evidence;
mod explain;
mod interrupt;
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
