//! Programs in panes of a real tmux server, which the tests start and stop themselves.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod clients;
mod conformance;
mod persons;
mod pipes;
mod server;
mod sessions;
mod starts;
