//! The local backend with real programs.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod conformance;
mod ends;
mod environment;
mod input;
mod killing;
mod leaks;
mod starting;
mod support;
mod terminals;
mod throughput;
