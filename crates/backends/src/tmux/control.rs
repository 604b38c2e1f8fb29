//! The remaining controls of a program in a pane. The server is on this machine, so its processes are ours to see.

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
use super::protocol::Pane;
use super::server::{OPTION, SESSION};
use super::session::Sizing;
use crate::shared::fate::{Fate, Herald};
use crate::shared::{clients, look_after};

/// How long the script that looks after processes may take beyond the grace it was given.
const SCRIPT_LIMIT: Duration = Duration::from_secs(20);

/// How long after a process has ended the server may take to know how.
const STATUS_LIMIT: Duration = Duration::from_secs(2);

/// How long a program whose pane was closed may take to leave by itself.
const HANG_UP_GRACE: Duration = Duration::from_secs(2);

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
        Self { place, id, owner, fate, size, sizes }
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

/// Publishes the end of a program of ours, as its shell says it behind the last byte of output.
pub(super) async fn own_end(
    link: Link,
    pane: Pane,
    mark: String,
    mut end: watch::Receiver<Option<i32>>,
    herald: Herald,
) {
    let code = tokio::select! {
        biased;
        code = said(&mut end) => code,
        // A program may outlive its server, but nobody can reach it any more, or learn how it ends.
        _ = link.gone() => None,
    };
    if code.is_none() && !link.is_gone() {
        // Somebody closed the pane. Its shell would not pass the hang-up on.
        let grace = look_after::tenths(HANG_UP_GRACE);
        let ended = clients::look_after(&mark, &["kill", &grace], HANG_UP_GRACE + SCRIPT_LIMIT).await;
        if let Err(error) = ended {
            tracing::warn!(mark, %error, "the processes of a closed pane may not have ended");
        }
    }
    if code.is_some() {
        let looked = clients::look_after(&mark, &["count"], SCRIPT_LIMIT).await;
        let left = looked.map_or(0, |output| look_after::report(&output).found);
        herald.left_behind(left);
        if left == 0 {
            // Nobody is left who could print, and all that was printed came before the word. The pane goes before the end
            // is told: whoever hears of that may be the last who does anything here.
            link.forget(pane);
            let _gone = link.ask(format!("kill-pane -t {pane}")).await;
        }
    }
    herald.ended(code.map_or_else(Exit::lost, Exit::exited));
}

/// What was said, or nothing when the pane went with whoever would have.
async fn said(end: &mut watch::Receiver<Option<i32>>) -> Option<i32> {
    match end.wait_for(Option::is_some).await {
        Ok(code) => *code,
        Err(_) => None,
    }
}

/// Waits for the end of a process that was there before, and asks the server, whose child it was, how it ended. A pane
/// that does not remain takes that with it.
pub(super) async fn end_of(link: &Link, pane: Pane, process: &OtherProcess) -> Exit {
    tokio::select! {
        biased;
        () = process.ended() => {}
        // A program may outlive its server, but nobody can reach it any more, or learn how it ends.
        _ = link.gone() => return Exit::lost(),
    }
    let give_up = tokio::time::Instant::now() + STATUS_LIMIT;
    let mut pause = Duration::from_millis(1);
    loop {
        let format = "#{pane_dead} #{pane_dead_status} #{pane_dead_signal}.";
        let answer = match link.ask(format!("display-message -p -t {pane} '{format}'")).await {
            Ok(answer) => answer,
            Err(TmuxError::Refused(_)) => {
                link.forget(pane);
                return unknown();
            }
            Err(TmuxError::Gone(_)) => return Exit::lost(),
        };
        let (is_dead, rest) = answer.trim_end().trim_end_matches('.').split_once(' ').unwrap_or_default();
        let (code, signal) = rest.split_once(' ').unwrap_or_default();
        let exit = match (code.parse(), signal.parse()) {
            (_, Ok(signal)) => Some(Exit::signaled(signal)),
            (Ok(code), _) => Some(Exit::exited(code)),
            _ => None,
        };
        if is_dead == "1" {
            // All that it printed came before this answer.
            link.forget(pane);
            return exit.unwrap_or_else(unknown);
        }
        if let Some(exit) = exit {
            return exit;
        }
        if tokio::time::Instant::now() > give_up {
            return unknown();
        }
        // The server is told by a signal of the kernel, at the same time as we.
        tokio::time::sleep(pause).await;
        pause = (pause * 2).min(Duration::from_millis(50));
    }
}

fn unknown() -> Exit {
    Exit { cause: ptyard_core::Cause::Unknown, ..Exit::lost() }
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
    let Some(joined) = place.joined().await else { return };
    let Joined { link, pane, window, .. } = &*joined;
    while sizes.changed().await.is_ok() {
        let size = *sizes.borrow_and_update();
        let Some(size) = size else { continue };
        let (cols, rows) = (size.cols(), size.rows());
        let resized = resize_window(link, window, size, sizing).await;
        // In a window with several panes its own share is asked for too.
        let own = link.ask(format!("resize-pane -t {pane} -x {cols} -y {rows}")).await;
        if let Err(error) = resized.and(own) {
            tracing::warn!(%pane, %error, "the size of a pane stays as it is");
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
        let (mut place, owner, id) = (self.place.clone(), self.owner, self.id);
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
                    let _gone = link.ask(format!("kill-pane -t {pane}")).await;
                }
                Owner::Others => {
                    let _gone = link.ask(format!("set-option -p -u -t {pane} {OPTION}")).await;
                    let _gone = link.ask(format!("unlink-window -t '={SESSION}:{window}'")).await;
                }
            }
        });
    }
}
