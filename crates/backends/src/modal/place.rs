//! A sandbox in which a program runs.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use ptyard_core::Size;
use ptyard_terminal::backend::{Signal, Target};
use tokio::sync::watch;

use super::api::{Api, SandboxId};
use super::exec;
use super::router::Router;
use crate::remote::http::CallError;
use crate::remote::lodging::{Lodger, Lodging, Ran, Whose};
use crate::shared::look_after;

/// How long a script that does one thing may take.
const SCRIPT_LIMIT: Duration = Duration::from_secs(20);

/// A sandbox that was made or found, and its machine.
#[derive(Debug)]
pub(super) struct Joined {
    pub(super) sandbox: SandboxId,
    pub(super) router: Router,
}

impl Joined {
    /// Finds the machine of a sandbox.
    pub(super) async fn of(api: &Api, sandbox: SandboxId) -> Result<Self, CallError> {
        let task = api.task(&sandbox).await?;
        let router = Router::of(api, task).await?;
        Ok(Self { sandbox, router })
    }

    /// Whether the sandbox is certain to have ended.
    pub(super) async fn is_gone(&self) -> bool {
        match self.router.api().has_ended(&self.sandbox).await {
            Ok(has_ended) => has_ended,
            Err(error) => error.is_not_found(),
        }
    }
}

/// Whoever looks for a sandbox says here that it was found; dropped, that it was not.
pub(super) type Finder = watch::Sender<Option<Arc<Joined>>>;

/// A sandbox with a program, which may still be looked for.
#[derive(Debug, Clone)]
pub(super) struct Place {
    joined: watch::Receiver<Option<Arc<Joined>>>,
    whose: Whose,
    /// As it was asked for.
    name: Arc<str>,
}

impl Place {
    pub(super) fn there(joined: Joined, whose: Whose, name: &str) -> Self {
        Self { joined: watch::channel(Some(Arc::new(joined))).1, whose, name: name.into() }
    }

    /// One that is still looked for.
    pub(super) fn awaited(whose: Whose, name: &str) -> (Finder, Self) {
        let (finder, joined) = watch::channel(None);
        (finder, Self { joined, whose, name: name.into() })
    }

    pub(super) async fn joined(&self) -> Result<Arc<Joined>, CallError> {
        match self.joined.clone().wait_for(Option::is_some).await.as_deref() {
            Ok(Some(joined)) => Ok(Arc::clone(joined)),
            Ok(None) | Err(_) => Err(CallError::Broken("the sandbox was not found".to_owned())),
        }
    }

    /// Runs the script that looks after processes, which knows a program by the variable it was born with: here nobody
    /// tells its process id.
    async fn tell(&self, lodger: Lodger, words: &[&str]) -> Result<(), CallError> {
        let mark = look_after::mark(lodger.id);
        let words: Vec<&str> = [mark.as_str()].into_iter().chain(words.iter().copied()).collect();
        let ran = self.run(look_after::SCRIPT, &words, &BTreeMap::new(), SCRIPT_LIMIT).await?;
        match ran.code {
            Some(0) => Ok(()),
            _ => Err(CallError::garbled(ran.output.trim())),
        }
    }
}

impl Lodging for Place {
    /// A sandbox has an end that is set when it is made, and nothing lengthens it.
    const RENEW_EVERY: Option<Duration> = None;

    fn whose(&self) -> Whose {
        self.whose
    }

    fn name(&self) -> &str {
        &self.name
    }

    async fn run(
        &self,
        script: &str,
        arguments: &[&str],
        env: &BTreeMap<String, String>,
        limit: Duration,
    ) -> Result<Ran, CallError> {
        let running = async {
            let joined = self.joined().await?;
            exec::run(&joined.router, script, arguments, env, limit).await
        };
        tokio::time::timeout(limit, running).await.map_err(|_| CallError::too_late("no report", limit))?
    }

    async fn resize(&self, lodger: Lodger, size: Size) -> Result<(), CallError> {
        self.tell(lodger, &["resize", &size.rows().to_string(), &size.cols().to_string()]).await
    }

    async fn signal(&self, lodger: Lodger, signal: Signal, target: Target) -> Result<(), CallError> {
        self.tell(lodger, &["signal", &signal.0.to_string(), look_after::whom(target)]).await
    }

    async fn renew(&self) -> Result<(), CallError> {
        Ok(())
    }

    async fn remove(&self) -> Result<(), CallError> {
        let joined = self.joined().await?;
        joined.router.api().remove(&joined.sandbox).await
    }
}
