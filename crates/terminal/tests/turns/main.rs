//! The turns of an agent in a terminal: what the actor makes of the turn machine.

#![expect(clippy::unwrap_used, reason = "a test stops at what it did not expect")]

mod hook;
mod judge;
mod place;
mod played;
mod real;
mod stage;
