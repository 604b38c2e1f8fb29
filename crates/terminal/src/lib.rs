//! One terminal: its output log, its actor, and the backends' seam with the local backend behind it.
//!
//! The way the data goes: the actor reads a program's output straight into the [`log`]'s ring and publishes the new
//! end; windows, screen and viewers read the log with cursors of their own and never change it. All input passes the
//! actor's one queue. Starting programs sits behind [`backend::Backend`].
//!
//! This is the only crate of the workspace that may contain `unsafe`, all of it in `sys`.

mod activity;
mod actor;
pub mod agent;
pub mod backend;
mod changes;
mod clock;
mod cores;
mod cursor;
mod intent;
pub mod local;
pub mod log;
mod observed;
mod pause;
mod progress;
mod sizes;
mod sys;
mod terminal;
mod wall;
mod whole_file;
mod window;

pub use actor::{Killed, KilledBy, Look, Run, TimeLimits, Typed, Written};
pub use changes::{FileChange, FileChanges};
pub use clock::Clock;
pub use cores::on_every_core;
pub use cursor::{SharedCursor, Turn};
pub use observed::{NoObserver, Observed, Observer, SharedObserved, TerminalEvent};
#[cfg(feature = "pause-points")]
pub use pause::Hold;
pub use pause::Pauses;
pub use progress::{Progress, Sealed};
pub use terminal::{Resumed, Surroundings, Terminal, TerminalError};
pub use wall::wait_for_wall;
pub use whole_file::{Outlives, replace_file};
pub use window::{Handover, Ready, TextUse, WindowCall, WindowCursor};
