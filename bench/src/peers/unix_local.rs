//! The `unix_local` sandbox of the `openai-agents` Python package, in a Python process that is told what to do.

use std::path::{Path, PathBuf};
use std::process::{Command as Blocking, Stdio};

use tokio::process::Command;

use crate::Outcome;
use crate::args::out_dir;
use crate::peers::driver::Driver;

/// What runs in Python.
const DRIVER: &str = include_str!("unix_local.py");

/// Starts a Python process with an open sandbox.
pub(crate) async fn start(python: &Path) -> Outcome<Driver> {
    let mut command = Command::new(python);
    command
        .args(["-c", DRIVER])
        // Nothing is traced anywhere; no key is there to do it with.
        .env("OPENAI_AGENTS_DISABLE_TRACING", "1")
        .env_remove("OPENAI_API_KEY");
    Ok(Driver::start(command).await?.0)
}

/// A Python that has the package, installed on the first run into an environment beside this crate.
pub(crate) fn python() -> Outcome<PathBuf> {
    let venv = out_dir().join("venv");
    let python = venv.join("bin/python");
    let has_package = |python: &Path| {
        let import = ["-c", "import agents.sandbox.sandboxes.unix_local"];
        Blocking::new(python).args(import).stderr(Stdio::null()).status().is_ok_and(|status| status.success())
    };
    if has_package(&python) {
        return Ok(python);
    }
    eprintln!("installing the openai-agents package for comparison");
    std::fs::create_dir_all(out_dir())?;
    let made = Blocking::new("python3").args(["-m", "venv"]).arg(&venv).status()?;
    let pip = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "openai-agents"];
    if !made.success() || !Blocking::new(&python).args(pip).status()?.success() || !has_package(&python) {
        return Err("openai-agents cannot be installed".into());
    }
    Ok(python)
}
