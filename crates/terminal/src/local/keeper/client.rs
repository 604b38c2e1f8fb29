//! Reaching a keeper: starting it, and being handed what it keeps. Blocking, as it is done before anything else.

use std::io::{self, Read};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::net::SocketFlags;
use semver::Version;
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::opening::{Hello, NewProgram, Upgrade, Upgraded};
use super::packet::{self, Packet, Received};
use super::protocol::{KeptProgram, PROTOCOL, ToKeeper, ToServer};
use super::{KeeperCommand, KeeperError, KeeperPlace, UpgradeFrom};
use crate::log::LogConfig;
use crate::sys;

/// How long a keeper may take to answer: it finishes starts that are under way first, which may take ten seconds.
const ANSWER_LIMIT: Duration = Duration::from_secs(20);

/// The variable that says how a keeper keeps programs together; it is handed on to a keeper with `PTYARD_LOG`.
pub const CONTAINMENT_VARIABLE: &str = "PTYARD_CONTAINMENT";

/// What a keeper says when servers can come.
pub const READY: &[u8] = b"ready\n";

/// How often a keeper is started or reached that goes while we come.
const ATTEMPTS: u32 = 5;

/// A keeper that has handed everything over.
pub(super) struct Handover {
    pub(super) socket: OwnedFd,
    pub(super) pid: u32,
    /// Readable when it is gone.
    pub(super) pidfd: OwnedFd,
    /// The directory of its cgroups and its lock; `None` when it has none.
    pub(super) home: Option<(PathBuf, OwnedFd)>,
    /// The same of keepers that died.
    pub(super) homes: Vec<(PathBuf, OwnedFd)>,
    pub(super) kept: Vec<(KeptProgram, Vec<OwnedFd>)>,
}

/// Connects to the keeper of a place, starting it if there is none.
pub(super) fn reach(command: &KeeperCommand, log: LogConfig) -> Result<Handover, KeeperError> {
    for _ in 0..ATTEMPTS {
        let socket = match connect(&command.place)? {
            Some(socket) => socket,
            None => {
                spawn(command).map_err(KeeperError::io("cannot start the keeper"))?;
                match connect(&command.place)? {
                    Some(socket) => socket,
                    None => continue,
                }
            }
        };
        match attach(socket, command, log) {
            // It had nothing to do, and went as we came.
            Err(KeeperError::Io { source, .. }) if is_gone(&source) => {}
            other => return other,
        }
    }
    let gone = io::Error::from(io::ErrorKind::ConnectionAborted);
    Err(KeeperError::io("the keeper is gone whenever it is reached")(gone))
}

fn is_gone(error: &io::Error) -> bool {
    use io::ErrorKind::{BrokenPipe, ConnectionReset, UnexpectedEof};
    matches!(error.kind(), BrokenPipe | ConnectionReset | UnexpectedEof)
}

/// `None` when nobody listens.
pub(super) fn connect(place: &KeeperPlace) -> Result<Option<OwnedFd>, KeeperError> {
    let connected = KeeperPlace::open_socket(SocketFlags::empty())
        .and_then(|socket| Ok((place.address()?, socket)))
        .and_then(|(address, socket)| {
            rustix::net::connect(&socket, &address)?;
            Ok(socket)
        });
    match connected {
        Ok(socket) => Ok(Some(socket)),
        Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::ConnectionRefused) => {
            Ok(None)
        }
        Err(error) => Err(KeeperError::io("cannot reach the keeper")(error)),
    }
}

/// Starts a keeper and waits until it listens.
fn spawn(command: &KeeperCommand) -> io::Result<()> {
    let log = KeeperPlace::open_private(&command.place.log_file())?;
    let (mut ready, writer) = io::pipe()?;
    // It needs nothing of our environment, and lives longer than whatever that speaks of.
    let mut child = Command::new(&command.program)
        .arg0(&command.name)
        .args(&command.args)
        .env_clear()
        .envs(std::env::vars_os().filter(|(name, _)| name == "PTYARD_LOG" || name == CONTAINMENT_VARIABLE))
        .current_dir("/")
        .stdin(Stdio::null())
        .stdout(writer)
        .stderr(log)
        .spawn()?;
    let told = wait_readable(&ready).and_then(|()| {
        let mut told = [0; READY.len()];
        ready.read_exact(&mut told)?;
        if told == READY { Ok(()) } else { Err(io::ErrorKind::InvalidData.into()) }
    });
    if told.is_err() {
        let _ = child.kill();
        let _ = child.wait();
        let log = command.place.log_file();
        let message = format!("it did not come up; see {}", log.display());
        return told.map_err(|error| io::Error::new(error.kind(), message));
    }
    // It is reaped with the other orphans of this process: see `Supply`.
    Ok(())
}

