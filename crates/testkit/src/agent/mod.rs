//! A stand-in for a coding agent, for tests that must not need a model.
//!
//! It has a composer, dialogs, turns and the habits of the real ones: it throws away what comes while it starts, takes
//! an Enter that comes together with text for a line break, folds long pastes, opens a dialog over a composer that was
//! already drawn, tells its status in several ways or in none. What it does is a [small file](AgentConfig); what it
//! *understood* is in its [record](Record), one JSON line per event: the referee of every test about delivery.
//!
//! The way the data goes: bytes become [`Input`]s in a parser, the [`Agent`] is a pure machine over inputs and
//! moments, and [`run`] is the only part that touches a terminal. It sleeps in `poll` until the next input or the next
//! moment the machine named, so a hundred of them cost nothing while nothing happens.

mod composer;
mod config;
mod frame;
mod input;
mod machine;
mod program;
mod record;
mod report;
mod run;
mod turn;

pub use config::{
    AgentConfig, Burst, Choice, ComposerConfig, DialogConfig, Ending, Osc7501, Outcome, ScreenConfig, Show,
    StatusConfig, TurnConfig, WhileBusy,
};
pub use frame::Frame;
pub use input::{Input, Parser};
pub use machine::{Agent, Effect, Leaving};
#[cfg(feature = "vendors")]
pub(crate) use program::built;
pub use program::{MANIFEST, program};
pub use record::{Entry, Event, Record};
pub use run::run;
