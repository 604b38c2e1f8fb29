//! A sandbox in which a program runs, and looking after its processes there.

use std::collections::BTreeMap;
use std::time::Duration;

use ptyard_core::TerminalId;
use ptyard_terminal::backend::{KillReport, Signal, Target};
use ptyard_terminal::local::env::TERMINAL_VARIABLE;

use super::api::{Api, Sandbox};
use super::connect::Daemon;
use super::program::run;
use crate::remote::http::CallError;
use crate::shared::look_after;

/// How long looking after processes may take beyond the grace that is given.
const SCRIPT_LIMIT: Duration = Duration::from_secs(20);

/// Whose a sandbox is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Whose {
    /// Made for the one program, and removed with it.
    Ours,
    /// Somebody else's: it was there and stays.
    Theirs,
}

/// A sandbox with a program.
#[derive(Debug, Clone)]
pub(super) struct Place {
    pub(super) api: Api,
    pub(super) sandbox: Sandbox,
    pub(super) daemon: Daemon,
    pub(super) whose: Whose,
}

/// Sends signal `$2` to process `$1`, or, when `$3` is `group`, to the group in the foreground of its tty; without a tty
/// to the group that it leads.
const SIGNAL: &str = r#"
{ IFS= read -r line <"/proc/$1/stat"; } 2>/dev/null || exit 0
pid=$1 signal=$2 whom=$3
set -- ${line##*)}
[ "$whom" = group ] || { kill -"$signal" "$pid"; exit; }
if [ "$6" -gt 0 ]; then kill -"$signal" "-$6"
elif [ "$3" = "$pid" ]; then kill -"$signal" "-$pid"
else kill -"$signal" "$pid"; fi
"#;

impl Place {
    pub(super) fn is_own(&self) -> bool {
        self.whose == Whose::Ours
    }

    /// How many processes of a program live.
    pub(super) async fn count(&self, id: TerminalId) -> Result<u32, CallError> {
        Ok(look_after::report(&self.look_after(id, &["count"], SCRIPT_LIMIT).await?).found)
    }

    /// Asks all of a program to leave, and ends who stays.
    pub(super) async fn kill(&self, id: TerminalId, grace: Duration) -> Result<KillReport, CallError> {
        let tenths = look_after::tenths(grace);
        let output = self.look_after(id, &["kill", &tenths], grace + SCRIPT_LIMIT).await?;
        Ok(look_after::report(&output))
    }

    async fn look_after(&self, id: TerminalId, what: &[&str], limit: Duration) -> Result<String, CallError> {
        let mark = format!("{TERMINAL_VARIABLE}={id}");
        let arguments: Vec<&str> = [mark.as_str()].into_iter().chain(what.iter().copied()).collect();
        let nothing = BTreeMap::new();
        let running = run(&self.daemon, look_after::SCRIPT, &arguments, &nothing);
        let ran = tokio::time::timeout(limit, running).await;
        Ok(ran.map_err(|_| CallError::too_late("no report", limit))??.output)
    }

    /// Sends a signal.
    pub(super) async fn signal(&self, pid: u32, signal: Signal, target: Target) -> Result<(), CallError> {
        let (pid, signal) = (pid.to_string(), signal.0.to_string());
        let arguments = [pid.as_str(), signal.as_str(), look_after::whom(target)];
        let nothing = BTreeMap::new();
        let running = run(&self.daemon, SIGNAL, &arguments, &nothing);
        let ran = tokio::time::timeout(SCRIPT_LIMIT, running).await;
        let ran = ran.map_err(|_| CallError::too_late("no answer", SCRIPT_LIMIT))??;
        match ran.exit.code {
            Some(0) => Ok(()),
            _ => Err(CallError::garbled(ran.output.trim())),
        }
    }

    /// Makes sure that the sandbox lives on for a while.
    pub(super) async fn renew(&self) -> Result<(), CallError> {
        match self.whose {
            Whose::Ours => self.api.renew(&self.sandbox.id).await,
            // Connecting lengthens a lease and never shortens it.
            Whose::Theirs => self.api.connect(&self.sandbox.id).await.map(drop),
        }
    }

    /// Leaves nothing of a program: in a sandbox of its own nothing at all.
    pub(super) async fn leave(&self, id: TerminalId) {
        let left = match self.whose {
            Whose::Ours => self.api.remove(&self.sandbox.id).await,
            Whose::Theirs => self.kill(id, Duration::ZERO).await.map(drop),
        };
        match left {
            Err(error) if !error.is_not_found() => {
                tracing::warn!(terminal = %id, sandbox = self.sandbox.id, %error, "something may be left in a sandbox");
            }
            _ => {}
        }
    }
}
