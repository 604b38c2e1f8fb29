//! Looking after a program's processes from inside its container.
//!
//! The engine knows one process per program and can signal none of them. So a script goes in, by an exec of its own as
//! the container's root, and finds the program's processes by the variable they were born with, by their parents and
//! by their sessions. Nothing is written into the container: there is no file with process ids that whoever runs there
//! could change, and a process can only bring its own descendants into the tree.

use std::time::Duration;

use ptyard_core::{Size, TerminalId};
use ptyard_terminal::backend::{KillReport, Signal, Target};
use serde_json::json;
use tokio::io::AsyncReadExt;

use super::engine::{Engine, EngineError};
use crate::shared::look_after;

/// Most of what the script has to say.
const MOST_OUTPUT: u64 = 64 << 10;

/// How long the script may take beyond the grace it was given.
const SCRIPT_LIMIT: Duration = Duration::from_secs(20);

/// The processes of one terminal in one container.
#[derive(Debug, Clone)]
pub(super) struct Inside {
    pub(super) engine: Engine,
    pub(super) container: String,
    pub(super) id: TerminalId,
}

impl Inside {
    /// How many live.
    pub(super) async fn count(&self) -> Result<u32, EngineError> {
        let output = self.run(&["count"], SCRIPT_LIMIT).await?;
        Ok(look_after::report(&output).found)
    }

    pub(super) async fn signal(&self, signal: Signal, target: Target) -> Result<(), EngineError> {
        self.run(&["signal", &signal.0.to_string(), look_after::whom(target)], SCRIPT_LIMIT).await.map(drop)
    }

    /// Sets the size of the tty that the program has open.
    pub(super) async fn resize(&self, size: Size) -> Result<(), EngineError> {
        let arguments = ["resize", &size.rows().to_string(), &size.cols().to_string()];
        let said = self.run(&arguments, SCRIPT_LIMIT).await?;
        // It says something only when there is none.
        if said.trim().is_empty() { Ok(()) } else { Err(EngineError::Answer(said.trim().to_owned())) }
    }

    /// Asks all of them to leave, and ends who stays. Once begun it goes on in the container whatever becomes of us.
    pub(super) async fn kill(&self, grace: Duration) -> Result<KillReport, EngineError> {
        let tenths = look_after::tenths(grace);
        let output = self.run(&["kill", &tenths], grace + SCRIPT_LIMIT).await?;
        Ok(look_after::report(&output))
    }

    async fn run(&self, arguments: &[&str], limit: Duration) -> Result<String, EngineError> {
        let mark = look_after::mark(self.id);
        let command: Vec<&str> = ["sh", "-c", look_after::SCRIPT, "sh", &mark]
            .into_iter()
            .chain(arguments.iter().copied())
            .collect();
        let order = json!({
            "AttachStdout": true, "AttachStderr": true, "Tty": true, "User": "0", "Cmd": command,
        });
        let made: super::api::Made =
            self.engine.post(&format!("/containers/{}/exec", self.container), &order).await?;
        let start = json!({ "Detach": false, "Tty": true });
        let stream = self.engine.hijack(&format!("/exec/{}/start", made.id), Some(&start)).await?;
        let mut output = Vec::new();
        let mut limited = stream.take(MOST_OUTPUT);
        let read = tokio::time::timeout(limit, limited.read_to_end(&mut output)).await;
        if !matches!(read, Ok(Ok(_))) {
            return Err(EngineError::Answer("the look inside of the container broke off".to_owned()));
        }
        let output = String::from_utf8_lossy(&output).replace('\r', "");
        tracing::trace!(container = %self.container, ?arguments, %output, "looked inside");
        let state: super::api::ExecState = self.engine.get(&format!("/exec/{}/json", made.id)).await?;
        match state.exit_code {
            Some(126 | 127) => Err(EngineError::Answer(format!(
                "the container has no shell to look after its processes with: {}",
                output.trim()
            ))),
            _ => Ok(output),
        }
    }
}
