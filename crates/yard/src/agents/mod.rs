//! Agents: who they are, how they are told things, and who may tell them.

mod deliver;
mod dialogs;
pub mod editions;
mod error;
pub mod framing;
pub mod handoff;
mod hooks;
mod judge;
mod labels;
pub(crate) mod launch;
mod listen;
pub(crate) mod mail;
mod plan;
pub mod profile;
mod record;
pub mod roster;
mod servers;
mod session;
mod status;
pub(crate) mod team;
pub mod token;
mod work;

pub use dialogs::OnDialog;
pub use error::AgentError;
pub use labels::Labels;
pub use launch::{Alias, Known, LaunchSpec, Launched, STATE_VARIABLE};
pub use mail::{Told, Voice};
pub use status::{AgentStatus, Answer};
pub use work::HandedOff;