fn wait_readable(fd: impl AsFd) -> io::Result<()> {
    let limit = Timespec::try_from(ANSWER_LIMIT).expect("invariant: seconds fit");
    loop {
        match poll(&mut [PollFd::new(&fd, PollFlags::IN)], Some(&limit)) {
            Ok(0) => return Err(io::ErrorKind::TimedOut.into()),
            Ok(_) => return Ok(()),
            Err(Errno::INTR) => {}
            Err(errno) => return Err(errno.into()),
        }
    }
}

/// Says hello, has an older keeper become this version, and takes everything over.
fn attach(socket: OwnedFd, command: &KeeperCommand, log: LogConfig) -> Result<Handover, KeeperError> {
    let mut hello = greet(&socket)?;
    let mut refused = None;
    if command.upgrade == UpgradeFrom::Any || is_older(&hello) {
        refused = upgrade(&socket, command)?;
        hello = greet(&socket)?;
    }
    if hello.protocol != PROTOCOL {
        return Err(KeeperError::Incompatible {
            theirs: hello.version,
            their_protocol: hello.protocol,
            ours: env!("CARGO_PKG_VERSION"),
            our_protocol: PROTOCOL,
            refused,
        });
    }
    if let Some(why) = refused {
        tracing::warn!(why, version = hello.version, "the keeper goes on as it is");
    }
    // It lives: it has just answered.
    let pidfd =
        sys::spawn::open_pidfd(hello.pid).map_err(KeeperError::io("cannot watch the keeper's process"))?;
    say(&socket, &ToKeeper::Attach { log: log.into() })?;
    let (mut kept, mut homes) = (Vec::new(), Vec::new());
    loop {
        let received = hear(&socket)?;
        match understood(&received)? {
            ToServer::Kept(program) => kept.push((program, received.descriptors)),
            ToServer::Home { path } => homes.extend(Some(path).zip(received.descriptors.into_iter().next())),
            ToServer::Attached { home } => {
                let home = home.zip(received.descriptors.into_iter().next());
                return Ok(Handover { socket, pid: hello.pid, pidfd, home, homes, kept });
            }
            _ => return Err(KeeperError::Garbled),
        }
    }
}

fn greet(socket: &OwnedFd) -> Result<Hello, KeeperError> {
    say(socket, &Hello::ours())?;
    understood(&hear(socket)?)
}

/// Whether a keeper comes of an older version than this server.
fn is_older(hello: &Hello) -> bool {
    let ours = Version::parse(env!("CARGO_PKG_VERSION"));
    hello.protocol < PROTOCOL || matches!((Version::parse(&hello.version), ours), (Ok(a), Ok(b)) if a < b)
}

/// Has a keeper become this version; why not, if it did not.
fn upgrade(socket: &OwnedFd, command: &KeeperCommand) -> Result<Option<String>, KeeperError> {
    let args = command.args.iter().map(|arg| arg.clone().into_string());
    let Ok(args) = std::iter::once(Ok(command.name.clone())).chain(args).collect() else {
        return Ok(Some("an argument of the new program is no text".to_owned()));
    };
    say(socket, &Upgrade { upgrade: NewProgram { program: command.program.clone(), args } })?;
    let Upgraded { refused } = understood(&hear(socket)?)?;
    Ok(refused)
}

fn say(socket: &OwnedFd, message: &impl Serialize) -> Result<(), KeeperError> {
    Packet::new(message)
        .and_then(|packet| Ok(packet.send(socket.as_fd(), &[])?))
        .map_err(KeeperError::io("cannot speak to the keeper"))
}

fn hear(socket: &OwnedFd) -> Result<Received, KeeperError> {
    wait_readable(socket)
        .and_then(|()| packet::receive(socket.as_fd())?.ok_or_else(|| io::ErrorKind::UnexpectedEof.into()))
        .map_err(KeeperError::io("the keeper does not answer"))
}

fn understood<T: DeserializeOwned>(received: &Received) -> Result<T, KeeperError> {
    received.message().map_err(|_| KeeperError::Garbled)
}
