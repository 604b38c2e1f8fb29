//! Programs on this machine, on a pseudo terminal or on pipes.
//!
//! The way of a start: [`LocalBackend`] makes a place to keep the program's `tree` together, a [`launcher`] forks and
//! executes the program in it, and its ends are wrapped as `streams` and `control`. A task of its own waits for the
//! end of the program and reaps it, whatever becomes of the rest.
//!
//! # Invariants
//! 1. A program that was started is reaped exactly once, and its exit is published in the step that reaps it.
//! 2. What lives of a program when its [`Control`](crate::backend::Control) is dropped is killed: a start that
//!    nobody waits for any more leaves nothing running.
//! 3. No thread belongs to a terminal; descriptors, tasks, cgroups and zombies are gone when the terminal is.

mod control;
pub mod env;
mod errors;
mod flood;
mod fork;
mod identity;
mod inherited;
pub mod keeper;
mod kill;
pub mod launcher;
mod lookup;
mod open_files;
mod other;
mod signal;
mod strays;
mod streams;
mod tree;
mod tty;

use std::io;
use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::sync::{Arc, Weak};

use ptyard_core::{Cause, Exit, Limit, TerminalId};
use tokio::io::Interest;
use tokio::runtime::Handle;
use tokio::sync::watch;

use crate::backend::{Backend, BoxFuture, Earlier, Questions, Sink, StartError, StartSpec, Started};
use crate::log::LogConfig;
use crate::sys::watched::WatchedFd;

use self::control::{End, LocalControl};
pub use self::fork::ForkLauncher;
pub use self::identity::Identity;
pub use self::inherited::inherited;
use self::keeper::{KeeperCommand, KeeperError, Supply};
use self::launcher::{Ends, Launched, Launcher, Lent, Order};
pub use self::open_files::raise_open_files;
pub use self::other::OtherProcess;
pub use self::signal::UnknownSignal;
use self::streams::{FdSource, PipeSink, TtySink};
use self::tree::Tree;
use self::tree::ceilings::Controller;
use self::tree::cgroup::{Home, Leaf};
use self::tree::walk::{self, Root, Walk};

/// How the processes of a program are kept together, so that all of them can be ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Containment {
    /// In a cgroup (version 2) per program. Certain and cheap; needs a cgroup that this process may write to.
    Cgroup,
    /// Found by looking at all processes. Works everywhere; a program that makes processes faster than they can be
    /// looked at, or as another user, can escape for a while, and is then named as a survivor.
    Walk,
}

/// Starts programs on this machine.
pub struct LocalBackend {
    grounds: Grounds,
}

/// Who the parent of the programs is.
enum Grounds {
    /// This process, or whatever the launcher of one's own choice starts them in.
    Own(Arc<Ground>),
    /// A keeper.
    Kept(Arc<Supply>),
}

/// What programs with one parent share.
pub(crate) struct Ground {
    launcher: Arc<dyn Launcher>,
    containment: Contained,
}

enum Contained {
    Cgroup(Arc<Home>),
    Walk { root: Root },
}

impl LocalBackend {
    /// A backend whose programs are children of this process, with the best containment there is.
    ///
    /// Call it in a tokio runtime, which must outlive the programs: it reaps them.
    ///
    /// # Errors
    /// When this process can neither use cgroups nor adopt orphans.
    pub fn new() -> io::Result<Self> {
        let launcher: Arc<dyn Launcher> = Arc::new(ForkLauncher::new());
        Self::with(Arc::clone(&launcher), Containment::Cgroup).or_else(|error| {
            tracing::info!(%error, "no cgroup can be used: programs are kept together by looking at all processes");
            Self::with(launcher, Containment::Walk)
        })
    }

    /// A backend with a launcher and a containment of one's own choice.
    ///
    /// # Errors
    /// When this machine does not offer that containment to this process.
    pub fn with(launcher: Arc<dyn Launcher>, containment: Containment) -> io::Result<Self> {
        let containment = match containment {
            Containment::Cgroup => {
                // The first process of a container is what orphans fall to, subreaper or not.
                if std::process::id() == 1 {
                    launcher.adopt_orphans()?;
                }
                Contained::Cgroup(Home::open()?)
            }
            Containment::Walk => Contained::Walk { root: Root::of(launcher.adopt_orphans()?) },
        };
        Ok(Self { grounds: Grounds::Own(Arc::new(Ground { launcher, containment })) })
    }

