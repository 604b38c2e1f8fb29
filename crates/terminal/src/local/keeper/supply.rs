//! A keeper whenever one is needed.

use std::io;
use std::os::fd::OwnedFd;
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;

use ptyard_core::Exit;
use tokio::runtime::Handle;
use tokio::sync::oneshot;
use tokio::task::AbortHandle;

use super::client::{self, Handover};
use super::holdings::{Facts, Holdings};
use super::link::{Connection, KeptLauncher, Link};
use super::protocol::{KeptProgram, Parent};
use super::{KeeperCommand, KeeperError};
use crate::backend::{Earlier, StartError, StartSpec, Started};
use crate::cores::on_every_core;
use crate::local::launcher::Launcher;
use crate::local::tree::cgroup::Home;
use crate::local::tree::procfs::Process;
use crate::local::tree::walk::{self, Root};
use crate::local::{Contained, Containment, Ground, errors, strays};
use crate::log::LogConfig;

/// How long until another keeper is tried when one cannot be started; doubled each time.
const FIRST_RETRY: Duration = Duration::from_secs(1);

/// The longest of these times.
const LAST_RETRY: Duration = Duration::from_secs(60);

/// Starts programs at a keeper, and another keeper when that is gone.
pub(in crate::local) struct Supply {
    command: KeeperCommand,
    log: LogConfig,
    current: tokio::sync::Mutex<Arc<Current>>,
    holdings: Arc<Holdings>,
    earlier: Mutex<Vec<Earlier>>,
    containment: Containment,
    replacing: AbortHandle,
    /// A keeper that this process started is its child; if it dies, its programs fall to this process.
    _orphans: strays::Adoption,
}

/// One keeper.
struct Current {
    connection: Connection,
    ground: Ground,
}

impl Supply {
    /// Reaches the keeper, or starts one. Blocks. Must be called in a runtime.
    pub(in crate::local) fn open(command: KeeperCommand, log: LogConfig) -> Result<Arc<Self>, KeeperError> {
        let orphans = strays::adopt().map_err(KeeperError::io("cannot adopt orphans"))?;
        let holdings = Arc::new(Holdings::default());
        let (current, earlier) = Current::new(client::reach(&command, log)?, &holdings, Kept::TakeOver)?;
        Ok(Arc::new_cyclic(|supply| {
            let first = Arc::clone(&current.connection.link);
            Self {
                command,
                log,
                containment: current.ground.containment(),
                current: tokio::sync::Mutex::new(Arc::new(current)),
                holdings,
                earlier: Mutex::new(earlier),
                replacing: tokio::spawn(replace_the_dead(Weak::clone(supply), first)).abort_handle(),
                _orphans: orphans,
            }
        }))
    }

    pub(in crate::local) fn containment(&self) -> Containment {
        self.containment
    }

