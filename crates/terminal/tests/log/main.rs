//! The output log, from outside: what it keeps, in every failure there is.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod basics;
mod death;
mod disk;
mod kill;
mod model;
mod readers;
mod support;
