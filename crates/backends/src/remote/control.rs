//! The remaining controls of a program in a sandbox.
//!
//! Callers do not wait for the vendor: orders go to a clerk, one task per program that carries them out one after the
//! other and keeps the sandbox's lease. Of several sizes only the last one counts; signals queue up to a bound and are
//! refused beyond it.

use std::future::pending;
use std::task::{Context, Poll};
use std::time::Duration;

use ptyard_core::{Exit, Size};
use ptyard_terminal::backend::{BoxFuture, Control, ControlError, Io, KillReport, Signal, Target, TtyState};
use tokio::sync::watch;
use tokio::time::{Instant, sleep_until};

use super::lodging::{Lodger, Lodging};
use crate::shared::fate::{ExitWatch, Fate};
use crate::shared::signals::{Ordered, Signals};

/// How long after a kill the end may take to be known.
const END_LIMIT: Duration = Duration::from_secs(5);

/// A program in a sandbox, for whoever does something to it.
#[derive(Debug, Clone)]
struct Subject<L> {
    lodging: L,
    lodger: Lodger,
}

/// Controls of one program. Dropping them ends what lives of it.
pub(crate) struct SandboxControl<L: Lodging> {
    subject: Subject<L>,
    io: Io,
    fate: Fate,
    size: watch::Sender<Option<Size>>,
    signals: Signals,
}

impl<L: Lodging> SandboxControl<L> {
    pub(crate) fn new(lodging: L, lodger: Lodger, io: Io, fate: Fate) -> Self {
        let subject = Subject { lodging, lodger };
        let (size, sizes) = watch::channel(None);
        let (signals, received) = Signals::to("the vendor");
        tokio::spawn(clerk(subject.clone(), sizes, received));
        Self { subject, io, fate, size, signals }
    }
}

/// Carries out what was ordered, until the controls are gone.
async fn clerk<L: Lodging>(
    subject: Subject<L>,
    mut sizes: watch::Receiver<Option<Size>>,
    mut signals: Ordered,
) {
    let Subject { lodging, lodger } = subject;
    // The lease is new.
    let mut renewed = Instant::now();
    loop {
        let renewal = async {
            match L::RENEW_EVERY {
                Some(every) => sleep_until(renewed + every).await,
                None => pending().await,
            }
        };
        let done = tokio::select! {
            biased;
            changed = sizes.changed() => {
                let Ok(()) = changed else { return };
                let size = *sizes.borrow_and_update();
                match size {
                    Some(size) => lodging.resize(lodger, size).await,
                    None => Ok(()),
                }
            }
            signal = signals.recv() => {
                let Some((signal, target)) = signal else { return };
                lodging.signal(lodger, signal, target).await
            }
            () = renewal => {
                renewed = Instant::now();
                lodging.renew().await
            }
        };
        if let Err(error) = done {
            tracing::warn!(terminal = %lodger.id, %error, "the vendor did not do what was asked");
        }
    }
}

impl<L: Lodging> Subject<L> {
    /// Ends the program and all that came of it.
    async fn end(&self, grace: Duration, mut exit: ExitWatch) -> KillReport {
        let Self { lodging, lodger: Lodger { id, .. } } = self;
        let mut report = lodging.kill(*id, grace).await.unwrap_or_else(|error| {
            // With its sandbox it is gone.
            if !(lodging.is_own() && error.is_not_found()) {
                tracing::warn!(terminal = %id, %error, "a program in a sandbox may not have ended");
            }
            KillReport::default()
        });
        if report.survivors.is_empty() {
            // Before its sandbox goes: the last bytes come with the end.
            let _late = tokio::time::timeout(END_LIMIT, exit.wait_for(Option::is_some)).await;
        }
        if lodging.is_own() {
            // And with the sandbox whoever hid in it.
            lodging.leave(*id).await;
            report.survivors.clear();
            let _late = tokio::time::timeout(END_LIMIT, exit.wait_for(Option::is_some)).await;
        }
        report
    }

    /// Leaves nothing of a program.
    async fn leave(&self, exit: ExitWatch) {
        if !self.lodging.is_own() {
            self.end(Duration::ZERO, exit).await;
            self.forget().await;
            return;
        }
        self.lodging.leave(self.lodger.id).await;
    }

    async fn forget(&self) {
        if let Err(error) = self.lodging.forget(self.lodger.id).await {
            tracing::warn!(terminal = %self.lodger.id, %error, "a vendor keeps something of a program");
        }
    }
}

impl<L: Lodging> Control for SandboxControl<L> {
    fn poll_exit(&mut self, cx: &mut Context<'_>) -> Poll<Exit> {
        self.fate.poll(cx)
    }

    fn resize(&mut self, size: Size) -> Result<(), ControlError> {
        if matches!(self.io, Io::Pipes(_)) {
            return Err(ControlError::NotATty);
        }
        if self.fate.has_ended() {
            return Err(ControlError::Exited);
        }
        self.size.send_replace(Some(size));
        Ok(())
    }

    fn signal(&mut self, signal: Signal, target: Target) -> Result<(), ControlError> {
        if self.fate.has_ended() {
            return Err(ControlError::Exited);
        }
        self.signals.order(signal, target)
    }

    fn kill(&mut self, grace: Duration) -> BoxFuture<'static, KillReport> {
        let (subject, exit) = (self.subject.clone(), self.fate.exit());
        self.fate.kill(async move { subject.end(grace, exit).await })
    }

    fn descendants(&mut self) -> u32 {
        self.fate.descendants()
    }

    fn tty_state(&mut self) -> Option<TtyState> {
        None
    }
}

impl<L: Lodging> Drop for SandboxControl<L> {
    fn drop(&mut self) {
        let subject = self.subject.clone();
        if !subject.lodging.is_own() && self.fate.nothing_left() {
            self.fate.spawn(async move { subject.forget().await });
            return;
        }
        let exit = self.fate.exit();
        self.fate.spawn(async move { subject.leave(exit).await });
    }
}
