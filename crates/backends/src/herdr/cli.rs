//! herdr's command line: what changes something, and what is asked.

use std::path::PathBuf;
use std::process::Stdio;
use std::time::Duration;

use ptyard_core::ErrorCode;
use ptyard_terminal::backend::StartError;
use serde_json::Value;
use tokio::process::Command;

use super::wire::id;
use crate::shared::{clients, start_error};

/// How long an answer may take.
const LIMIT: Duration = Duration::from_secs(30);

/// Why herdr did not do something.
#[derive(Debug, thiserror::Error)]
pub(super) enum HerdrError {
    /// There is no such command, or no server.
    #[error("herdr: {0}")]
    Unreachable(String),
    /// It refused.
    #[error("herdr refused {what}: {why}")]
    Refused { what: String, why: String },
    /// It answered what is not understood.
    #[error("herdr answered {what} with what is not understood: {answer}")]
    NotUnderstood { what: String, answer: String },
}

impl HerdrError {
    pub(super) fn of_start(&self) -> StartError {
        let code = match self {
            Self::Unreachable(_) => ErrorCode::BackendUnreachable,
            Self::Refused { .. } | Self::NotUnderstood { .. } => ErrorCode::SpawnFailed,
        };
        start_error(code, self.to_string())
    }
}

/// Most characters of an answer that are shown.
const SHOWN: usize = 300;

fn shown(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).trim().chars().take(SHOWN).collect()
}

/// The command, for one session.
#[derive(Debug, Clone)]
pub(super) struct Cli {
    pub(super) program: PathBuf,
    pub(super) config: Option<PathBuf>,
    pub(super) session: String,
}

/// A pane that was made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct RootPane {
    pub(super) pane: String,
    pub(super) workspace: Option<String>,
}

impl Cli {
    fn command(&self) -> Command {
        let mut command = clients::command(&self.program);
        if let Some(config) = &self.config {
            command.env("XDG_CONFIG_HOME", config);
        }
        command
    }

    /// Asks, and gives what stands under `result`.
    pub(super) async fn ask(&self, arguments: &[&str]) -> Result<Value, HerdrError> {
        // Never the payload: it may hold what is nobody's business.
        let what = || arguments.iter().take(2).copied().collect::<Vec<_>>().join(" ");
        let mut command = self.command();
        command.args(["--session", &self.session]).args(arguments);
        let output = clients::run(command, LIMIT).await;
        let output = output.map_err(|error| HerdrError::Unreachable(format!("{}: {error}", what())))?;
        if !output.status.success() {
            let why = if output.stderr.is_empty() { &output.stdout } else { &output.stderr };
            return Err(HerdrError::Refused { what: what(), why: shown(why) });
        }
        let answer: Option<Value> = serde_json::from_slice(&output.stdout).ok();
        match answer {
            Some(Value::Object(mut envelope)) if envelope.contains_key("result") => {
                Ok(envelope.remove("result").unwrap_or_default())
            }
            Some(Value::Object(envelope)) if envelope.contains_key("error") => {
                let why = envelope["error"].to_string().chars().take(SHOWN).collect();
                Err(HerdrError::Refused { what: what(), why })
            }
            _ => Err(HerdrError::NotUnderstood { what: what(), answer: shown(&output.stdout) }),
        }
    }

    /// The same, for what makes a pane.
    pub(super) async fn make(&self, arguments: &[&str]) -> Result<RootPane, HerdrError> {
        let result = self.ask(arguments).await?;
        let root = result.get("root_pane").unwrap_or(&result);
        match id(root, "pane_id") {
            Some(pane) => Ok(RootPane { pane, workspace: id(root, "workspace_id") }),
            None => Err(HerdrError::NotUnderstood {
                what: arguments.iter().take(2).copied().collect::<Vec<_>>().join(" "),
                answer: result.to_string().chars().take(SHOWN).collect(),
            }),
        }
    }

    pub(super) async fn version(&self) -> Result<String, HerdrError> {
        let mut command = self.command();
        command.arg("--version");
        match clients::run(command, LIMIT).await {
            Ok(output) if output.status.success() => Ok(shown(&output.stdout)),
            Ok(output) => Err(HerdrError::Unreachable(shown(&output.stderr))),
            Err(error) => Err(HerdrError::Unreachable(error.to_string())),
        }
    }

    /// Starts a server that outlives whoever started it. Whether it came up is seen at its socket.
    pub(super) fn start_server(&self) -> Result<(), HerdrError> {
        let mut command = self.command();
        command.args(["--session", &self.session, "server"]);
        command.kill_on_drop(false).process_group(0).stdout(Stdio::null()).stderr(Stdio::null());
        // It goes on when this is dropped.
        command.spawn().map(drop).map_err(|error| HerdrError::Unreachable(error.to_string()))
    }
}
