//! Programs in containers of a real engine, which the tests start and stop themselves.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod conformance;
mod orphans;
mod proxy;
mod tls;
mod wire;

/// What carries the streams of programs.
fn carrier() -> Vec<String> {
    vec![env!("CARGO_BIN_EXE_ptyard-carry").to_owned()]
}
