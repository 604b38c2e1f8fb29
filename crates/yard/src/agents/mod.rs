//! Agents: who they are, how they are told things, and who may tell them.

mod error;
pub mod framing;
pub mod handoff;
pub mod profile;
pub mod roster;
pub mod token;

pub use error::AgentError;
