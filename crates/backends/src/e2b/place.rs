//! A sandbox in which a program runs.

use std::collections::BTreeMap;
use std::time::Duration;

use ptyard_core::Size;
use serde_json::json;

use super::api::{Api, LEASE, Sandbox};
use super::connect::{CALL_LIMIT, Daemon};
use super::program;
use crate::remote::http::{Again, CallError};
use crate::remote::lodging::{Lodger, Lodging, Ran, Whose};

/// A sandbox with a program.
#[derive(Debug, Clone)]
pub(super) struct Place {
    pub(super) api: Api,
    pub(super) sandbox: Sandbox,
    pub(super) daemon: Daemon,
    pub(super) whose: Whose,
}

impl Lodging for Place {
    const RENEW_EVERY: Option<Duration> = Some(Duration::from_secs(LEASE.as_secs() / 3));

    fn whose(&self) -> Whose {
        self.whose
    }

    fn name(&self) -> &str {
        &self.sandbox.id
    }

    async fn run(
        &self,
        script: &str,
        arguments: &[&str],
        env: &BTreeMap<String, String>,
        limit: Duration,
    ) -> Result<Ran, CallError> {
        let running = program::run(&self.daemon, script, arguments, env);
        tokio::time::timeout(limit, running).await.map_err(|_| CallError::too_late("no report", limit))?
    }

    async fn resize(&self, lodger: Lodger, size: Size) -> Result<(), CallError> {
        let order = json!({ "process": Daemon::of(lodger.id), "pty": { "size": program::of(size) } });
        self.daemon.order("Update", &order, Again::Always, Some(CALL_LIMIT)).await
    }

    async fn renew(&self) -> Result<(), CallError> {
        match self.whose {
            Whose::Ours => self.api.renew(&self.sandbox.id).await,
            // Connecting lengthens a lease and never shortens it.
            Whose::Theirs => self.api.connect(&self.sandbox.id).await.map(drop),
        }
    }

    async fn remove(&self) -> Result<(), CallError> {
        self.api.remove(&self.sandbox.id).await
    }
}
