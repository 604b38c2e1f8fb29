//! A sandbox that is still looked for: of a program that an earlier server started.
//!
//! Whoever takes up a program says at once that it may be there, and finds out behind. What is asked of the sandbox
//! until then waits; when it is not found, the answer is why.

use std::collections::BTreeMap;
use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use ptyard_core::{Size, TerminalId};
use ptyard_terminal::backend::{Signal, Target};
use tokio::sync::watch;
use tokio::time::{Instant, sleep};

use super::http::{CallError, jittered};
use super::lodging::{Lodger, Lodging, Ran, Whose};
use crate::shared::look_after;

/// How long a sandbox is looked for when its vendor does not answer.
const LIMIT: Duration = Duration::from_secs(60);

/// The pause between two looks.
const PAUSE: Duration = Duration::from_secs(2);

/// How long a script that does one thing may take.
const SCRIPT_LIMIT: Duration = Duration::from_secs(20);

/// The line in the log behind which output of a program goes on that ran without a server.
pub(crate) const NOBODY_LISTENED: &str =
    "[ptyard: nobody listened for a while; what was printed in between is not here]";

/// What came of the search, once it is over.
type Outcome<L> = Option<Result<L, CallError>>;

/// Whoever looks. Dropped, nothing was found.
pub(crate) struct Seeker<L>(watch::Sender<Outcome<L>>);

/// A sandbox that is looked for, or was found.
#[derive(Debug, Clone)]
pub(crate) struct Sought<L> {
    outcome: watch::Receiver<Outcome<L>>,
    whose: Whose,
    /// As it was asked for.
    name: Arc<str>,
}

impl<L: Lodging> Sought<L> {
    /// One that is still looked for.
    pub(crate) fn new(whose: Whose, name: &str) -> (Seeker<L>, Self) {
        let (seeker, outcome) = watch::channel(None);
        (Seeker(seeker), Self { outcome, whose, name: name.into() })
    }

    /// One that is there.
    pub(crate) fn there(lodging: L) -> Self {
        let (whose, name) = (lodging.whose(), lodging.name().into());
        Self { outcome: watch::channel(Some(Ok(lodging))).1, whose, name }
    }

    pub(crate) async fn found(&self) -> Result<L, CallError> {
        match self.outcome.clone().wait_for(Option::is_some).await.as_deref() {
            Ok(Some(outcome)) => outcome.clone(),
            Ok(None) | Err(_) => {
                Err(CallError::Broken("the sandbox was not looked for to the end".to_owned()))
            }
        }
    }
}

impl<L: Lodging> Seeker<L> {
    /// Looks, again for as long as another look may find more. Nobody is told yet.
    pub(crate) async fn seek<T, Look: Future<Output = Result<T, CallError>>>(
        &self,
        id: TerminalId,
        look: impl Fn() -> Look,
    ) -> Result<T, CallError> {
        let until = Instant::now() + LIMIT;
        loop {
            match look().await {
                Err(error) if error.may_pass() && Instant::now() < until => {
                    tokio::select! {
                        () = sleep(jittered(PAUSE)) => {}
                        () = self.0.closed() => return Err(error),
                    }
                }
                Err(error) => {
                    tracing::warn!(terminal = %id, %error, "the sandbox of a program is not found");
                    return Err(error);
                }
                Ok(found) => return Ok(found),
            }
        }
    }

    /// Looks for it only to leave nothing there of a program that has ended; `sought` waits for what comes of it.
    pub(crate) fn leave_nothing<Look: Future<Output = Result<L, CallError>> + Send>(
        self,
        id: TerminalId,
        look: impl Fn() -> Look + Send + Sync + 'static,
        sought: impl Lodging,
    ) {
        tokio::spawn(async move {
            let found = self.seek(id, look).await;
            self.tell(found);
            sought.leave(id).await;
        });
    }

    /// Tells what came of it whoever waits for it.
    pub(crate) fn tell(self, outcome: Result<L, CallError>) {
        self.0.send_replace(Some(outcome));
    }
}

impl<L: Lodging> Lodging for Sought<L> {
    const RENEW_EVERY: Option<Duration> = L::RENEW_EVERY;

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
        let running = async { self.found().await?.run(script, arguments, env, limit).await };
        tokio::time::timeout(limit, running).await.map_err(|_| CallError::too_late("no report", limit))?
    }

    async fn resize(&self, lodger: Lodger, size: Size) -> Result<(), CallError> {
        self.found().await?.resize(lodger, size).await
    }

    /// By the variable that the program was born with where its process id is not known.
    async fn signal(&self, lodger: Lodger, signal: Signal, target: Target) -> Result<(), CallError> {
        if lodger.is_known() {
            return self.found().await?.signal(lodger, signal, target).await;
        }
        let (mark, signal) = (look_after::mark(lodger.id), signal.0.to_string());
        let arguments = [mark.as_str(), "signal", signal.as_str(), look_after::whom(target)];
        let ran = self.run(look_after::SCRIPT, &arguments, &BTreeMap::new(), SCRIPT_LIMIT).await?;
        match ran.code {
            Some(0) => Ok(()),
            _ => Err(CallError::garbled(ran.output.trim())),
        }
    }

    async fn renew(&self) -> Result<(), CallError> {
        self.found().await?.renew().await
    }

    async fn remove(&self) -> Result<(), CallError> {
        self.found().await?.remove().await
    }

    async fn forget(&self, id: TerminalId) -> Result<(), CallError> {
        self.found().await?.forget(id).await
    }

    async fn leave(&self, id: TerminalId) {
        match self.found().await {
            Ok(lodging) => lodging.leave(id).await,
            Err(error) if error.is_not_found() => {}
            Err(error) => {
                tracing::warn!(terminal = %id, sandbox = %self.name, %error, "something may be left in a sandbox");
            }
        }
    }
}
