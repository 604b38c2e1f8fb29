//! A pane that was made or found, for everybody who has to do with it.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use ptyard_core::Size;
use ptyard_terminal::local::OtherProcess;
use rustix::fs::{Mode, OFlags};
use rustix::termios::Termios;
use tokio::sync::watch;

use super::link::Link;
use super::protocol::Pane;

/// A pane as an answer names it.
#[derive(Debug)]
pub(super) struct Found {
    pub(super) pane: Pane,
    /// Its first process: a shell of ours, or whatever somebody else runs there.
    pub(super) pid: u32,
    pub(super) tty: PathBuf,
    pub(super) window: String,
    pub(super) size: Option<Size>,
}

/// What to ask for it.
pub(super) const FOUND: &str =
    "'#{pane_id} #{pane_pid} #{pane_tty} #{window_id} #{pane_width} #{pane_height}'";

impl Found {
    pub(super) fn parse(text: &str) -> Option<Self> {
        let mut words = text.split_whitespace();
        let mut word = || words.next();
        Some(Self {
            pane: Pane::parse(word()?.as_bytes())?,
            pid: word()?.parse().ok()?,
            tty: word()?.into(),
            window: word()?.to_owned(),
            size: word().zip(word()).and_then(|(cols, rows)| size(cols, rows)),
        })
    }
}

/// A size as tmux writes it.
pub(super) fn size(cols: &str, rows: &str) -> Option<Size> {
    Size::new(cols.parse().ok()?, rows.parse().ok()?).ok()
}

/// A pane and the program in it.
#[derive(Debug)]
pub(super) struct Joined {
    pub(super) link: Link,
    pub(super) pane: Pane,
    pub(super) window: String,
    pub(super) tty: PathBuf,
    /// The program.
    pub(super) pid: u32,
    /// `None` when it had ended before it could be looked at.
    pub(super) process: Option<Arc<OtherProcess>>,
}

impl Joined {
    /// This pane, with the program that has this process id.
    pub(super) fn new(link: Link, found: &Found, pid: u32) -> Self {
        Self::with(link, found, pid, OtherProcess::new(pid).ok().map(Arc::new))
    }

    /// The same, when the process is known.
    pub(super) fn with(link: Link, found: &Found, pid: u32, process: Option<Arc<OtherProcess>>) -> Self {
        let Found { pane, window, tty, .. } = found;
        Self { link, pane: *pane, window: window.clone(), tty: tty.clone(), pid, process }
    }
}

/// A pane that is there, or that is still being looked for: for the first time, or over the next client.
#[derive(Debug, Clone)]
pub(super) struct Joining(watch::Receiver<Option<Arc<Joined>>>);

/// Whoever looks for it says here that it was found; dropped, that it was not.
pub(super) type Finder = watch::Sender<Option<Arc<Joined>>>;

impl Joining {
    pub(super) fn there(joined: Joined) -> (Finder, Self) {
        let (finder, joining) = watch::channel(Some(Arc::new(joined)));
        (finder, Self(joining))
    }

    pub(super) fn awaited() -> (Finder, Self) {
        let (finder, joining) = watch::channel(None);
        (finder, Self(joining))
    }

    /// The pane, if it was found by now.
    pub(super) fn now(&self) -> Option<Arc<Joined>> {
        self.0.borrow().clone()
    }

    /// The pane over a client that is not gone, once there is one; `None` when there will be none.
    pub(super) async fn live(&mut self) -> Option<Arc<Joined>> {
        let lives = |joined: &Option<Arc<Joined>>| joined.as_ref().is_some_and(|one| !one.link.is_gone());
        match self.0.wait_for(lives).await {
            Ok(joined) => joined.clone(),
            Err(_) => None,
        }
    }

    /// The pane; `None` when it is not found.
    pub(super) async fn joined(&mut self) -> Option<Arc<Joined>> {
        match self.0.wait_for(Option::is_some).await {
            Ok(joined) => joined.clone(),
            Err(_) => None,
        }
    }
}

/// Whether input is edited by lines, and echoed.
pub(super) fn line_discipline(tty: &Path) -> Option<Termios> {
    let flags = OFlags::RDONLY | OFlags::NOCTTY | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let tty = rustix::fs::open(tty, flags, Mode::empty()).ok()?;
    rustix::termios::tcgetattr(&tty).ok()
}
