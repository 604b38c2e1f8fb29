//! What the product does: terminals are started, typed into, read, waited for, ended and removed.
//!
//! Every face (command line, HTTP, MCP) is a translation of the calls of [`Yard`]; every rule stands here or below.

pub mod spec;
mod yard;

pub use spec::{
    ClientPolicy, Event, ExecSpec, Info, KillOutcome, Login, Program, Range, ScreenView, TerminalRef,
    TypedInput, WaitOutcome, Window, WindowSpec, WriteSpec,
};
pub use yard::{Delivery, EventStream, Follow, FollowItem, Yard, YardConfig, YardError};
