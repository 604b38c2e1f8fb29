//! Programs in containers of a real engine, which the tests start and stop themselves.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod conformance;
mod engine;
mod orphans;
mod proxy;
mod wire;
