//! The keeper: a small process that is the parent of all programs of a state directory, so that they outlive servers.
//!
//! It forks, reaps, and holds a copy of every descriptor of a program's streams; the server gets the originals over a
//! Unix socket and reads and writes them itself, so nothing is slower for it. While no server is there the keeper reads
//! the output into the same logs, from the exact offset at which the server stopped, until the next one takes over.
//!
//! ```text
//!   keeper [`run`]                                     server [`Supply`]
//!     parent of the programs  <-- keeper.sock -->       reads, types, serves
//!     copies of their streams     descriptors           exits, once told, are reaped on its word
//! ```
//!
//! When it dies, the server starts another one and hands the descriptors to that. Programs then have another parent:
//! their ends are told as far as they can be known. It can become a newer version of its program, in the same process.
//!
//! It has no runtime and no thread, and answers one server at a time.
//!
//! A keeper tells the server that starts it with [`READY`] on its stdout that it can come.
//!
//! # What holds
//! 1. A log has one writer at any time: the server while one is attached, else the keeper. The keeper closes its writers
//!    before it hands descriptors over, and takes over when the server's connection is gone, which the kernel closes
//!    after the server's memory, and with it the logs' locks.
//! 2. A program that has ended stays a zombie until a server has said that it knows, so its process id means nothing
//!    else meanwhile and its end can be told to the next server if this one dies on the way.
//! 3. A program is forgotten when the server says so; a keeper with no program and no server exits.

mod client;
mod holdings;
mod kept;
mod link;
mod opening;
mod packet;
mod process;
mod protocol;
mod reaper;
mod seat;
mod succession;
mod supply;
mod ward;

use std::ffi::OsString;
use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use ptyard_core::ErrorCode;
use rustix::fs::{FlockOperation, flock};
use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType};

pub use self::client::{CONTAINMENT_VARIABLE, READY};
pub use self::process::{resume, run};
pub use self::succession::check;
pub(super) use self::supply::Supply;

/// How many connections may wait for the keeper.
const BACKLOG: i32 = 8;

/// A state directory as its keeper sees it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeeperPlace {
    state: PathBuf,
}

impl KeeperPlace {
    /// The place in the state directory `state`.
    #[must_use]
    pub fn in_state(state: impl Into<PathBuf>) -> Self {
        Self { state: state.into() }
    }

    /// The socket it answers on.
    #[must_use]
    pub fn socket(&self) -> PathBuf {
        self.state.join("keeper.sock")
    }

    /// Locked as long as a keeper lives; names its process id.
    #[must_use]
    pub fn lock_file(&self) -> PathBuf {
        self.state.join("keeper.lock")
    }

    /// What it says on stderr.
    #[must_use]
    pub fn log_file(&self) -> PathBuf {
        self.state.join("keeper.log")
    }

    /// The directory that holds a directory with a log for each terminal.
    #[must_use]
    pub fn terminals(&self) -> PathBuf {
        self.state.join("terminals")
    }

    fn open_private(path: &Path) -> io::Result<File> {
        OpenOptions::new().append(true).create(true).mode(0o600).open(path)
    }

    /// Waits for the lock: until the last keeper, if there is one, is gone.
    fn lock(&self) -> io::Result<File> {
        let file = Self::open_private(&self.lock_file())?;
        loop {
            match flock(&file, FlockOperation::LockExclusive) {
                Err(rustix::io::Errno::INTR) => {}
                done => return done.map(|()| file).map_err(Into::into),
            }
        }
    }

    fn address(&self) -> io::Result<SocketAddrUnix> {
        Ok(SocketAddrUnix::new(self.socket())?)
    }

    fn open_socket(flags: SocketFlags) -> io::Result<OwnedFd> {
        let flags = flags | SocketFlags::CLOEXEC;
        Ok(rustix::net::socket_with(AddressFamily::UNIX, SocketType::SEQPACKET, flags, None)?)
    }

    /// Listens on the socket; one that lies there is a dead keeper's, because the lock is held.
    fn listen(&self) -> io::Result<OwnedFd> {
        match fs::remove_file(self.socket()) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        let listener = Self::open_socket(SocketFlags::NONBLOCK)?;
        rustix::net::bind(&listener, &self.address()?)?;
        fs::set_permissions(self.socket(), fs::Permissions::from_mode(0o600))?;
        rustix::net::listen(&listener, BACKLOG)?;
        Ok(listener)
    }

    /// Whether a keeper answers here.
    #[must_use]
    pub fn is_kept(&self) -> bool {
        client::connect(self).is_ok_and(|socket| socket.is_some())
    }

    /// Waits, blocking, until no keeper lives here; says whether that came within `limit`.
    ///
    /// For a server that ends after all its programs: the keeper has nothing to do then, and goes.
    #[must_use]
    pub fn wait_until_gone(&self, limit: Duration) -> bool {
        let place = self.clone();
        let (tell, told) = std::sync::mpsc::sync_channel(1);
        std::thread::spawn(move || tell.send(place.lock().is_ok()));
        told.recv_timeout(limit).unwrap_or(false)
    }
}

/// How a keeper is started, and what becomes of one that runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeeperCommand {
    /// The program that calls [`run`]. With `--check` behind its arguments it calls [`check`], with `--resume` and a
    /// number [`resume`].
    pub program: PathBuf,
    /// Its name, as processes are listed.
    pub name: String,
    /// Its arguments.
    pub args: Vec<OsString>,
    /// Where.
    pub place: KeeperPlace,
    /// Which keepers become this program when a server comes to them.
    pub upgrade: UpgradeFrom,
}

/// Which keepers become another program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UpgradeFrom {
    /// Those of an older version.
    Older,
    /// All.
    Any,
}

/// Why there is no keeper.
#[derive(Debug, thiserror::Error)]
pub enum KeeperError {
    /// It speaks another protocol.
    #[error(
        "the keeper of the running programs (version {theirs}, protocol {their_protocol}) and this server (version \
         {ours}, protocol {our_protocol}) do not understand each other{}",
        refused.as_ref().map(|why| format!(", and it goes on as it is: {why}")).unwrap_or_default()
    )]
    Incompatible {
        /// Its version.
        theirs: String,
        /// Its protocol.
        their_protocol: u32,
        /// This program's version.
        ours: &'static str,
        /// This program's protocol.
        our_protocol: u32,
        /// Why it did not become this version; `None` when it was not asked to, because it is newer.
        refused: Option<String>,
    },
    /// It could not be started or reached.
    #[error("{action}: {source}")]
    Io {
        /// What was tried.
        action: &'static str,
        /// The system's word.
        source: io::Error,
    },
    /// What it said cannot be understood.
    #[error("the keeper of this state directory answered out of turn")]
    Garbled,
}

impl KeeperError {
    fn io(action: &'static str) -> impl FnOnce(io::Error) -> Self {
        move |source| Self::Io { action, source }
    }

    /// The stable code.
    #[must_use]
    pub const fn code(&self) -> ErrorCode {
        match self {
            Self::Incompatible { .. } => ErrorCode::IncompatibleKeeper,
            Self::Io { .. } => ErrorCode::SpawnFailed,
            Self::Garbled => ErrorCode::Internal,
        }
    }
}
