//! The program as a user runs it: against a scripted server, and against its own.

mod attach;
mod fake;
mod live;
mod mcp;
mod programs;
mod pty;
mod refusals;
mod streams;
