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
mod fork;
mod kill;
pub mod launcher;
mod lookup;
mod open_files;
mod signal;
mod strays;
mod streams;
mod tree;
mod tty;

use std::io;
use std::os::fd::OwnedFd;
use std::sync::Arc;

use tokio::io::Interest;
use tokio::runtime::Handle;
use tokio::sync::watch;

use crate::backend::{Backend, BoxFuture, Sink, StartError, StartSpec, Started};
use crate::sys::watched::WatchedFd;

use self::control::{End, LocalControl};
pub use self::fork::ForkLauncher;
use self::launcher::{Ends, Launched, Launcher, Order};
pub use self::open_files::raise_open_files;
pub use self::signal::UnknownSignal;
use self::streams::{FdSource, PipeSink, TtySink};
use self::tree::Tree;
use self::tree::cgroup::{Home, Leaf};
use self::tree::walk::{self, Walk};

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
    grounds: Arc<Grounds>,
}

/// What the programs of one backend share.
struct Grounds {
    launcher: Arc<dyn Launcher>,
    containment: Contained,
}

enum Contained {
    Cgroup(Arc<Home>),
    Walk { root: u32 },
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
            Containment::Walk => Contained::Walk { root: launcher.adopt_orphans()? },
        };
        Ok(Self { grounds: Arc::new(Grounds { launcher, containment }) })
    }

    /// How programs are kept together.
    #[must_use]
    pub fn containment(&self) -> Containment {
        match self.grounds.containment {
            Contained::Cgroup(_) => Containment::Cgroup,
            Contained::Walk { .. } => Containment::Walk,
        }
    }
}

impl Backend for LocalBackend {
    fn name(&self) -> &'static str {
        "local"
    }

    fn start(&self, spec: StartSpec) -> BoxFuture<'_, Result<Started, StartError>> {
        let grounds = Arc::clone(&self.grounds);
        Box::pin(async move {
            // In a task of its own: when this future is dropped the start goes on, its result is dropped, and that
            // kills the program.
            tokio::spawn(async move { grounds.start(spec).await })
                .await
                .unwrap_or_else(|error| Err(errors::spawn_failed("cannot start", &io::Error::other(error))))
        })
    }
}

impl Grounds {
    async fn start(&self, spec: StartSpec) -> Result<Started, StartError> {
        let variable = format!("{}={}", env::TERMINAL_VARIABLE, spec.id);
        match &self.containment {
            Contained::Cgroup(home) => {
                let cannot = |error| errors::spawn_failed("cannot make a cgroup", &error);
                let leaf = Leaf::make(home, &spec.id.to_string()).map_err(cannot)?;
                let dir = Arc::new(leaf.dir().map_err(cannot)?);
                let order = Order { spec, cgroup: Some(dir), timer_slack_ns: None };
                let launched = self.launcher.launch(order).await?;
                wire(launched, |_| Tree::Cgroup(leaf))
            }
            &Contained::Walk { root } => {
                let mark_ns = walk::next_mark_ns();
                let order = Order { spec, cgroup: None, timer_slack_ns: Some(mark_ns) };
                let launched = self.launcher.launch(order).await?;
                let program = launched.pid;
                let tty = match &launched.ends {
                    Ends::Tty(master) => tty::device(master).ok(),
                    Ends::Pipes { .. } => None,
                };
                let _launcher = Arc::clone(&self.launcher);
                wire(launched, |exit| {
                    Tree::Walk(Walk { root, _launcher, program, mark_ns, variable, tty, exit })
                })
            }
        }
    }
}

/// Wraps the ends of a program that runs.
fn wire(
    launched: Launched,
    tree: impl FnOnce(watch::Receiver<Option<ptyard_core::Exit>>) -> Tree,
) -> Result<Started, StartError> {
    let Launched { ends, pid, pidfd, mut reaper } = launched;
    let (publish, exit) = watch::channel(None);
    let tree = Arc::new(tree(exit.clone()));
    let at_the_end = Arc::downgrade(&tree);
    tokio::spawn(async move {
        reaper.ended().await;
        // Under the channel's lock, which whoever signals holds too: see `LocalControl`.
        publish.send_modify(|exit| *exit = Some(reaper.reap()));
        if let Some(tree) = at_the_end.upgrade() {
            tree.release();
        }
    });
    // From here on an early return drops the control, which kills.
    let mut control = LocalControl {
        pid,
        pidfd,
        tty: None,
        tree,
        end: End::awaited(exit.clone()),
        exit,
        runtime: Handle::current(),
    };
    let cannot_watch = |error| errors::spawn_failed("cannot watch the program's streams", &error);
    let watched = |fd: OwnedFd| Ok(Arc::new(WatchedFd::new(fd, Interest::READABLE | Interest::WRITABLE)?));
    let (source, sink): (_, Option<Box<dyn Sink>>) = match ends {
        Ends::Tty(master) => {
            let master = watched(master).map_err(cannot_watch)?;
            control.tty = Some(Arc::clone(&master));
            (FdSource::new(Arc::clone(&master)), Some(Box::new(TtySink::new(master))))
        }
        Ends::Pipes { output, input } => {
            let input = input.map(PipeSink::new).transpose().map_err(cannot_watch)?;
            let output = watched(output).map_err(cannot_watch)?;
            (FdSource::new(output), input.map(|sink| Box::new(sink) as Box<dyn Sink>))
        }
    };
    Ok(Started { source: Box::new(source), sink, control: Box::new(control), pid: Some(pid) })
}
