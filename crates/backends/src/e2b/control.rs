//! The remaining controls of a program in a sandbox.
//!
//! Callers do not wait for the vendor: orders go to a clerk, one task per program that carries them out one after the
//! other and keeps the sandbox's lease. Of several sizes only the last one counts; signals queue up to a bound and are
//! refused beyond it.

use std::task::{Context, Poll};
use std::time::Duration;

use ptyard_core::{Exit, Size, TerminalId};
use ptyard_terminal::backend::{BoxFuture, Control, ControlError, Io, KillReport, Signal, Target, TtyState};
use serde_json::json;
use tokio::sync::{mpsc, watch};
use tokio::time::{MissedTickBehavior, interval};

use super::api::LEASE;
use super::connect::{CALL_LIMIT, Daemon};
use super::place::Place;
use super::program;
use crate::remote::http::{Again, CallError};
use crate::shared::fate::{ExitWatch, Fate};

/// Signals that may wait for the vendor.
const SIGNALS: usize = 16;

/// How long after a kill the end may take to be known.
const END_LIMIT: Duration = Duration::from_secs(5);

/// A program in a sandbox, for whoever does something to it.
#[derive(Debug, Clone)]
pub(super) struct Subject {
    pub(super) place: Place,
    pub(super) id: TerminalId,
    pub(super) pid: u32,
}

/// Controls of one program. Dropping them ends what lives of it.
pub(super) struct SandboxControl {
    subject: Subject,
    io: Io,
    fate: Fate,
    size: watch::Sender<Option<Size>>,
    signals: mpsc::Sender<(Signal, Target)>,
}

impl SandboxControl {
    pub(super) fn new(subject: Subject, io: Io, fate: Fate) -> Self {
        let (size, sizes) = watch::channel(None);
        let (signals, received) = mpsc::channel(SIGNALS);
        tokio::spawn(clerk(subject.clone(), sizes, received));
        Self { subject, io, fate, size, signals }
    }
}

/// Carries out what was ordered, until the controls are gone.
async fn clerk(
    subject: Subject,
    mut sizes: watch::Receiver<Option<Size>>,
    mut signals: mpsc::Receiver<(Signal, Target)>,
) {
    let mut renewals = interval(LEASE / 3);
    renewals.set_missed_tick_behavior(MissedTickBehavior::Delay);
    // The first one is due at once, and the lease is new.
    renewals.tick().await;
    loop {
        let done = tokio::select! {
            biased;
            changed = sizes.changed() => {
                let Ok(()) = changed else { return };
                let size = *sizes.borrow_and_update();
                match size {
                    Some(size) => subject.resize(size).await,
                    None => Ok(()),
                }
            }
            signal = signals.recv() => {
                let Some((signal, target)) = signal else { return };
                subject.place.signal(subject.pid, signal, target).await
            }
            _ = renewals.tick() => subject.place.renew().await,
        };
        if let Err(error) = done {
            tracing::warn!(terminal = %subject.id, %error, "the vendor did not do what was asked");
        }
    }
}

impl Subject {
    async fn resize(&self, size: Size) -> Result<(), CallError> {
        let order = json!({ "process": Daemon::of(self.pid), "pty": { "size": program::of(size) } });
        self.place.daemon.order("Update", &order, Again::Always, Some(CALL_LIMIT)).await
    }

    async fn end(&self, grace: Duration, mut exit: ExitWatch) -> KillReport {
        let mut report = self.place.kill(self.id, grace).await.unwrap_or_else(|error| {
            // With its sandbox it is gone.
            if !(self.place.is_own() && error.is_not_found()) {
                tracing::warn!(terminal = %self.id, %error, "a program in a sandbox may not have ended");
            }
            KillReport::default()
        });
        if report.survivors.is_empty() {
            // Before its sandbox goes: the last bytes come with the end.
            let _late = tokio::time::timeout(END_LIMIT, exit.wait_for(Option::is_some)).await;
        }
        if self.place.is_own() {
            // And with the sandbox whoever hid in it.
            self.place.leave(self.id).await;
            report.survivors.clear();
            let _late = tokio::time::timeout(END_LIMIT, exit.wait_for(Option::is_some)).await;
        }
        report
    }
}

impl Control for SandboxControl {
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
        self.signals.try_send((signal, target)).map_err(|_| ControlError::Os {
            action: "send the signal",
            message: format!("{SIGNALS} signals wait for the vendor already"),
        })
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

impl Drop for SandboxControl {
    fn drop(&mut self) {
        let subject = self.subject.clone();
        if !subject.place.is_own() && self.fate.nothing_left() {
            return;
        }
        self.fate.spawn(async move { subject.place.leave(subject.id).await });
    }
}
