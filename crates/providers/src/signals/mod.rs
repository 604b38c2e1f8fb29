//! What a program tells beside its text: reports of its state, titles, marks of a shell.

mod native;
mod title;

pub(crate) use native::Records;
pub(crate) use title::Titles;
