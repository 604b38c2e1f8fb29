//! The races of output and ends, each by name, each with its exact interleaving forced: a scripted program does what the
//! test says when it says so, pause points hold the reader, and time is the test's.
//!
//! Every race runs on a tty and on pipes. R17 to R19 and R21 are about removal and start; they stand in the yard's tests.

#![expect(clippy::unwrap_used, reason = "a test stops at what it did not expect")]

mod answers;
mod cancel;
mod cross;
mod ends;
mod limits;
mod stage;
mod text;
mod truncation;
