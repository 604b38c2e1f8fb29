//! The remaining controls of a program in a container.
//!
//! Callers do not wait for the engine: orders go to a clerk, one task per program that carries them out one after the
//! other. Of several sizes only the last one counts; signals queue up to a bound and are refused beyond it.

use std::task::{Context, Poll};
use std::time::Duration;

use hyper::Method;
use ptyard_core::{Exit, Size};
use ptyard_terminal::backend::{BoxFuture, Control, ControlError, Io, KillReport, Signal, Target, TtyState};
use tokio::sync::watch;

use super::container::remove;
use super::engine::EngineError;
use super::inside::Inside;
use crate::shared::carried::Carrier;
use crate::shared::fate::{ExitWatch, Fate};
use crate::shared::signals::{Ordered, Signals};

/// How long after a kill the end may take to be known.
const END_LIMIT: Duration = Duration::from_secs(5);

/// What is controlled.
#[derive(Debug, Clone)]
pub(super) enum Subject {
    /// A container of its own, to be removed at the end.
    Container { remove: String },
    /// A program in a container that has others. The next server does not know what the engine calls it.
    Exec { exec: Option<String> },
}

/// What controls are made of.
pub(super) struct Parts {
    pub(super) inside: Inside,
    pub(super) subject: Subject,
    pub(super) io: Io,
    pub(super) carrier: Carrier,
}

/// Controls of one program. Dropping them ends what lives of it.
pub(super) struct DockerControl {
    place: Place,
    io: Io,
    carrier: Carrier,
    fate: Fate,
    size: watch::Sender<Option<Size>>,
    signals: Signals,
}

/// A program, for whoever does something to it.
#[derive(Debug, Clone)]
struct Place {
    inside: Inside,
    subject: Subject,
}

impl DockerControl {
    /// Of a program that is being started with this size.
    pub(super) fn new(parts: Parts, io: Io) -> Self {
        match io {
            Io::Tty(size) => Self::with(parts, Some(size)),
            Io::Pipes(_) => Self::with(parts, None),
        }
    }

    /// Of a program that an earlier server started. It has the size that it has.
    pub(super) fn again(parts: Parts) -> Self {
        Self::with(parts, None)
    }

    fn with(parts: Parts, first: Option<Size>) -> Self {
        let Parts { inside, subject, io, carrier } = parts;
        let place = Place { inside, subject };
        let (size, sizes) = watch::channel(first);
        let (signals, received) = Signals::to("the engine");
        let (herald, fate) = Fate::new();
        tokio::spawn(carrier.clone().watch_end(left(place.clone()), herald));
        tokio::spawn(clerk(place.clone(), sizes, received));
        Self { place, io, carrier, fate, size, signals }
    }
}

/// How many processes outlived a program. With a container's first process everything in it ends. An exec can leave
/// something behind, which the engine does not show: it closes the output of a tty when the program ends, whoever else
/// holds it.
async fn left(place: Place) -> u32 {
    match &place.subject {
        Subject::Container { .. } => 0,
        Subject::Exec { .. } => place.inside.count().await.unwrap_or(0),
    }
}

/// Carries out what was ordered, until the controls are gone.
async fn clerk(place: Place, mut sizes: watch::Receiver<Option<Size>>, mut signals: Ordered) {
    // The size that the program was to be started with.
    sizes.mark_changed();
    loop {
        let done = tokio::select! {
            biased;
            changed = sizes.changed() => {
                let Ok(()) = changed else { return };
                let size = *sizes.borrow_and_update();
                match size {
                    Some(size) => place.resize(size).await,
                    None => Ok(()),
                }
            }
            signal = signals.recv() => {
                let Some((signal, target)) = signal else { return };
                place.signal(signal, target).await
            }
        };
        if let Err(error) = done {
            tracing::warn!(terminal = %place.inside.id, %error, "the engine did not do what was asked");
        }
    }
}

impl Place {
    async fn resize(&self, size: Size) -> Result<(), EngineError> {
        let of = match &self.subject {
            Subject::Container { remove } => format!("/containers/{remove}"),
            Subject::Exec { exec: Some(exec) } => format!("/exec/{exec}"),
            Subject::Exec { exec: None } => return self.inside.resize(size).await,
        };
        let path = format!("{of}/resize?h={}&w={}", size.rows(), size.cols());
        self.inside.engine.order(Method::POST, &path).await
    }

