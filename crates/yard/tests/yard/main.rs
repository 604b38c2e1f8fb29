//! The yard as its callers see it: with scripted programs where an interleaving must be exact, with real ones where
//! reality must be shown.

#![expect(clippy::unwrap_used, reason = "a test stops at what it did not expect")]

mod bad_input;
mod cases_ends;
mod cases_input;
mod cases_output;
mod cases_screen;
mod cases_security;
mod cases_text;
mod cases_trees;
mod inbox;
mod limits;
mod programs;
mod removal;
mod stage;
mod storm;
