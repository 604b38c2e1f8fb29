//! The `ptyard` program: command line, client, attach, and MCP on stdio.
//!
//! The way a command goes: `args` parses it, `run` turns it into calls of the [`client`], which speaks the wire
//! types of `ptyard_server::api` over the socket in the `state` directory; `start` starts a server there when none
//! answers. What is printed passes `print`; every refusal is a [`failure::Failure`], whose exit status is decided
//! in one place. `mcp` is another face over the same client; `attach` lends the user's terminal to a program.
//!
//! # Invariants
//! 1. With `--json`, stdout holds JSON and nothing else.
//! 2. A command that fails says so in one `error:` line on stderr and never exits 0.

mod args;
mod attach;
pub mod client;
mod config_file;
mod environment;
pub mod failure;
mod hooks;
mod keep;
mod logging;
mod mcp;
mod places;
mod print;
mod run;
mod serve;
mod start;
mod state;
mod takeover;

use std::process::ExitCode;

/// Runs the program with the arguments of this process.
#[must_use]
pub fn main() -> ExitCode {
    let args: Vec<_> = std::env::args_os().collect();
    ExitCode::from(run::run(&args))
}
