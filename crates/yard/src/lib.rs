//! What the product does: terminals are started, typed into, read, waited for, ended and removed.
//!
//! Every face (command line, HTTP, MCP) is a translation of the calls of [`Yard`]; every rule stands here or below.
//!
//! The way the data goes: a call finds its terminal in the registry, which is a map behind a mutex that no await ever
//! sees, and then talks to the terminal's actor, which lives on a thread of its own kind (a lane), or reads its log. A window comes back as a [`Delivery`]: nothing has
//! moved until it is handed over.

pub mod agents;
mod delivery;
mod entry;
mod error;
mod events;
mod exec;
pub mod flows;
mod follow;
mod format;
mod ids;
pub mod inbox;
mod keys;
mod lane;
pub mod leftovers;
mod life;
mod limits;
mod observe;
mod policy;
mod position;
mod read;
mod record;
mod registry;
mod request;
mod restart;
pub mod spec;
mod state;
mod variables;
mod write;
mod yard;

pub use delivery::Delivery;
pub use error::YardError;
pub use events::EventStream;
pub use follow::{Follow, FollowItem};
pub use spec::{
    ClientPolicy, Event, ExecSpec, Info, KillOutcome, LimitInfo, LimitSpec, Login, Naming, Program, Range,
    ScreenView, TerminalRef, TypedInput, WaitOutcome, Window, WindowSpec, WriteSpec,
};
pub use state::check_state;
pub use variables::check_variables;
pub use yard::{Yard, YardConfig};
