//! Agents in a yard: scripted ones on real terminals, with the real judges and turn machines.

#![expect(clippy::unwrap_used, reason = "a test stops at what it did not expect")]

mod answers;
mod cases;
mod events;
mod flows;
mod launches;
mod mail;
mod stage;
mod teams;
mod work;