    async fn signal(&self, signal: Signal, target: Target) -> Result<(), EngineError> {
        match (&self.subject, target) {
            // The init of the container passes it on.
            (Subject::Container { remove }, Target::Program) => {
                let path = format!("/containers/{remove}/kill?signal={}", signal.0);
                self.inside.engine.order(Method::POST, &path).await
            }
            _ => self.inside.signal(signal, target).await,
        }
    }

    async fn end(&self, grace: Duration, mut exit: ExitWatch, carrier: Carrier) -> KillReport {
        let report = match &self.subject {
            Subject::Exec { .. } => self.inside.kill(grace).await,
            Subject::Container { remove: id } => self.end_container(id, grace, &mut exit).await,
        };
        let report = report.unwrap_or_else(|error| {
            tracing::warn!(terminal = %self.inside.id, %error, "a program in a container may not have ended");
            KillReport::default()
        });
        if report.survivors.is_empty()
            && tokio::time::timeout(END_LIMIT, exit.wait_for(Option::is_some)).await.is_err()
        {
            carrier.end().await;
        }
        report
    }

    async fn end_container(
        &self,
        id: &str,
        grace: Duration,
        exit: &mut ExitWatch,
    ) -> Result<KillReport, EngineError> {
        if exit.borrow().is_some() {
            return Ok(KillReport::default());
        }
        let mut report = KillReport { found: 1, ..KillReport::default() };
        if !grace.is_zero() {
            match self.inside.kill(grace).await {
                Ok(inside) => report = inside,
                // Without a shell in there only the program itself can be asked.
                Err(_) => {
                    let path = format!("/containers/{id}/kill?signal=15");
                    self.inside.engine.order(Method::POST, &path).await.ok();
                    report.last_signal = Some(15);
                    let _late = tokio::time::timeout(grace, exit.wait_for(Option::is_some)).await;
                }
            }
        }
        if exit.borrow().is_none() {
            match self.inside.engine.order(Method::POST, &format!("/containers/{id}/kill?signal=9")).await {
                Ok(()) => report.last_signal = Some(9),
                // It has just ended.
                Err(EngineError::Refused { .. }) => {}
                Err(error) => return Err(error),
            }
        }
        // With the first process the kernel ends all others.
        report.survivors.clear();
        Ok(report)
    }
}

impl Control for DockerControl {
    fn poll_exit(&mut self, cx: &mut Context<'_>) -> Poll<Exit> {
        self.fate.poll(cx)
    }

    fn resize(&mut self, size: Size) -> Result<(), ControlError> {
        match self.io {
            Io::Pipes(_) => Err(ControlError::NotATty),
            Io::Tty(_) if self.fate.has_ended() => Err(ControlError::Exited),
            Io::Tty(_) => {
                self.size.send_replace(Some(size));
                Ok(())
            }
        }
    }

    fn signal(&mut self, signal: Signal, target: Target) -> Result<(), ControlError> {
        if self.fate.has_ended() {
            return Err(ControlError::Exited);
        }
        self.signals.order(signal, target)
    }

    fn kill(&mut self, grace: Duration) -> BoxFuture<'static, KillReport> {
        let (place, exit, carrier) = (self.place.clone(), self.fate.exit(), self.carrier.clone());
        self.fate.kill(async move { place.end(grace, exit, carrier).await })
    }

    fn descendants(&mut self) -> u32 {
        self.fate.descendants()
    }

    fn tty_state(&mut self) -> Option<TtyState> {
        None
    }
}

impl Drop for DockerControl {
    fn drop(&mut self) {
        let (place, carrier) = (self.place.clone(), self.carrier.clone());
        let nothing_left = self.fate.nothing_left();
        self.fate.spawn(async move {
            match &place.subject {
                Subject::Container { remove: id } => remove(&place.inside.engine, id).await,
                Subject::Exec { .. } if nothing_left => {}
                Subject::Exec { .. } => {
                    if let Err(error) = place.inside.kill(Duration::ZERO).await {
                        tracing::warn!(terminal = %place.inside.id, %error, "a program in a container is left behind");
                    }
                }
            }
            carrier.end().await;
        });
    }
}
