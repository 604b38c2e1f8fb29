//! The yard as its callers see it: with scripted programs where an interleaving must be exact, with real ones where
//! reality must be shown.

#![expect(clippy::unwrap_used, reason = "a test stops at what it did not expect")]

mod bad_input;
mod programs;
mod removal;
mod stage;
mod storm;
