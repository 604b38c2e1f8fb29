//! Programs in sandboxes, through a server that speaks as the vendor does and is held to that by the vendor's own client.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod conformance;
mod faults;
mod left;
mod rejoin;
mod rounds;
mod sdk;
