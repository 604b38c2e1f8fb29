//! The `unix_local` sandbox of the `openai-agents` Python package, in a Python process that is told what to do.

use std::path::{Path, PathBuf};
use std::process::{Command as Blocking, Stdio};

use serde_json::Value;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, Lines};
use tokio::process::{Child, ChildStdin, ChildStdout, Command};

use crate::Outcome;
use crate::args::out_dir;

/// What runs in Python.
const DRIVER: &str = include_str!("unix_local.py");

/// A Python process with an open sandbox.
pub(crate) struct UnixLocal {
    child: Child,
    stdin: ChildStdin,
    answers: Lines<BufReader<ChildStdout>>,
}

impl UnixLocal {
    pub(crate) async fn start(python: &Path) -> Outcome<Self> {
        let mut child = Command::new(python)
            .args(["-c", DRIVER])
            // Nothing is traced anywhere; no key is there to do it with.
            .env("OPENAI_AGENTS_DISABLE_TRACING", "1")
            .env_remove("OPENAI_API_KEY")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()?;
        let stdin = child.stdin.take().ok_or("the driver has no stdin")?;
        let stdout = child.stdout.take().ok_or("the driver has no stdout")?;
        let mut peer = Self { child, stdin, answers: BufReader::new(stdout).lines() };
        peer.answer().await?;
        Ok(peer)
    }

    /// One call of the driver: its name and arguments as a JSON list.
    pub(crate) async fn call(&mut self, call: Value) -> Outcome<Value> {
        self.stdin.write_all(format!("{call}\n").as_bytes()).await?;
        self.answer().await
    }

    async fn answer(&mut self) -> Outcome<Value> {
        let line = self.answers.next_line().await?.ok_or("the driver of unix_local ended")?;
        Ok(serde_json::from_str(&line)?)
    }

    /// Ends it, and waits for that.
    pub(crate) async fn stop(mut self) -> Outcome<()> {
        drop(self.stdin);
        self.child.wait().await?;
        Ok(())
    }
}

/// A number of an answer.
pub(crate) fn number(answer: &Value, name: &str) -> Outcome<f64> {
    answer[name].as_f64().ok_or_else(|| format!("no {name} in {answer}").into())
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
