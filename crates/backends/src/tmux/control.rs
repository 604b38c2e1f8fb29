//! The remaining controls of a program in a pane. The server is on this machine, so its processes are ours to see.

use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use ptyard_core::{Exit, Size, TerminalId};
use ptyard_terminal::backend::{
    BoxFuture, Control, ControlError, KillReport, Removal, Signal, Target, TtyState,
};
use ptyard_terminal::local::OtherProcess;
use ptyard_terminal::local::env::TERMINAL_VARIABLE;
use tokio::sync::{mpsc, watch};

use super::joined::{Joined, Joining, line_discipline};
use super::link::{Follow, Link, TmuxError};
use super::server::{OPTION, SESSION, ServerLink};
use super::session::Sizing;
use crate::shared::fate::Fate;
use crate::shared::{clients, look_after};

/// How long the script that looks after processes may take beyond the grace it was given.
pub(super) const SCRIPT_LIMIT: Duration = Duration::from_secs(20);

/// How long after a kill the end may take to be known.
const END_LIMIT: Duration = Duration::from_secs(3);

/// Whose the pane is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Owner {
    /// Ours: it goes with the program. Its size is whose this says.
    Us(Sizing),
    /// Somebody else's: it is left as it is.
    Others,
}

/// Controls of one program. Dropped, they close the pane if it is ours.
pub(super) struct TmuxControl {
    server: Arc<ServerLink>,
    place: Joining,
    id: TerminalId,
    owner: Owner,
    fate: Fate,
    /// The size that was asked for.
    size: watch::Sender<Option<Size>>,
    /// Sizes that somebody else has set.
    sizes: mpsc::Receiver<Size>,
}

impl TmuxControl {
    /// Of a program in a pane that is, or will be, at this place. Sizes that the pane takes come through `sizes`.
    pub(super) fn new(
        server: Arc<ServerLink>,
        place: Joining,
        id: TerminalId,
        owner: Owner,
        fate: Fate,
        sizes: mpsc::Receiver<Size>,
    ) -> Self {
        let (size, asked) = watch::channel(None);
        let sizing = match owner {
            Owner::Us(sizing) => sizing,
            Owner::Others => Sizing::Asked,
        };
        tokio::spawn(resize(place.clone(), sizing, asked));
        Self { server, place, id, owner, fate, size, sizes }
    }
}

/// The word by which the processes of a program are found.
fn mark_of(owner: Owner, id: TerminalId, joined: &Joined) -> String {
    match owner {
        Owner::Us(_) => mark(id),
        Owner::Others => format!("pid:{}", joined.pid),
    }
}

/// The variable that the programs of a terminal are born with.
pub(super) fn mark(id: TerminalId) -> String {
    format!("{TERMINAL_VARIABLE}={id}")
}

/// Passes sizes on that a pane takes, the last one for certain.
pub(super) async fn pass_sizes(mut seen: watch::Receiver<Option<Size>>, sizes: mpsc::Sender<Size>) {
    while seen.changed().await.is_ok() {
        let size = *seen.borrow_and_update();
        if let Some(size) = size
            && sizes.send(size).await.is_err()
        {
            return;
        }
    }
}

/// Gives a window a size: for good, or until somebody attaches who has another.
pub(super) async fn resize_window(
    link: &Link,
    window: &str,
    size: Size,
    sizing: Sizing,
) -> Result<(), TmuxError> {
    let (cols, rows) = (size.cols(), size.rows());
    let resize = (format!("resize-window -t {window} -x {cols} -y {rows}"), Follow::Nothing);
    match sizing {
        Sizing::Asked => {
            let [resized] = link.ask_at_once([resize]).await;
            resized.map(drop)
        }
        // A window that was given a size keeps it, whoever attaches, unless it is told otherwise.
        Sizing::Attached => {
            let free = (format!("set-option -w -t {window} window-size latest"), Follow::Nothing);
            let [resized, freed] = link.ask_at_once([resize, free]).await;
            resized.and(freed).map(drop)
        }
    }
}

/// Carries out changes of the size; of several only the last one counts.
async fn resize(mut place: Joining, sizing: Sizing, mut sizes: watch::Receiver<Option<Size>>) {
    while sizes.changed().await.is_ok() {
        let size = *sizes.borrow_and_update();
        let Some(size) = size else { continue };
        let (cols, rows) = (size.cols(), size.rows());
        loop {
            let Some(joined) = place.live().await else { return };
            let Joined { link, pane, window, .. } = &*joined;
            let resized = resize_window(link, window, size, sizing).await;
            // In a window with several panes its own share is asked for too.
            let own = link.ask(format!("resize-pane -t {pane} -x {cols} -y {rows}")).await;
            match resized.and(own) {
                Ok(_) => break,
                // The next client is asked again.
                Err(TmuxError::Gone(_)) => {}
                Err(error) => {
                    tracing::warn!(%pane, %error, "the size of a pane stays as it is");
                    break;
                }
            }
        }
    }
}

