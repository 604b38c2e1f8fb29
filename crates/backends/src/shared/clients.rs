//! Programs of this machine that talk to a place for us: `tmux`, `ssh`, `sh`.

use std::ffi::OsStr;
use std::io;
use std::process::{Output, Stdio};
use std::time::Duration;

use tokio::process::Command;

/// Variables such a program needs to find its configuration and its server.
const KEPT: &[&str] = &[
    "HOME",
    "LANG",
    "LOGNAME",
    "PATH",
    "SHELL",
    "SSH_AUTH_SOCK",
    "TERM",
    "TMPDIR",
    "TMUX_TMPDIR",
    "USER",
    "XDG_CONFIG_HOME",
    "XDG_RUNTIME_DIR",
];

/// A command that is ended when it is dropped, with little of this process's environment: a server that it starts
/// would hand all of it to every program.
pub(crate) fn command(program: impl AsRef<OsStr>) -> Command {
    let mut command = Command::new(program);
    command.env_clear().kill_on_drop(true).stdin(Stdio::null());
    for (name, value) in std::env::vars_os() {
        if name.to_str().is_some_and(|name| KEPT.contains(&name) || name.starts_with("LC_")) {
            command.env(name, value);
        }
    }
    command
}

/// Runs one to its end.
pub(crate) async fn run(mut command: Command, limit: Duration) -> io::Result<Output> {
    let output = command.stdout(Stdio::piped()).stderr(Stdio::piped()).output();
    tokio::time::timeout(limit, output).await.unwrap_or_else(|_| Err(io::ErrorKind::TimedOut.into()))
}

/// Runs the script that looks after processes, on this machine.
pub(crate) async fn look_after(mark: &str, arguments: &[&str], limit: Duration) -> io::Result<String> {
    let mut command = command("/bin/sh");
    command.args(["-c", super::look_after::SCRIPT, "sh", mark]).args(arguments);
    let output = run(command, limit).await?;
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}
