//! Programs in sandboxes, through a server that speaks as the vendor's bridge does and is held to that by a plain client.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod conformance;
mod faults;
mod left;
mod rejoin;
mod rounds;
mod sdk;
