//! What the operating system's calls need: the only module with `unsafe`, each block with its reason.
#![allow(unsafe_code, reason = "system calls and shared mappings; every block states why it is sound")]

pub(crate) mod mapping;
pub(crate) mod passwd;
pub(crate) mod signal;
pub(crate) mod spawn;
pub(crate) mod watched;
