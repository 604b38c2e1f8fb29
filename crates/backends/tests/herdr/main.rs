//! Programs in panes of herdr: against the stand-in of the testkit, which is built from what is known of herdr's wire,
//! and, where there is one, against herdr itself.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod conformance;
mod evidence;
mod faults;
mod panes;
mod real;
mod stage;
