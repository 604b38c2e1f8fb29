//! The store against its promises.

#![expect(clippy::unwrap_used, reason = "a test stops at what it did not expect")]

mod damage;
mod disk;
mod flows;
mod inbox;
mod kill;
mod model;
mod races;
mod rows;
mod support;
