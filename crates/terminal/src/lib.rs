//! One terminal: its output log, its actor, and the backends' seam with the local backend behind it.
//!
//! The way the data goes: the actor reads a program's output straight into the [`log`]'s ring and publishes the new
//! end; windows, screen and viewers read the log with cursors of their own and never change it. All input passes the
//! actor's one queue. Starting programs sits behind [`backend::Backend`].
//!
//! This is the only crate of the workspace that may contain `unsafe`, all of it in `sys`.

pub mod backend;
pub mod local;
pub mod log;
mod sys;
