//! The remaining controls of a program in a pane. The server is on this machine, so its processes are ours to see.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use ptyard_core::{Exit, Size, TerminalId};
use ptyard_terminal::backend::{BoxFuture, Control, ControlError, KillReport, Signal, Target, TtyState};
use ptyard_terminal::local::OtherProcess;
use ptyard_terminal::local::env::TERMINAL_VARIABLE;
use rustix::fs::{Mode, OFlags};
use rustix::termios::Termios;
use tokio::sync::watch;

use super::Found;
use super::link::{Link, TmuxError};
use super::protocol::Pane;
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
#[derive(Debug, Clone, PartialEq, Eq)]
enum Owner {
    /// Ours: it goes with the program.
    Us,
    /// Somebody else's: it is left as it is.
    Others,
}

/// Controls of one program. Dropped, they close the pane if it is ours.
pub(super) struct TmuxControl {
    pane: Pane,
    pid: u32,
    /// `None` when it had ended before it could be looked at.
    process: Option<Arc<OtherProcess>>,
    tty: PathBuf,
    window: String,
    link: Link,
    mark: String,
    owner: Owner,
    fate: Fate,
    size: watch::Sender<Option<Size>>,
}

impl TmuxControl {
    /// Of a program that was started with the variable that marks it.
    pub(super) fn own(
        link: Link,
        found: &Found,
        pid: u32,
        id: TerminalId,
        end: watch::Receiver<Option<i32>>,
    ) -> Self {
        let process = OtherProcess::new(pid).ok().map(Arc::new);
        let (herald, fate) = Fate::new();
        let mark = format!("{TERMINAL_VARIABLE}={id}");
        tokio::spawn(own_end(link.clone(), found.pane, mark.clone(), end, herald));
        Self::new(link, found, (pid, process), mark, Owner::Us, fate)
    }

    /// Of a program that was there before.
    pub(super) fn adopted(link: Link, found: &Found) -> io::Result<Self> {
        let process = Arc::new(OtherProcess::new(found.pid)?);
        let (herald, fate) = Fate::new();
        let watched = Arc::clone(&process);
        let (end_link, pane) = (link.clone(), found.pane);
        tokio::spawn(async move {
            let known = end_of(&end_link, pane, &watched).await;
            herald.ended(known);
        });
        let mark = format!("pid:{}", found.pid);
        Ok(Self::new(link, found, (found.pid, Some(process)), mark, Owner::Others, fate))
    }

    fn new(
        link: Link,
        found: &Found,
        (pid, process): (u32, Option<Arc<OtherProcess>>),
        mark: String,
        owner: Owner,
        fate: Fate,
    ) -> Self {
        let (size, sizes) = watch::channel(None);
        tokio::spawn(resize(link.clone(), found.window.clone(), found.pane, sizes));
        Self {
            pane: found.pane,
            pid,
            process,
            tty: found.tty.clone(),
            window: found.window.clone(),
            link,
            mark,
            owner,
            fate,
            size,
        }
    }
}

/// Publishes the end of a program of ours, as its shell says it behind the last byte of output.
async fn own_end(
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
            // Nobody is left who could print.
            link.forget(pane);
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
async fn end_of(link: &Link, pane: Pane, process: &OtherProcess) -> Exit {
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

/// Carries out changes of the size; of several only the last one counts.
async fn resize(link: Link, window: String, pane: Pane, mut sizes: watch::Receiver<Option<Size>>) {
    while sizes.changed().await.is_ok() {
        let size = *sizes.borrow_and_update();
        let Some(size) = size else { continue };
        let (cols, rows) = (size.cols(), size.rows());
        let resized = link.ask(format!("resize-window -t {window} -x {cols} -y {rows}")).await;
        // In a window with several panes its own share is asked for too.
        let own = link.ask(format!("resize-pane -t {pane} -x {cols} -y {rows}")).await;
        if let Err(error) = resized.and(own) {
            tracing::warn!(%pane, %error, "the size of a pane stays as it is");
        }
    }
}

/// Whether input is edited by lines, and echoed.
pub(super) fn line_discipline(tty: &Path) -> Option<Termios> {
    let flags = OFlags::RDONLY | OFlags::NOCTTY | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let tty = rustix::fs::open(tty, flags, Mode::empty()).ok()?;
    rustix::termios::tcgetattr(&tty).ok()
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
        let sent = match target {
            Target::Program => self.process.as_ref().ok_or(ControlError::Exited)?.signal(signal),
            Target::ForegroundGroup => {
                let (own, front) = groups(self.pid).ok_or(ControlError::Exited)?;
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
        let (mark, mut exit) = (self.mark.clone(), self.fate.exit());
        self.fate.kill(async move {
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

    fn tty_state(&mut self) -> Option<TtyState> {
        let modes = line_discipline(&self.tty)?;
        let (own, front) = groups(self.pid)?;
        Some(TtyState::of(&modes, front, own))
    }
}

impl Drop for TmuxControl {
    fn drop(&mut self) {
        let (link, pane, window) = (self.link.clone(), self.pane, self.window.clone());
        let (owner, mark) = (self.owner.clone(), self.mark.clone());
        self.fate.spawn(async move {
            link.forget(pane);
            match owner {
                Owner::Us => {
                    if let Err(error) = clients::look_after(&mark, &["kill", "0"], SCRIPT_LIMIT).await {
                        tracing::warn!(mark, %error, "the processes in a pane may not have ended");
                    }
                    let _gone = link.ask(format!("kill-window -t {window}")).await;
                }
                Owner::Others => {
                    let _gone = link.ask(format!("unlink-window -t '=ptyard:{window}'")).await;
                }
            }
        });
    }
}
