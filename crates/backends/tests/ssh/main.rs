//! Programs over a real sshd on loopback, which the tests start and stop themselves.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod conformance;
mod connection;
mod server;
