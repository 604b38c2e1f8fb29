//! The local backend with real programs.

mod ends;
mod environment;
mod input;
mod killing;
mod leaks;
mod starting;
mod support;
mod terminals;
mod throughput;
