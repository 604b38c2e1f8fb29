//! Kinds of coding CLIs as data: what they are doing, what they answered, how they are started.
//!
//! A [`Provider`] is a manifest that was checked and compiled. A [`Judge`] reads a terminal by it: signals and
//! frames in, a [`Verdict`] out, for a turn machine to weigh. [`Watch`] decides by itself, for recordings.
//!
//! Everything is pure: bytes, frames and moments come in as values. Only [`library`] reads files, and only when asked.

pub mod answer;
pub mod judge;
pub mod launch;
pub mod library;
pub mod manifest;
pub mod replay;
mod rules;
mod signals;

pub use judge::{Change, Composer, Dialog, Judge, Verdict, Watch};
pub use library::Library;
pub use manifest::{ManifestError, Origin, Provider};
pub use signals::{EventReader, EventWords, HookSaid, HookWords, NoHookWords, read_hook};
