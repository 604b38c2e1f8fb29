//! Agents: who they are, how they are told things, and who may tell them.

mod error;
pub mod framing;
pub mod handoff;
mod judge;
pub(crate) mod launch;
pub mod profile;
pub mod roster;
mod session;
mod status;
pub(crate) mod team;
pub mod token;

pub use error::AgentError;
pub use launch::{LaunchSpec, Launched, STATE_VARIABLE};
pub use status::{AgentStatus, Answer};
