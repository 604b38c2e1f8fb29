//! A sandbox in which a program runs.

use std::collections::BTreeMap;
use std::time::Duration;

use ptyard_core::{Size, TerminalId};

use super::api::{Api, RENEW_EVERY};
use super::toolbox::Toolbox;
use crate::remote::http::CallError;
use crate::remote::lodging::{Lodger, Lodging, Ran, Whose};

/// A sandbox with a program.
#[derive(Debug, Clone)]
pub(super) struct Place {
    pub(super) api: Api,
    /// The vendor's id of the sandbox.
    pub(super) sandbox: String,
    pub(super) toolbox: Toolbox,
    pub(super) whose: Whose,
}

impl Lodging for Place {
    const RENEW_EVERY: Option<Duration> = Some(RENEW_EVERY);

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
        self.toolbox.run(script, arguments, env, limit).await
    }

    async fn resize(&self, lodger: Lodger, size: Size) -> Result<(), CallError> {
        self.toolbox.resize(lodger.id, size).await
    }

    async fn renew(&self) -> Result<(), CallError> {
        self.api.renew(&self.sandbox).await
    }

    async fn remove(&self) -> Result<(), CallError> {
        self.api.remove(&self.sandbox).await
    }

    async fn forget(&self, id: TerminalId) -> Result<(), CallError> {
        self.toolbox.remove(id).await
    }
}
