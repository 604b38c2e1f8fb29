//! Sizes, signals and ends: everything that happens to a running program, and the removal of ended ones.

use std::sync::Arc;
use std::time::Duration;

use ptyard_core::{Size, TerminalId};
use ptyard_terminal::KilledBy;
use ptyard_terminal::backend::{Removal, Signal, Target};
use tokio::sync::watch;

use crate::entry::Entry;
use crate::error::YardError;
use crate::spec::{KillOutcome, TerminalRef};
use crate::write::ended;
use crate::yard::Yard;

/// Time between TERM and KILL, unless the caller says otherwise.
pub(crate) const GRACE: Duration = Duration::from_secs(2);

/// Most a caller may ask for.
const MAX_GRACE: Duration = Duration::from_secs(60);

/// Counts teardowns under way. A teardown runs in a task of its own, so that no caller can abandon it.
pub(crate) struct Teardowns(watch::Sender<usize>);

impl Default for Teardowns {
    fn default() -> Self {
        Self(watch::channel(0).0)
    }
}

/// One teardown; it counts until it is dropped.
struct Teardown(Yard);

impl Drop for Teardown {
    fn drop(&mut self) {
        self.0.inner.teardowns.0.send_modify(|count| *count -= 1);
    }
}

impl Yard {
    /// Changes the size of a tty.
    pub async fn resize(&self, at: &TerminalRef, size: Size) -> Result<TerminalId, YardError> {
        let entry = self.find(at)?;
        entry.terminal.resize(size).await.map_err(|error| ended(at, error))?;
        Ok(entry.id())
    }

    /// Sends a signal.
    pub async fn signal(
        &self,
        at: &TerminalRef,
        signal: Signal,
        target: Target,
    ) -> Result<TerminalId, YardError> {
        let entry = self.find(at)?;
        entry.terminal.signal(signal, target).await.map_err(|error| ended(at, error))?;
        Ok(entry.id())
    }

    /// Ends the input, behind everything typed before.
    pub async fn close_stdin(&self, at: &TerminalRef) -> Result<TerminalId, YardError> {
        let entry = self.find(at)?;
        entry.terminal.close_stdin().await.map_err(|error| ended(at, error))?;
        Ok(entry.id())
    }

    /// Ends the program and everything it started, children that left its session included. Of a program that has
    /// ended, what it left running is ended. The kill goes on when the caller is gone.
    pub async fn kill(&self, at: &TerminalRef, grace: Option<Duration>) -> Result<KillOutcome, YardError> {
        let entry = self.find(at)?;
        let grace = grace.unwrap_or(GRACE).min(MAX_GRACE);
        let killed = entry.terminal.kill(grace, KilledBy("kill")).await;
        Ok(KillOutcome {
            id: entry.id(),
            exit: killed.exit,
            found: killed.report.found,
            last_signal: killed.report.last_signal,
            survivors: killed.report.survivors,
        })
    }

    /// Removes an ended terminal and its log; of a program that was there before and belongs to somebody else, also
    /// one that runs: the program goes on without us.
    ///
    /// Until this commits, every byte can still be read. It commits in one step, and then the resources are freed
    /// whatever becomes of the caller.
    pub async fn remove(&self, at: &TerminalRef) -> Result<TerminalId, YardError> {
        let entry = self.find(at)?;
        if !entry.has_exited() && entry.terminal.removal() == Removal::Ends {
            return Err(YardError::TerminalRunning(at.clone()));
        }
        self.inner.config.pauses.point("remove.before_commit").await;
        let id = entry.id();
        let Some(mut gone) = self.take_out(id, "removed") else {
            return Err(YardError::TerminalRemoved(at.clone()));
        };
        drop(entry);
        let _torn_down = gone.changed().await;
        Ok(id)
    }

    /// Takes a terminal out of the registry and starts its teardown, in one step. The watch ends with the teardown.
    fn take_out(&self, id: TerminalId, why: &'static str) -> Option<watch::Receiver<()>> {
        let entry = self.registry().remove(id)?;
        self.inner.team.forget(id);
        self.inner.events.push("removed", Some(id), serde_json::json!({ "why": why }));
        let (done, gone) = watch::channel(());
        let teardown = self.teardown();
        tokio::spawn(async move {
            teardown.0.inner.config.pauses.point("remove.teardown").await;
            entry.terminal.close().await;
            let directory = teardown.0.inner.state.terminal(id);
            if let Err(error) = ptyard_terminal::log::remove(&directory) {
                tracing::warn!(%error, directory = %directory.display(), "the log could not be removed");
            }
            // The row last: without its log a terminal is not found again.
            teardown.0.forget(id).await;
            // Whoever waits for its mail looks again, now that it is settled.
            drop(entry);
            drop(done);
        });
        Some(gone)
    }

    /// Waits until no teardown is under way.
    pub(crate) async fn torn_down(&self) {
        let mut count = self.inner.teardowns.0.subscribe();
        // The counter is not looked at any longer than for this.
        drop(count.wait_for(|count| *count == 0).await);
    }

    async fn forget(&self, id: TerminalId) {
        if let Err(error) = self.inner.store.remove_terminal(id).await {
            tracing::warn!(%id, %error, "a removed terminal is still written down");
        }
    }

    /// Forgets a terminal whose start came to nothing. Without a runtime the next server does.
    pub(crate) fn forget_in_background(&self, id: TerminalId) {
        if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            let teardown = self.teardown();
            runtime.spawn(async move { teardown.0.forget(id).await });
        }
    }

    fn teardown(&self) -> Teardown {
        self.inner.teardowns.0.send_modify(|count| *count += 1);
        Teardown(self.clone())
    }

    /// Ends a terminal for the caller of something else; its log stays. A program of somebody else goes on.
    pub(crate) fn end_in_background(&self, entry: Arc<Entry>, by: KilledBy) {
        let teardown = self.teardown();
        tokio::spawn(async move {
            match entry.terminal.removal() {
                Removal::Ends => drop(entry.terminal.kill(GRACE, by).await),
                Removal::LetsGo => entry.terminal.close().await,
            }
            drop(teardown);
        });
    }

    /// Removes the ended terminals that are too many.
    pub(crate) fn remove_overdue(&self) {
        let overdue = self.registry().overdue();
        for id in overdue {
            self.take_out(id, "retention");
        }
    }

    /// Ends every program, all at once, waits until they are gone, and lets nothing new start. Logs stay.
    pub async fn shutdown(&self) {
        let entries: Vec<_> = {
            let mut registry = self.registry();
            registry.closed = true;
            registry.all().filter(|entry| !entry.has_exited()).cloned().collect()
        };
        for entry in entries {
            self.end_in_background(entry, KilledBy("stop"));
        }
        self.torn_down().await;
        self.inner.events.close().await;
    }
}
