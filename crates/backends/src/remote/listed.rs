//! What is on a list of what was made ([`Ledger`]): struck when it is known to be gone, and ended by a later server else.
//!
//! A sandbox of ours stands there by its name, a program in somebody else's as `SANDBOX.ptyard-ID`: the name of a program
//! has no dot.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use ptyard_core::{ErrorCode, Size, TerminalId};
use ptyard_terminal::backend::{Creation, Signal, StartError, Target};

use super::http::CallError;
use super::ledger::Ledger;
use super::lodging::{Lodger, Lodging, Ran, Whose};
use crate::shared::start_error;

/// One thing on a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Entry {
    /// The sandbox, as its vendor is asked for it.
    pub(crate) sandbox: String,
    pub(crate) whose: Whose,
    /// The program's terminal.
    pub(crate) id: TerminalId,
}

impl Entry {
    fn name(&self) -> String {
        match self.whose {
            Whose::Ours => self.sandbox.clone(),
            Whose::Theirs => format!("{}.ptyard-{}", self.sandbox, self.id),
        }
    }

    fn of(name: &str, owner: Option<TerminalId>) -> Self {
        let theirs = name.rsplit_once(".ptyard-").and_then(|(sandbox, id)| Some((sandbox, id.parse().ok()?)));
        match theirs {
            Some((sandbox, id)) => Self { sandbox: sandbox.to_owned(), whose: Whose::Theirs, id },
            None => {
                let id = owner.unwrap_or(TerminalId::from_bits(0));
                Self { sandbox: name.to_owned(), whose: Whose::Ours, id }
            }
        }
    }

    fn what(&self) -> String {
        match self.whose {
            Whose::Ours => format!("sandbox {}", self.sandbox),
            Whose::Theirs => format!("a program in sandbox {}", self.sandbox),
        }
    }
}

/// A lodging that is on a list.
#[derive(Debug, Clone)]
pub(crate) struct Listed<L> {
    lodging: L,
    ledger: Ledger,
    entry: Arc<str>,
}

impl<L: Lodging> Listed<L> {
    /// One that was noted.
    pub(crate) fn new(lodging: L, ledger: &Ledger, entry: &Entry) -> Self {
        Self { lodging, ledger: ledger.clone(), entry: entry.name().into() }
    }
}

/// Leaves nothing of a program, or says why not.
pub(crate) async fn clear(lodging: &impl Lodging, id: TerminalId) -> Result<(), CallError> {
    match lodging.whose() {
        Whose::Ours => lodging.remove().await,
        Whose::Theirs => {
            lodging.kill(id, Duration::ZERO).await?;
            lodging.forget(id).await
        }
    }
}

impl<L: Lodging> Lodging for Listed<L> {
    const RENEW_EVERY: Option<Duration> = L::RENEW_EVERY;

    fn whose(&self) -> Whose {
        self.lodging.whose()
    }

    fn name(&self) -> &str {
        self.lodging.name()
    }

    async fn run(
        &self,
        script: &str,
        arguments: &[&str],
        env: &BTreeMap<String, String>,
        limit: Duration,
    ) -> Result<Ran, CallError> {
        self.lodging.run(script, arguments, env, limit).await
    }

    async fn resize(&self, lodger: Lodger, size: Size) -> Result<(), CallError> {
        self.lodging.resize(lodger, size).await
    }

    async fn signal(&self, lodger: Lodger, signal: Signal, target: Target) -> Result<(), CallError> {
        self.lodging.signal(lodger, signal, target).await
    }

    async fn renew(&self) -> Result<(), CallError> {
        self.lodging.renew().await
    }

    async fn remove(&self) -> Result<(), CallError> {
        self.lodging.remove().await?;
        self.ledger.strike(&self.entry).await;
        Ok(())
    }

    async fn forget(&self, id: TerminalId) -> Result<(), CallError> {
        self.lodging.forget(id).await?;
        self.ledger.strike(&self.entry).await;
        Ok(())
    }

    async fn leave(&self, id: TerminalId) {
        match clear(self, id).await {
            Err(error) if !error.is_not_found() => {
                let sandbox = self.name();
                tracing::warn!(terminal = %id, sandbox, %error, "something may be left in a sandbox");
            }
            // With its sandbox it is gone.
            _ => self.ledger.strike(&self.entry).await,
        }
    }
}

impl Ledger {
    /// Writes down that something will be made.
    pub(crate) async fn enter(&self, entry: &Entry) -> Result<(), CallError> {
        self.note(&entry.name(), entry.id).await
    }

    /// Adds what a later server has to know of it.
    #[cfg(feature = "daytona")]
    pub(crate) async fn add_to(&self, entry: &Entry, memo: &str) -> Result<(), CallError> {
        self.add(&entry.name(), memo).await
    }

    /// What was added.
    #[cfg(feature = "daytona")]
    pub(crate) async fn memo_of(&self, entry: &Entry) -> Option<String> {
        self.memo(&entry.name()).await.ok().flatten()
    }

    /// Strikes what was not made, or is gone.
    pub(crate) async fn leave_out(&self, entry: &Entry) {
        self.strike(&entry.name()).await;
    }

    /// What is on the list, each with what ends it. What is not found any more is struck.
    pub(crate) async fn creations<End: Future<Output = Result<(), CallError>> + Send + 'static>(
        &self,
        end: impl Fn(Entry) -> End,
    ) -> Result<Vec<Creation>, StartError> {
        let all = self.all().await.map_err(|error| {
            start_error(
                ErrorCode::StateUnwritable,
                format!("the list of what was made cannot be read: {error}"),
            )
        })?;
        let creation = |(name, owner): (String, Option<TerminalId>)| {
            let entry = Entry::of(&name, owner);
            let (what, ending, ledger) = (entry.what(), end(entry), self.clone());
            let end = async move {
                match ending.await {
                    Err(error) if !error.is_not_found() => Err(error.of_start("the sandbox")),
                    _ => {
                        ledger.strike(&name).await;
                        Ok(())
                    }
                }
            };
            Creation { what, owner, end: Box::pin(end) }
        };
        Ok(all.into_iter().map(creation).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_entry_is_known_by_its_name() {
        let id = TerminalId::from_bits(7);
        let entry = |sandbox: &str, whose| Entry { sandbox: sandbox.to_owned(), whose, id };
        for entry in [
            entry("ptyard-t00000000000000000000000000000007", Whose::Ours),
            entry("abc", Whose::Theirs),
            entry("a.b-c.d", Whose::Theirs),
        ] {
            assert_eq!(Entry::of(&entry.name(), Some(id)), entry);
        }
    }
}
