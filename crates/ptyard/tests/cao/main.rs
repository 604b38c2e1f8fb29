//! The published clients of CLI Agent Orchestrator, unchanged, against `ptyard serve --cao`.
//!
//! They need `python3` with `venv`, tmux and, the first time, a package index; the web page needs Chromium. The environment
//! is kept beside the build; what cannot be had is said, and the tests are left out.
#![expect(clippy::unwrap_used, reason = "a test stops at what it did not expect")]

mod browser;
mod commands;
mod mcp;
mod operator;
mod package;
mod proxy;
mod site;
mod team;
mod web;
