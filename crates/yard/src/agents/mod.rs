//! Agents: who they are, how they are told things, and who may tell them.

pub mod framing;
pub mod profile;
