//! Servers and keepers that are killed, and programs that are not.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails, helpers included")]

mod agents;
mod chaos;
mod disk;
mod docker;
mod events;
mod flows;
mod herdr;
mod keeper;
mod kills;
mod leftovers;
mod limits;
mod neighbours;
mod places;
mod restart;
mod stage;
mod upgrade;
mod vendors;
mod viewer;
