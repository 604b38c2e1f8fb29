//! The scripted agent on a real terminal.

#![expect(clippy::unwrap_used, reason = "a test stops at what it did not expect")]

mod habits;
mod many;
mod stage;
