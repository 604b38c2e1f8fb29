//! The published `cli-agent-orchestrator` package, with its provider `mock_cli` on tmux.

use std::path::{Path, PathBuf};
use std::process::{Command as Blocking, Stdio};

use serde_json::Value;
use tokio::process::Command;

use crate::Outcome;
use crate::args::out_dir;
use crate::peers::driver::Driver;

/// What drives it.
const DRIVER: &str = include_str!("cao.py");

/// A server of the package, and what it told of itself: its process id.
pub(crate) async fn start(python: &Path, agent: &Path, scratch: &Path) -> Outcome<(Driver, Value)> {
    let mut command = Command::new(python);
    command.args(["-c", DRIVER]).arg(agent).arg(scratch);
    Driver::start(command).await
}

/// A Python that has the package, installed on the first run into an environment beside this crate.
pub(crate) fn python() -> Outcome<PathBuf> {
    if !Blocking::new("tmux").arg("-V").stdout(Stdio::null()).status().is_ok_and(|status| status.success()) {
        return Err("it needs tmux, which is not installed".into());
    }
    let venv = out_dir().join("cao");
    let python = venv.join("bin/python");
    let has_package = |python: &Path| {
        let import = ["-c", "import cli_agent_orchestrator.api.main"];
        let quiet = Blocking::new(python).args(import).stdout(Stdio::null()).stderr(Stdio::null()).status();
        quiet.is_ok_and(|status| status.success())
    };
    if has_package(&python) {
        return Ok(python);
    }
    eprintln!("installing the cli-agent-orchestrator package for comparison");
    std::fs::create_dir_all(out_dir())?;
    let made = Blocking::new("python3").args(["-m", "venv"]).arg(&venv).status()?;
    let pip = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "cli-agent-orchestrator"];
    if !made.success() || !Blocking::new(&python).args(pip).status()?.success() || !has_package(&python) {
        return Err("cli-agent-orchestrator cannot be installed".into());
    }
    Ok(python)
}
