//! The seam between this backend and the process that is the programs' parent.
//!
//! Only a parent can fork, and only a parent can reap. Everything else (reading, typing, signalling, killing) works
//! on descriptors, whoever the parent is. So that the parent can be another process than the server, which then hands
//! the descriptors over, nothing but a [`Launcher`] and the [`Reaper`]s it makes may assume to be the parent.

use std::fmt::Debug;
use std::io;
use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::sync::{Arc, Weak};

use ptyard_core::Exit;
use tokio::sync::watch;

use crate::backend::{BoxFuture, StartError, StartSpec};
use crate::sys::watched::WatchedFd;

/// What a launcher starts.
#[derive(Debug, Clone)]
pub struct Order {
    /// The program.
    pub spec: StartSpec,
    /// The cgroup to start it in: its directory.
    pub cgroup: Option<PathBuf>,
    /// The timer slack to give it, in nanoseconds: children inherit it, whatever else they shed.
    pub timer_slack_ns: Option<u64>,
}

/// A program that was executed: the exec succeeded.
pub struct Launched {
    /// Our ends of its standard streams.
    pub ends: Ends,
    /// Its process id, which is also that of its session and of its first process group.
    pub pid: u32,
    /// A descriptor for the process, made while it could not have been reaped.
    pub pidfd: OwnedFd,
    /// Tells its end. Must be waited for and called, or the process stays a zombie.
    pub reaper: Box<dyn Reaper>,
    /// What the parent process holds of it, when that is another process.
    pub copies: Option<Arc<dyn Copies>>,
}

/// The copies of our ends that the parent process holds while it is another process. Dropped, they are given up.
///
/// A stream is closed only when its last copy is.
pub trait Copies: Debug + Send + Sync {
    /// Closes the copy of the input's writing end, so that closing our own, which was done before, ends the input.
    fn close_input(&self);

    /// Told once what this process has open of the program: new copies are made from it when the parent process dies.
    fn lend(&self, lent: Lent);
}

/// What this process has open of a program, for as long as it has.
#[derive(Debug)]
pub struct Lent {
    pub(crate) pidfd: Weak<OwnedFd>,
    /// The master, or the reading end of the output.
    pub(crate) output: Weak<WatchedFd>,
    /// The writing end of the input, if that is a pipe.
    pub(crate) input: Weak<WatchedFd>,
    /// How the program ended, once it was reaped.
    pub(crate) exit: watch::Receiver<Option<Exit>>,
}

/// Our ends of a program's standard streams, all non-blocking.
#[derive(Debug)]
pub enum Ends {
    /// The master of its terminal.
    Tty(OwnedFd),
    /// The reading end of its output, and the writing end of its input if that is a pipe.
    Pipes {
        /// Output and errors.
        output: OwnedFd,
        /// Input.
        input: Option<OwnedFd>,
    },
}

/// Starts programs, as their parent.
pub trait Launcher: Debug + Send + Sync {
    /// Forks and executes a program. An error means that nothing is left of it.
    fn launch(&self, order: Order) -> BoxFuture<'static, Result<Launched, StartError>>;

    /// Makes the parent process adopt, and reap, orphans of the programs it starts, and says which process that is.
    ///
    /// Called in a runtime, before the first launch, by backends that find a program's tree by walking it. It goes on
    /// until the launcher is dropped.
    fn adopt_orphans(&self) -> io::Result<u32>;
}

/// The parent's side of the end of one program.
///
/// In two steps, because a process id means its process until the moment of reaping: the caller reaps while nobody
/// is about to use the number.
pub trait Reaper: Send {
    /// Waits until the program has ended. Cancel-safe.
    fn ended(&mut self) -> BoxFuture<'_, ()>;

    /// Reaps it: how it ended. Called once, after [`Reaper::ended`].
    fn reap(&mut self) -> Exit;

    /// How it ended, when it was reaped before it was handed over.
    fn reaped_before(&self) -> Option<Exit> {
        None
    }
}
