//! The published clients of CLI Agent Orchestrator, unchanged, against `ptyard serve --cao`.
//!
//! They need `python3` with `venv` and, the first time, a package index. The environment is kept beside the build; what
//! cannot be had is said, and the tests are left out.
#![expect(clippy::unwrap_used, reason = "a test stops at what it did not expect")]

mod commands;
mod mcp;
mod operator;
mod package;
mod site;
mod team;
