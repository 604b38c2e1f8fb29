//! What a program tells beside its text: reports of its state, titles, marks of a shell.

mod events;
mod hook;
mod native;
mod title;

pub use events::{EventReader, EventWords};
pub use hook::{HookSaid, HookWords, NoHookWords, read_hook};

pub(crate) use native::Records;
pub(crate) use title::Titles;