    /// A backend whose programs are children of a [`keeper`], which is started if there is none, and outlive this
    /// process. `log` are the limits of the logs that the keeper writes while no server does.
    ///
    /// Call it in a tokio runtime. It blocks until the keeper has handed over what it keeps: see [`Backend::earlier`].
    ///
    /// # Errors
    /// When no keeper can be started or reached.
    pub fn kept(command: KeeperCommand, log: LogConfig) -> Result<Self, KeeperError> {
        Ok(Self { grounds: Grounds::Kept(Supply::open(command, log)?) })
    }

    /// How programs are kept together.
    #[must_use]
    pub fn containment(&self) -> Containment {
        match &self.grounds {
            Grounds::Own(ground) => ground.containment(),
            Grounds::Kept(supply) => supply.containment(),
        }
    }
}

impl Backend for LocalBackend {
    fn name(&self) -> &'static str {
        "local"
    }

    fn at(self: Arc<Self>, place: &str) -> Result<Arc<dyn Backend>, StartError> {
        if place.is_empty() { Ok(self) } else { Err(StartError::no_places("local", place)) }
    }

    fn start(&self, spec: StartSpec) -> BoxFuture<'_, Result<Started, StartError>> {
        let starting: BoxFuture<'static, _> = match &self.grounds {
            Grounds::Own(ground) => {
                let ground = Arc::clone(ground);
                Box::pin(async move { ground.start(spec).await })
            }
            Grounds::Kept(supply) => {
                let supply = Arc::clone(supply);
                Box::pin(async move { supply.start(spec).await })
            }
        };
        Box::pin(async move {
            // In a task of its own: when this future is dropped the start goes on, its result is dropped, and that
            // kills the program.
            tokio::spawn(starting)
                .await
                .unwrap_or_else(|error| Err(errors::spawn_failed("cannot start", &io::Error::other(error))))
        })
    }

    fn earlier(&self) -> Vec<Earlier> {
        match &self.grounds {
            Grounds::Own(_) => Vec::new(),
            Grounds::Kept(supply) => supply.take_earlier(),
        }
    }
}

impl Ground {
    fn containment(&self) -> Containment {
        match self.containment {
            Contained::Cgroup(_) => Containment::Cgroup,
            Contained::Walk { .. } => Containment::Walk,
        }
    }

    /// Why programs cannot be held to a limit here; `None` when they can.
    fn why_not(&self, limit: Limit) -> Option<String> {
        let controller = match limit {
            Limit::Wall | Limit::Idle => return None,
            Limit::Memory => Controller::Memory,
            Limit::Processes => Controller::Processes,
        };
        match &self.containment {
            Contained::Cgroup(home) => home.offer(controller).err().map(|error| error.to_string()),
            Contained::Walk { .. } => Some("programs have no cgroup (version 2) here".to_owned()),
        }
    }

    async fn start(&self, spec: StartSpec) -> Result<Started, StartError> {
        let id = spec.id;
        let (ceilings, unheld) = spec.ceilings.split(|limit| self.why_not(limit))?;
        match &self.containment {
            Contained::Cgroup(home) => {
                let cannot = |error| errors::spawn_failed("cannot make a cgroup", &error);
                let leaf = Leaf::make(home, &spec.id.to_string()).map_err(cannot)?;
                leaf.hold(ceilings).map_err(|error| errors::spawn_failed("cannot set the limits", &error))?;
                let order = Order { spec, cgroup: Some(leaf.path().to_owned()), timer_slack_ns: None };
                let launched = self.launcher.launch(order).await?;
                Ok(Started { unheld, ..wire(launched, |_, _| Tree::Cgroup(leaf))? })
            }
            Contained::Walk { .. } => {
                let mark_ns = walk::next_mark_ns();
                let order = Order { spec, cgroup: None, timer_slack_ns: Some(mark_ns) };
                let launched = self.launcher.launch(order).await?;
                let started = wire(launched, |launched, exit| self.walk(id, launched, mark_ns, exit))?;
                Ok(Started { unheld, ..started })
            }
        }
    }

    /// Takes a program over that an earlier server started. `root` says below what it is, if not below this launcher.
    fn take_over(
        &self,
        id: TerminalId,
        launched: Launched,
        root: Option<Root>,
        cgroup: Option<PathBuf>,
        mark_ns: Option<u64>,
    ) -> Result<Started, StartError> {
        wire(launched, |launched, exit| match (cgroup, root) {
            (Some(path), _) => Tree::Cgroup(Leaf::found(path)),
            (None, Some(root)) => self.walk_below(root, id, launched, mark_ns.unwrap_or(0), exit),
            (None, None) => self.walk(id, launched, mark_ns.unwrap_or(0), exit),
        })
    }