/// The group in the foreground of a process's tty, and the process's own.
fn groups(pid: u32) -> Option<(u32, Option<u32>)> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let mut fields = stat.rsplit_once(')')?.1.split_whitespace().skip(2);
    let own = fields.next()?.parse().ok()?;
    let front: i64 = fields.nth(2)?.parse().ok()?;
    Some((own, u32::try_from(front).ok().filter(|&group| group > 0)))
}

impl Control for TmuxControl {
    fn poll_exit(&mut self, cx: &mut Context<'_>) -> Poll<Exit> {
        self.fate.poll(cx)
    }

    fn resize(&mut self, size: Size) -> Result<(), ControlError> {
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
        let joined = self.place.now().ok_or_else(|| ControlError::Os {
            action: "send the signal",
            message: "the pane is still being looked for".to_owned(),
        })?;
        let sent = match target {
            Target::Program => joined.process.as_ref().ok_or(ControlError::Exited)?.signal(signal),
            Target::ForegroundGroup => {
                let (own, front) = groups(joined.pid).ok_or(ControlError::Exited)?;
                OtherProcess::signal_group(front.unwrap_or(own), signal)
            }
        };
        sent.map_err(|error| match error {
            error if error.raw_os_error() == Some(rustix::io::Errno::SRCH.raw_os_error()) => {
                ControlError::Exited
            }
            error => ControlError::Os { action: "send the signal", message: error.to_string() },
        })
    }

    fn kill(&mut self, grace: Duration) -> BoxFuture<'static, KillReport> {
        let (mut place, owner, id) = (self.place.clone(), self.owner, self.id);
        let mut exit = self.fate.exit();
        self.fate.kill(async move {
            let Some(joined) = place.joined().await else { return KillReport::default() };
            let mark = mark_of(owner, id, &joined);
            let arguments = ["kill", &look_after::tenths(grace)];
            let output = clients::look_after(&mark, &arguments, grace + SCRIPT_LIMIT).await;
            let report = output.map(|output| look_after::report(&output)).unwrap_or_else(|error| {
                tracing::warn!(mark, %error, "the processes in a pane may not have ended");
                KillReport::default()
            });
            let _late = tokio::time::timeout(END_LIMIT, exit.wait_for(Option::is_some)).await;
            report
        })
    }

    fn descendants(&mut self) -> u32 {
        self.fate.descendants()
    }

    fn poll_size(&mut self, cx: &mut Context<'_>) -> Poll<Size> {
        match self.sizes.poll_recv(cx) {
            Poll::Ready(Some(size)) => Poll::Ready(size),
            // Nobody follows the pane any more.
            Poll::Ready(None) | Poll::Pending => Poll::Pending,
        }
    }

    fn removal(&self) -> Removal {
        match self.owner {
            Owner::Us(_) => Removal::Ends,
            Owner::Others => Removal::LetsGo,
        }
    }

    fn tty_state(&mut self) -> Option<TtyState> {
        let joined = self.place.now()?;
        let modes = line_discipline(&joined.tty)?;
        let (own, front) = groups(joined.pid)?;
        Some(TtyState::of(&modes, front, own))
    }
}

impl Drop for TmuxControl {
    fn drop(&mut self) {
        let (server, mut place) = (Arc::clone(&self.server), self.place.clone());
        let (owner, id) = (self.owner, self.id);
        let nothing_left = self.fate.nothing_left();
        self.fate.spawn(async move {
            let Some(joined) = place.joined().await else { return };
            let Joined { link, pane, window, .. } = &*joined;
            link.forget(*pane);
            match owner {
                Owner::Us(_) => {
                    let mark = mark(id);
                    if !nothing_left
                        && let Err(error) = clients::look_after(&mark, &["kill", "0"], SCRIPT_LIMIT).await
                    {
                        tracing::warn!(mark, %error, "the processes in a pane may not have ended");
                    }
                    // Not the window: a person may have made another pane in it.
                    let _gone = server.insist(link, &format!("kill-pane -t {pane}")).await;
                }
                Owner::Others => {
                    let forget = format!("set-option -p -u -t {pane} {OPTION}");
                    let unlink = format!("unlink-window -t '={SESSION}:{window}'");
                    for command in [forget, unlink] {
                        let _gone = server.insist(link, &command).await;
                    }
                }
            }
        });
    }
}
