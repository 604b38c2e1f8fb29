//! A session in a sandbox, in which a program runs.

use std::collections::BTreeMap;
use std::time::Duration;

use ptyard_core::{Exit, Size, TerminalId};
use serde_json::json;

use super::api::Api;
use super::line::Line;
use crate::remote::http::CallError;
use crate::remote::lodging::{Lodger, Lodging, Ran, Whose};
use crate::remote::socket::Word;
use crate::shared::fate::Herald;

/// How long a look at the shell may take.
const LOOK_LIMIT: Duration = Duration::from_secs(20);

/// A sandbox, and the session of the one program in it.
#[derive(Debug, Clone)]
pub(super) struct Place {
    pub(super) api: Api,
    pub(super) sandbox: String,
    pub(super) session: String,
    pub(super) whose: Whose,
    /// From when the program runs.
    pub(super) terminal: Option<Terminal>,
}

/// The terminal of a session.
#[derive(Clone)]
pub(super) struct Terminal {
    pub(super) line: Line,
    /// The process id of its shell.
    pub(super) shell: u32,
    pub(super) herald: Herald,
}

impl std::fmt::Debug for Terminal {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Terminal").field("shell", &self.shell).finish_non_exhaustive()
    }
}

impl Place {
    pub(super) fn new(api: &Api, sandbox: String, whose: Whose, id: TerminalId) -> Self {
        Self { api: api.clone(), sandbox, session: session_of(id), whose, terminal: None }
    }
}

/// The name of a program's session.
pub(super) fn session_of(id: TerminalId) -> String {
    format!("ptyard-{id}")
}

impl Lodging for Place {
    /// A sandbox sleeps when nothing was asked of it for a while, ten minutes unless its worker says something else.
    const RENEW_EVERY: Option<Duration> = Some(Duration::from_secs(120));

    fn whose(&self) -> Whose {
        self.whose
    }

    fn name(&self) -> &str {
        &self.sandbox
    }

    async fn run(
        &self,
        script: &str,
        arguments: &[&str],
        env: &BTreeMap<String, String>,
        limit: Duration,
    ) -> Result<Ran, CallError> {
        if !env.is_empty() {
            return Err(CallError::NotSent("a run has no variables there".to_owned()));
        }
        let argv: Vec<&str> =
            ["/bin/sh", "-c", script, "sh"].into_iter().chain(arguments.iter().copied()).collect();
        self.api.run(&self.sandbox, &argv, limit).await
    }

    async fn resize(&self, _lodger: Lodger, size: Size) -> Result<(), CallError> {
        let Some(Terminal { line, .. }) = &self.terminal else { return Ok(()) };
        let order = json!({ "type": "resize", "cols": size.cols(), "rows": size.rows() });
        line.insist(Word::Text(order.to_string())).await
    }

    /// Looks whether the shell that would tell the program's end is there. When it is not, the bridge does not say so:
    /// its sockets stand as before.
    async fn renew(&self) -> Result<(), CallError> {
        let Some(Terminal { shell, herald, .. }) = &self.terminal else { return Ok(()) };
        let script = "[ -d \"/proc/$1\" ] || echo gone";
        let ran = self.run(script, &[&shell.to_string()], &BTreeMap::new(), LOOK_LIMIT).await?;
        if ran.output.trim() == "gone" {
            tracing::warn!(sandbox = self.sandbox, session = self.session, "a terminal's shell is gone");
            herald.clone().ended(Exit::lost());
        }
        Ok(())
    }

    async fn remove(&self) -> Result<(), CallError> {
        self.api.remove(&self.sandbox).await
    }

    async fn forget(&self, _id: TerminalId) -> Result<(), CallError> {
        self.api.close(&self.sandbox, &self.session).await
    }
}