    pub(in crate::local) fn take_earlier(&self) -> Vec<Earlier> {
        std::mem::take(&mut *self.earlier.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Starts a program. When the keeper turns out to be gone it is tried once more, at a new one.
    pub(in crate::local) async fn start(&self, spec: StartSpec) -> Result<Started, StartError> {
        let current = self.current().await?;
        match current.ground.start(spec.clone()).await {
            Err(_) if current.connection.link.is_lost() => self.current().await?.ground.start(spec).await,
            other => other,
        }
    }

    /// The keeper, or a new one when that is gone, which is given what the dead one had.
    async fn current(&self) -> Result<Arc<Current>, StartError> {
        let mut current = self.current.lock().await;
        if current.connection.link.is_lost() {
            let (command, log) = (self.command.clone(), self.log);
            let reached = tokio::task::spawn_blocking(move || client::reach(&command, log));
            let handover = reached.await.map_err(unreached)?.map_err(unreached)?;
            if let Contained::Cgroup(home) = &current.ground.containment {
                self.holdings.hold_home(Arc::clone(home));
            }
            let (new, _) = Current::new(handover, &self.holdings, Kept::Leave).map_err(unreached)?;
            *current = Arc::new(new);
        }
        Ok(Arc::clone(&current))
    }
}

impl Drop for Supply {
    fn drop(&mut self) {
        self.replacing.abort();
    }
}

/// Replaces each keeper as soon as it is gone: until the next one holds the programs, they end with this server.
async fn replace_the_dead(supply: Weak<Supply>, mut link: Arc<Link>) {
    let mut retry = FIRST_RETRY;
    loop {
        link.gone().await;
        let Some(there) = supply.upgrade() else { return };
        match there.current().await {
            Ok(current) => {
                retry = FIRST_RETRY;
                link = Arc::clone(&current.connection.link);
            }
            Err(error) => {
                tracing::error!(%error, "no keeper: the running programs would end with this server");
                drop(there);
                // What is missing (disk, memory, processes) does not tell when it is there again.
                tokio::time::sleep(retry).await;
                retry = LAST_RETRY.min(retry * 2);
            }
        }
    }
}

fn unreached(error: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> StartError {
    errors::spawn_failed("cannot start a keeper", &io::Error::other(error))
}

/// What becomes of the programs that a keeper hands over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kept {
    /// They are an earlier server's, and now ours.
    TakeOver,
    /// They are ours already, if there are any: the keeper lives, and only the connection broke.
    Leave,
}

impl Current {
    /// Listens to a keeper, and gives it what this server has.
    fn new(
        handover: Handover,
        holdings: &Arc<Holdings>,
        what: Kept,
    ) -> Result<(Self, Vec<Earlier>), KeeperError> {
        let Handover { socket, pid, pidfd, home, homes, kept } = handover;
        let cannot = || KeeperError::io("cannot listen to the keeper");
        let link = Arc::new(Link::new(socket).map_err(cannot())?);
        let root = Root::of(pid);
        let containment = match home {
            Some((path, lock)) => Contained::Cgroup(Home::of_keeper(path, lock)),
            None => Contained::Walk { root: root.clone() },
        };
        let given = holdings.hand_over(Arc::clone(&link));
        if given > 0 {
            tracing::info!(programs = given, "another keeper holds the running programs");
        }
        for (path, lock) in homes {
            holdings.hold_home(Home::of_keeper(path, lock));
        }
        let launcher: Arc<dyn Launcher> =
            Arc::new(KeptLauncher { link: Arc::clone(&link), keeper: pid, holdings: Arc::clone(holdings) });
        let ground = Ground { launcher, containment };
        let taken = match what {
            Kept::TakeOver => kept,
            Kept::Leave => Vec::new(),
        };
        let runtime = Handle::current();
        let earlier = on_every_core(taken, |(program, descriptors)| {
            let _in_the_runtime = runtime.enter();
            let id = program.id;
            take_over(&link, holdings, &ground, program, descriptors)
                .inspect_err(|error| tracing::error!(%error, %id, "a running program cannot be taken over"))
                .ok()
        });
        let earlier = earlier.into_iter().flatten().collect();
        // Only now that every end is expected: the first thing that is heard may be one.
        let connection = Connection::serve(link, pidfd, root).map_err(cannot())?;
        Ok((Self { connection, ground }, earlier))
    }
}

/// Takes over a program of an earlier server.
fn take_over(
    link: &Arc<Link>,
    holdings: &Arc<Holdings>,
    ground: &Ground,
    program: KeptProgram,
    descriptors: Vec<OwnedFd>,
) -> Result<Earlier, StartError> {
    let KeptProgram {
        id,
        pid,
        started_ticks,
        parent,
        tty,
        cgroup,
        timer_slack_ns,
        exit,
        reaped,
        unseen_from,
    } = program;
    if let Some(mark_ns) = timer_slack_ns {
        walk::skip_mark_ns(mark_ns);
    }
    // Until it is reaped the number means the program, if keeper and server see the same numbers.
    let is_there = !reaped && Process::look(pid).map(|process| process.started_ticks) == started_ticks;
    // Nobody will tell: of a child of somebody else's the end is asked for, not heard.
    let untold = || oneshot::channel().1;
    let (end, reaped_before) = match (exit, is_there) {
        (None, true) if parent == Parent::Heir => (untold(), None),
        (None, true) => (link.expect_end(id), None),
        (Some(exit), true) => {
            let (tell, told) = oneshot::channel();
            let _ = tell.send(exit);
            (told, None)
        }
        (exit, false) => (untold(), Some(exit.unwrap_or_else(Exit::lost))),
    };
    let facts = Facts { pid, started_ticks, tty, cgroup: cgroup.clone(), timer_slack_ns };
    let launched = link.launched(id, descriptors, facts, holdings, end, reaped_before)?;
    let root = (parent == Parent::Heir).then(Root::of_the_dead);
    let started = ground.take_over(id, launched, root, cgroup, timer_slack_ns)?;
    Ok(Earlier { id, started, unseen_from })
}
