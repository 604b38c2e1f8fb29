//! Places of the tests' own, for as long as a test runs: what they are made of has to be installed.

pub mod docker;
pub mod ssh;
