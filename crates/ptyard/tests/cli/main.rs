//! The program as a user runs it: against a scripted server, and against its own.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails, helpers included")]

mod agents;
mod attach;
mod cases;
mod compatibility;
mod detect;
mod errors;
mod fake;
mod flows;
mod hooks;
mod live;
mod mail;
mod mcp;
mod mcp_http;
mod mcp_install;
mod mcp_live;
mod privacy;
mod programs;
mod providers;
mod pty;
mod refusals;
mod streams;
mod team;
mod vendors;
