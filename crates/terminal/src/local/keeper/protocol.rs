//! What server and keeper say to each other. See `packet` for how it travels.
//!
//! ```text
//!   server                                keeper
//!     Attach                    -->
//!                               <--        Kept ...      one for each program, with its descriptors
//!                               <--        Home ...      one for each keeper that died, with the lock of its cgroups
//!                               <--        Attached      with the lock of the cgroups' directory
//!     Home ..., Adopt ...       -->                      what the server has of a keeper that died
//!     Start                     -->
//!                               <--        Started (with descriptors) or NotStarted
//!                               <--        Ended
//!     Reap, CloseInput, Kill, Forget -->
//! ```
//!
//! It begins with the [`opening`](super::opening), which never changes.

use std::collections::BTreeMap;
use std::path::PathBuf;

use ptyard_core::{ErrorCode, Exit, Size, TerminalId};
use serde::{Deserialize, Serialize};

use crate::backend::{Ceilings, Io, Placing, StartError, StartSpec, Stdin};
use crate::local::launcher::Order;
use crate::log::LogConfig;

/// The number of this protocol. Any change of what follows changes it.
pub(super) const PROTOCOL: u32 = 2;

/// From the server.
#[derive(Debug, Serialize, Deserialize)]
pub(super) enum ToKeeper {
    /// Hand everything over. The limits are for the logs the keeper writes later.
    Attach { log: LogLimits },
    /// Hold the lock of the cgroups of a keeper that died. With that lock.
    Home { path: PathBuf },
    /// Hold a program of a keeper that died, for the next server. With its descriptors, as in `Started`.
    Adopt(KeptProgram),
    /// Start a program.
    Start(Box<StartOrder>),
    /// The end of this program is known: its process id may go.
    Reap(TerminalId),
    /// Close the copy of its input.
    CloseInput(TerminalId),
    /// End it: the server could not take its descriptors.
    Kill(TerminalId),
    /// Give up everything of it.
    Forget(TerminalId),
}

/// From the keeper.
#[derive(Debug, Serialize, Deserialize)]
pub(super) enum ToServer {
    /// A program that an earlier server started. With its descriptors, as in `Started`.
    Kept(KeptProgram),
    /// The cgroups of a keeper that died. With their lock.
    Home { path: PathBuf },
    /// That was all. With the lock of `home`.
    Attached { home: Option<PathBuf> },
    /// The program runs. With its pidfd, then its master, or its output and (if it has one) its input.
    Started { id: TerminalId, pid: u32 },
    /// It does not, and nothing is left of it.
    NotStarted { id: TerminalId, code: ErrorCode, message: String },
    /// It has ended, and is not reaped yet.
    Ended { id: TerminalId, exit: Exit },
}

/// A program that is handed over to another server.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct KeptProgram {
    pub(super) id: TerminalId,
    pub(super) pid: u32,
    /// When it started, in clock ticks since boot: the pid means it as long as this is the same.
    pub(super) started_ticks: Option<u64>,
    pub(super) parent: Parent,
    pub(super) tty: bool,
    pub(super) cgroup: Option<PathBuf>,
    pub(super) timer_slack_ns: Option<u64>,
    /// How it ended, if it did.
    pub(super) exit: Option<Exit>,
    /// Whether it was reaped: the process id means nothing any more.
    pub(super) reaped: bool,
    /// From where on the keeper wrote its log.
    pub(super) unseen_from: Option<u64>,
}

/// Whose child a program is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Parent {
    /// The keeper's, which reaps it.
    Keeper,
    /// Of whoever inherited it when its keeper died, and reaps it.
    Heir,
}

/// A program to start.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct StartOrder {
    id: TerminalId,
    argv: Vec<String>,
    cwd: PathBuf,
    env: BTreeMap<String, String>,
    io: Streams,
    cgroup: Option<PathBuf>,
    timer_slack_ns: Option<u64>,
}

#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
enum Streams {
    Tty(Size),
    Pipes { stdin: bool },
}

impl From<Order> for StartOrder {
    fn from(order: Order) -> Self {
        let Order {
            spec: StartSpec { id, argv, cwd, env, io, ceilings: _, title: _, placing: _ },
            cgroup,
            timer_slack_ns,
        } = order;
        let io = match io {
            Io::Tty(size) => Streams::Tty(size),
            Io::Pipes(stdin) => Streams::Pipes { stdin: stdin == Stdin::Pipe },
        };
        Self { id, argv, cwd, env, io, cgroup, timer_slack_ns }
    }
}

impl From<StartOrder> for Order {
    fn from(order: StartOrder) -> Self {
        let StartOrder { id, argv, cwd, env, io, cgroup, timer_slack_ns } = order;
        let io = match io {
            Streams::Tty(size) => Io::Tty(size),
            Streams::Pipes { stdin: true } => Io::Pipes(Stdin::Pipe),
            Streams::Pipes { stdin: false } => Io::Pipes(Stdin::Null),
        };
        // They hold for the cgroup, which the server has made.
        let ceilings = Ceilings::default();
        Self {
            spec: StartSpec { id, argv, cwd, env, io, ceilings, title: None, placing: Placing::Exact },
            cgroup,
            timer_slack_ns,
        }
    }
}

impl ToServer {
    pub(super) fn not_started(id: TerminalId, error: StartError) -> Self {
        Self::NotStarted { id, code: error.code, message: error.message }
    }
}

/// A [`LogConfig`] on its way.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub(super) struct LogLimits {
    ring_bytes: usize,
    segment_bytes: u64,
    quota_bytes: u64,
}

impl From<LogConfig> for LogLimits {
    fn from(log: LogConfig) -> Self {
        let LogConfig { ring_bytes, segment_bytes, quota_bytes } = log;
        Self { ring_bytes, segment_bytes, quota_bytes }
    }
}

impl From<LogLimits> for LogConfig {
    fn from(log: LogLimits) -> Self {
        let LogLimits { ring_bytes, segment_bytes, quota_bytes } = log;
        Self { ring_bytes, segment_bytes, quota_bytes }
    }
}
