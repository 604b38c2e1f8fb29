//! The end of a program whose parent is a keeper.

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;

use ptyard_core::{Exit, TerminalId};
use rustix::process::{WaitId, WaitIdOptions};
use tokio::io::Interest;
use tokio::sync::oneshot;

use super::link::Link;
use super::protocol::ToKeeper;
use crate::backend::BoxFuture;
use crate::local::fork::{self, REAP_LIMIT, exit_of};
use crate::local::launcher::Reaper;
use crate::sys::exit_info;
use crate::sys::watched::WatchedFd;

/// Tells the end of a program of a keeper, and after the keeper's death what can still be known of it.
pub(super) struct KeptReaper {
    id: TerminalId,
    pid: u32,
    link: Arc<Link>,
    /// Readable once the program has ended, whoever its parent is.
    ended: WatchedFd,
    end: End,
    reaped_before: Option<Exit>,
}

enum End {
    /// The keeper will tell.
    Awaited(oneshot::Receiver<Exit>),
    /// The keeper has told.
    Told(Exit),
    /// The keeper died before it told.
    Untold,
}

impl KeptReaper {
    pub(super) fn new(
        id: TerminalId,
        pid: u32,
        link: Arc<Link>,
        pidfd: OwnedFd,
        end: oneshot::Receiver<Exit>,
        reaped_before: Option<Exit>,
    ) -> io::Result<Self> {
        let ended = WatchedFd::new(pidfd, Interest::READABLE)?;
        if reaped_before.is_none() {
            // If it falls to this process, nobody but this reaps it.
            fork::awaited().insert(pid);
        }
        let end = reaped_before.clone().map_or(End::Awaited(end), End::Told);
        Ok(Self { id, pid, link, ended, end, reaped_before })
    }

    fn is_our_child(&self) -> bool {
        let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
        rustix::process::waitid(WaitId::PidFd(self.ended.get_ref().as_fd()), options).is_ok()
    }

    /// Waits until whoever inherited it has reaped it. Cancel-safe.
    async fn was_reaped(&self) -> io::Result<()> {
        loop {
            let mut ready = self.ended.readable().await?;
            if ready.ready().is_read_closed() {
                return Ok(());
            }
            ready.clear_ready();
        }
    }

    /// The end of a program whose keeper is gone, as far as this process can know it.
    fn ask_the_system(&self) -> Exit {
        let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG;
        match rustix::process::waitid(WaitId::PidFd(self.ended.get_ref().as_fd()), options) {
            // It fell to this process, which started the keeper.
            Ok(Some(status)) => exit_of(&status),
            // It fell to another one.
            Ok(None) | Err(_) => fork::exit_of_orphan(self.ended.get_ref().as_fd()),
        }
    }
}

impl Reaper for KeptReaper {
    fn ended(&mut self) -> BoxFuture<'_, ()> {
        Box::pin(async {
            if let End::Awaited(told) = &mut self.end {
                self.end = told.await.map_or(End::Untold, End::Told);
            }
            if matches!(self.end, End::Untold) {
                // An error means that the runtime is going away.
                let _ = self.ended.readable().await;
                if exit_info::is_told() && !self.is_our_child() {
                    let _late = tokio::time::timeout(REAP_LIMIT, self.was_reaped()).await;
                }
            }
        })
    }

    fn reap(&mut self) -> Exit {
        let exit = match &self.end {
            End::Told(exit) => {
                // A keeper that died after it told has left the dead program to somebody, maybe to this process.
                if self.link.say(&ToKeeper::Reap(self.id)).is_err() && self.reaped_before.is_none() {
                    let _ = self.ask_the_system();
                }
                exit.clone()
            }
            End::Awaited(_) | End::Untold => self.ask_the_system(),
        };
        if self.reaped_before.is_none() {
            fork::awaited().remove(&self.pid);
        }
        exit
    }

    fn reaped_before(&self) -> Option<Exit> {
        self.reaped_before.clone()
    }
}
