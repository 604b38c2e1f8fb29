//! The remaining controls of a far program: the size through the client, the rest by looking after it there.

use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use ptyard_core::{Exit, Size, TerminalId};
use ptyard_terminal::backend::{BoxFuture, Control, ControlError, Io, KillReport, Signal, Target, TtyState};

use super::master::Host;
use crate::shared::carried::Carrier;
use crate::shared::fate::Fate;
use crate::shared::look_after;
use crate::shared::signals::{Ordered, Signals};

/// How long the script that looks after processes may take beyond the grace it was given.
const SCRIPT_LIMIT: Duration = Duration::from_secs(20);

/// How long after a kill the end may take to be known; then the client is ended, and with it the channel.
const END_LIMIT: Duration = Duration::from_secs(3);

/// Controls of one program. Dropped, they end what lives of it.
pub(super) struct SshControl {
    host: Arc<Host>,
    client: Carrier,
    mark: String,
    io: Io,
    fate: Fate,
    signals: Signals,
}

impl SshControl {
    pub(super) fn new(host: Arc<Host>, client: Box<dyn Control>, id: TerminalId, io: Io) -> Self {
        let client = Carrier::new(client);
        let mark = look_after::mark(id);
        let (herald, fate) = Fate::new();
        let (signals, received) = Signals::to("the connection");
        let left = count(Arc::clone(&host), mark.clone());
        tokio::spawn(client.clone().watch_end(left, herald));
        tokio::spawn(send_signals(Arc::clone(&host), mark.clone(), received));
        Self { host, client, mark, io, fate, signals }
    }
}

/// How many processes live.
async fn count(host: Arc<Host>, mark: String) -> u32 {
    let looked = host.look_after(&mark, &["count"], SCRIPT_LIMIT).await;
    looked.map_or(0, |output| look_after::report(&output).found)
}

/// Sends signals one after the other, until the controls are gone.
async fn send_signals(host: Arc<Host>, mark: String, mut signals: Ordered) {
    while let Some((signal, target)) = signals.recv().await {
        let arguments = ["signal", &signal.0.to_string(), look_after::whom(target)];
        if let Err(error) = host.look_after(&mark, &arguments, SCRIPT_LIMIT).await {
            tracing::warn!(mark, %error, "a signal was not sent");
        }
    }
}

impl Control for SshControl {
    fn poll_exit(&mut self, cx: &mut Context<'_>) -> Poll<Exit> {
        self.fate.poll(cx)
    }

    fn resize(&mut self, size: Size) -> Result<(), ControlError> {
        if matches!(self.io, Io::Tty(_)) && self.fate.has_ended() {
            return Err(ControlError::Exited);
        }
        self.client.control().resize(size)
    }

    fn signal(&mut self, signal: Signal, target: Target) -> Result<(), ControlError> {
        if self.fate.has_ended() {
            return Err(ControlError::Exited);
        }
        self.signals.order(signal, target)
    }

    fn kill(&mut self, grace: Duration) -> BoxFuture<'static, KillReport> {
        let (host, client, mark) = (Arc::clone(&self.host), self.client.clone(), self.mark.clone());
        let mut exit = self.fate.exit();
        self.fate.kill(async move {
            let arguments = ["kill", &look_after::tenths(grace)];
            let report = match host.look_after(&mark, &arguments, grace + SCRIPT_LIMIT).await {
                Ok(output) => look_after::report(&output),
                Err(error) => {
                    tracing::warn!(mark, %error, "the processes there may not have ended");
                    KillReport::default()
                }
            };
            if tokio::time::timeout(END_LIMIT, exit.wait_for(Option::is_some)).await.is_err() {
                client.end().await;
            }
            report
        })
    }

    fn descendants(&mut self) -> u32 {
        self.fate.descendants()
    }

    fn tty_state(&mut self) -> Option<TtyState> {
        None
    }
}

impl Drop for SshControl {
    fn drop(&mut self) {
        let (host, client, mark) = (Arc::clone(&self.host), self.client.clone(), self.mark.clone());
        let (nothing_left, mut exit) = (self.fate.nothing_left(), self.fate.exit());
        self.fate.spawn(async move {
            if !nothing_left {
                if let Err(error) = host.look_after(&mark, &["kill", "0"], SCRIPT_LIMIT).await {
                    tracing::warn!(mark, %error, "the processes there may not have ended");
                }
                // A carrier there is told to leave by the one here that heard of the end.
                let _anyway = tokio::time::timeout(END_LIMIT, exit.wait_for(Option::is_some)).await;
            }
            client.end().await;
        });
    }
}
