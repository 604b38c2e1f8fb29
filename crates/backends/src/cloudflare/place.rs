//! A session in a sandbox, in which a program runs.

use std::collections::BTreeMap;
use std::time::Duration;

use ptyard_core::{Exit, Size, TerminalId};
use ptyard_terminal::backend::StartSpec;
use ptyard_terminal::local::env::TERMINAL_VARIABLE;
use serde_json::json;

use super::api::Api;
use super::follow::ready;
use super::gate::Gate;
use crate::remote::http::{Again, CallError, call, refused};
use crate::remote::ledger::Ledger;
use crate::remote::line::Line;
use crate::remote::lodging::{Lodger, Lodging, Ran, Whose};
use crate::remote::socket::{Ear, Mouth, Word};
use crate::shared::fate::Herald;
use crate::shared::look_after;

/// By which the shell of a terminal is found.
const SHELL_VARIABLE: &str = "PTYARD_SHELL";

/// How long a look at the shell may take.
const LOOK_LIMIT: Duration = Duration::from_secs(20);

/// A sandbox, and the session of the one program in it.
#[derive(Debug, Clone)]
pub(super) struct Place {
    pub(super) api: Api,
    pub(super) sandbox: String,
    pub(super) session: String,
    pub(super) whose: Whose,
    ledger: Ledger,
    gate: Gate,
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
    pub(super) fn new(api: &Api, ledger: &Ledger, sandbox: String, whose: Whose, id: TerminalId) -> Self {
        let (session, gate) = (session_of(id), Gate::default());
        Self { api: api.clone(), ledger: ledger.clone(), sandbox, session, whose, gate, terminal: None }
    }
}

/// Refused because the sandbox is being removed, or the session closed.
fn is_gone() -> CallError {
    refused(404, b"it is being removed", None)
}

/// The name of a program's session.
pub(super) fn session_of(id: TerminalId) -> String {
    format!("ptyard-{id}")
}

impl Place {
    /// Opens the session. The variable by which a program's processes are found is not given to its shell, which outlives
    /// them to tell their end, and has another one.
    pub(super) async fn open(&self, spec: &StartSpec) -> Result<(), CallError> {
        let _pass = self.gate.enter().ok_or_else(is_gone)?;
        self.ledger.note(&self.entry(), spec.id).await?;
        let mut env = spec.env.clone();
        env.remove(TERMINAL_VARIABLE);
        env.insert(SHELL_VARIABLE.to_owned(), spec.id.to_string());
        self.api.open(&self.sandbox, &self.session, &spec.cwd.to_string_lossy(), &env).await
    }

    /// Writes down what a later server has to know to go on with the program.
    pub(super) async fn remember(&self, memo: &str) -> Result<(), CallError> {
        self.ledger.add(&self.entry(), memo).await
    }

    /// What was written down.
    pub(super) async fn memo(&self) -> Option<String> {
        self.ledger.memo(&self.entry()).await.ok().flatten()
    }

    /// What it is called in the list of what was made.
    fn entry(&self) -> String {
        match self.whose {
            Whose::Ours => self.sandbox.clone(),
            Whose::Theirs => format!("{}.{}", self.sandbox, self.session),
        }
    }

    /// Leaves nothing of the program. In somebody else's sandbox the shell goes too: one that was not heard of may be about
    /// to start its program.
    pub(super) async fn clear(&self, id: TerminalId) -> Result<(), CallError> {
        if self.whose == Whose::Ours {
            return self.remove().await;
        }
        self.gate.close().await;
        let closed = self.api.close(&self.sandbox, &self.session).await;
        let mark = format!("PTYARD_[A-Z]*={id}");
        let argv = ["/bin/sh", "-c", look_after::SCRIPT, "sh", &mark, "kill", "0"];
        call(Again::Always, || self.api.run(&self.sandbox, &argv, LOOK_LIMIT)).await?;
        closed?;
        self.ledger.strike(&self.entry()).await;
        Ok(())
    }

    /// Connects to the terminal.
    pub(super) async fn connect(&self, size: Size) -> Result<(Mouth, Ear, Vec<u8>), CallError> {
        let _pass = self.gate.enter().ok_or_else(is_gone)?;
        let (mouth, mut ear) = self.api.terminal(&self.sandbox, &self.session, size).await?;
        let replay = ready(&mut ear).await?;
        Ok((mouth, ear, replay))
    }
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
        let _pass = self.gate.enter().ok_or_else(is_gone)?;
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
        self.gate.close().await;
        self.api.remove(&self.sandbox).await?;
        self.ledger.strike(&self.entry()).await;
        Ok(())
    }

    async fn forget(&self, _id: TerminalId) -> Result<(), CallError> {
        self.gate.close().await;
        self.api.close(&self.sandbox, &self.session).await?;
        self.ledger.strike(&self.entry()).await;
        Ok(())
    }

    async fn leave(&self, id: TerminalId) {
        if let Err(error) = self.clear(id).await {
            let sandbox = &self.sandbox;
            tracing::warn!(terminal = %id, sandbox, %error, "something may be left in a sandbox");
        }
    }
}