    fn walk(
        &self,
        id: TerminalId,
        launched: &Launched,
        mark_ns: u64,
        exit: watch::Receiver<Option<Exit>>,
    ) -> Tree {
        let root = match &self.containment {
            Contained::Walk { root } => root.clone(),
            Contained::Cgroup(_) => Root::of(std::process::id()),
        };
        self.walk_below(root, id, launched, mark_ns, exit)
    }

    fn walk_below(
        &self,
        root: Root,
        id: TerminalId,
        launched: &Launched,
        mark_ns: u64,
        exit: watch::Receiver<Option<Exit>>,
    ) -> Tree {
        let tty = match &launched.ends {
            Ends::Tty(master) => tty::device(master).ok(),
            Ends::Pipes { .. } => None,
        };
        let variable = format!("{}={id}", env::TERMINAL_VARIABLE);
        let _launcher = Arc::clone(&self.launcher);
        Tree::Walk(Walk { root, _launcher, program: launched.pid, mark_ns, variable, tty, exit })
    }
}

/// The end of a program whose memory ran out. It may have ended by itself before, and only what it started was killed.
fn out_of_memory(end: Exit) -> Exit {
    if end.signal != Some(libc::SIGKILL) {
        return end;
    }
    Exit { cause: Cause::Killed, by: Some(Limit::Memory.by().to_owned()), ..end }
}

/// Wraps the ends of a program that runs.
fn wire(
    launched: Launched,
    tree: impl FnOnce(&Launched, watch::Receiver<Option<Exit>>) -> Tree,
) -> Result<Started, StartError> {
    // One that was reaped before has no process id any more that anybody may use.
    let (publish, exit) = watch::channel(launched.reaper.reaped_before());
    let tree = Arc::new(tree(&launched, exit.clone()));
    let Launched { ends, pid, pidfd, mut reaper, copies } = launched;
    let at_the_end = Arc::downgrade(&tree);
    tokio::spawn(async move {
        reaper.ended().await;
        let ran_out = at_the_end.upgrade().is_some_and(|tree| tree.ran_out_of_memory());
        // Under the channel's lock, which whoever signals holds too: see `LocalControl`.
        publish.send_modify(|exit| {
            let end = reaper.reap();
            *exit = Some(if ran_out { out_of_memory(end) } else { end });
        });
        if let Some(tree) = at_the_end.upgrade() {
            tree.release();
        }
    });
    let pidfd = Arc::new(pidfd);
    let mut lent =
        Lent { pidfd: Arc::downgrade(&pidfd), output: Weak::new(), input: Weak::new(), exit: exit.clone() };
    // From here on an early return drops the control, which kills.
    let mut control = LocalControl {
        pid,
        pidfd,
        tty: None,
        ceiling: tree.too_many_processes().map(|reached| Box::pin(reached) as BoxFuture<'static, _>),
        tree,
        end: End::awaited(exit.clone()),
        exit,
        runtime: Handle::current(),
        _copies: copies.clone(),
    };
    let cannot_watch = |error| errors::spawn_failed("cannot watch the program's streams", &error);
    let watched = |fd: OwnedFd| Ok(Arc::new(WatchedFd::new(fd, Interest::READABLE)?));
    let (source, sink): (_, Option<Box<dyn Sink>>) = match ends {
        Ends::Tty(master) => {
            let master = watched(master).map_err(cannot_watch)?;
            control.tty = Some(Arc::clone(&master));
            lent.output = Arc::downgrade(&master);
            (FdSource::tty(Arc::clone(&master)), Some(Box::new(TtySink::new(master))))
        }
        Ends::Pipes { output, input } => {
            let input = input.map(|input| PipeSink::new(input, copies.clone()));
            let input = input.transpose().map_err(cannot_watch)?;
            lent.input = input.as_ref().map(PipeSink::lend).unwrap_or_default();
            let output = watched(output).map_err(cannot_watch)?;
            lent.output = Arc::downgrade(&output);
            (FdSource::pipe(output), input.map(|sink| Box::new(sink) as Box<dyn Sink>))
        }
    };
    if let Some(copies) = copies {
        copies.lend(lent);
    }
    let (source, control) = (Box::new(source), Box::new(control));
    Ok(Started { source, sink, control, questions: Questions::Ours, pid: Some(pid), unheld: Vec::new() })
}
