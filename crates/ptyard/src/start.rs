//! Starts a server when none answers.
//!
//! `start.lock` is held from before a server is started until it listens, so of several commands at once one starts it
//! and the others wait for the lock and find it running. The command that starts it and the new server hold it together
//! (it is the server's stdin until then): neither needs to outlive the other. That it listens is told through a pipe,
//! which is the new server's stdout until then. Nothing is polled.

use std::fs::File;
use std::io::{self, BufRead, BufReader, PipeReader, PipeWriter, Write};
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::time::Duration;

use ptyard_core::ErrorCode;
use ptyard_server::api::ErrorReply;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{FlockOperation, flock};
use rustix::process::{Pid, PidfdFlags, pidfd_open};

use crate::client::{Client, ClientError};
use crate::failure::Failure;
use crate::serve::Begin;
use crate::state::State;
use crate::takeover;

/// What the pipe says when the server listens.
const READY: &str = "ready";
/// How long a new server may take until it listens. It reads back its state first, which can be much.
const START_TIMEOUT: Duration = Duration::from_secs(60);
/// How long one that ends may take: longer than it gives its programs and connections together.
const LAST_LEAVES_WITHIN: Duration = Duration::from_secs(20);
/// How often a server is greeted that leaves before it answers.
const ATTEMPTS: u32 = 5;
/// A log longer than this is set aside (`server.log.1`) before a new server writes to it.
const MAX_LOG_BYTES: u64 = 4 << 20;

/// What to do when no server answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Policy {
    /// Start one.
    Start,
    /// Fail with [`ErrorCode::NoServer`].
    Never,
}

/// Connects to the server of `state`, starting it first if `policy` says so.
///
/// A server that an older version of this program started in the background is replaced by this version.
pub(crate) async fn connect(state: &State, policy: Policy) -> Result<Client, Failure> {
    let mut greeted = Client::greet(&state.socket()).await;
    for _ in 0..ATTEMPTS {
        if !matches!(&greeted, Err(error) if error.is_leaving()) {
            break;
        }
        // Whoever replaces a server holds the lock until the next one listens.
        let place = state.clone();
        let _unlocked = tokio::task::spawn_blocking(move || lock(&place).map(drop)).await;
        greeted = Client::greet(&state.socket()).await;
    }
    let begin = match greeted {
        Err(error) if error.is_no_listener() => Begin::Fresh,
        Err(ClientError::NoServer { socket, source }) => return Err(unreachable_socket(&socket, &source)),
        Ok(client) if policy == Policy::Start && takeover::is_overdue(client.version()) => Begin::Replace,
        other => return Ok(other?.understood()?),
    };
    if policy == Policy::Never {
        return Err(Failure::new(
            ErrorCode::NoServer,
            format!("no server runs in {}", state.dir().display()),
        ));
    }
    let place = state.clone();
    let started = tokio::task::spawn_blocking(move || start(&place, begin)).await;
    started.map_err(|error| {
        Failure::new(ErrorCode::Internal, format!("starting the server failed: {error}"))
    })??;
    Ok(Client::connect(&state.socket()).await?)
}

/// Why a socket cannot even be tried: that no server runs is not known then, and starting one would not help.
fn unreachable_socket(socket: &Path, why: &io::Error) -> Failure {
    let code = match why.kind() {
        io::ErrorKind::PermissionDenied => ErrorCode::StateForeign,
        _ => ErrorCode::StateUnwritable,
    };
    Failure::new(code, format!("{} cannot be used: {why}", socket.display()))
}

/// Starts a server and waits until it listens. Does nothing when another command has done it by the time the lock is
/// ours.
fn start(state: &State, begin: Begin) -> Result<(), Failure> {
    state.prepare()?;
    let server_of = |state: &State| std::fs::read_to_string(state.server_lock()).unwrap_or_default();
    let before = server_of(state);
    let lock = lock(state)?;
    let is_done = match begin {
        Begin::Fresh => UnixStream::connect(state.socket()).is_ok(),
        Begin::Replace => server_of(state) != before,
    };
    if is_done {
        return Ok(());
    }
    let broken =
        |error: io::Error| Failure::new(ErrorCode::SpawnFailed, format!("server cannot be started: {error}"));
    let log = open_log(state)?;
    let (reader, writer) = io::pipe().map_err(broken)?;
    let child = spawn(state, begin, lock, writer, log).map_err(broken)?;
    let outcome = await_ready(state, reader);
    // A long-lived caller reaps its server this way; a short-lived one leaves it to init.
    std::thread::spawn(move || reap(child));
    outcome
}

/// Takes the lock under which servers are started. It is released with the last copy of the file, also when its holders
/// die.
pub(crate) fn lock(state: &State) -> Result<File, Failure> {
    let file = state.open_private(&state.start_lock())?;
    flock(&file, FlockOperation::LockExclusive).map_err(|error| {
        Failure::new(ErrorCode::StateUnwritable, format!("start.lock cannot be locked: {error}"))
    })?;
    Ok(file)
}

fn spawn(state: &State, begin: Begin, lock: File, ready: PipeWriter, log: File) -> io::Result<Child> {
    Command::new(this_program()?)
        .arg0("ptyard")
        .arg("--state")
        .arg(state.dir())
        .args(["serve", "--daemon"])
        .args((begin == Begin::Replace).then_some("--replace"))
        .stdin(lock)
        .stdout(ready)
        .stderr(log)
        .spawn()
}

/// This program, also when another version has taken its place on the disk.
fn this_program() -> io::Result<PathBuf> {
    let path = std::env::current_exe()?;
    Ok(if path.exists() { path } else { "/proc/self/exe".into() })
}

fn open_log(state: &State) -> Result<File, Failure> {
    let path = state.server_log();
    if std::fs::metadata(&path).is_ok_and(|log| log.len() > MAX_LOG_BYTES) {
        // Failing to set it aside only means that it grows further.
        let _ = std::fs::rename(&path, state.dir().join("server.log.1"));
    }
    state.open_private(&path)
}

fn await_ready(state: &State, pipe: PipeReader) -> Result<(), Failure> {
    let died = |why: &str| {
        let message = format!("the server {why} before it was ready");
        Failure::new(ErrorCode::SpawnFailed, message)
            .with_hint(format!("see {}", state.server_log().display()))
    };
    let timeout = Timespec::try_from(START_TIMEOUT).unwrap_or_default();
    let readable = poll(&mut [PollFd::new(&pipe, PollFlags::IN)], Some(&timeout));
    if matches!(readable, Ok(0)) {
        return Err(died("took more than 60 s"));
    }
    let mut line = String::new();
    BufReader::new(pipe).read_line(&mut line).map_err(|error| died(&error.to_string()))?;
    match line.trim_end() {
        READY => Ok(()),
        "" => Err(died("ended")),
        told => {
            Err(serde_json::from_str::<ErrorReply>(told)
                .map_or_else(|_| died(told), |reply| reply.error.into()))
        }
    }
}

fn reap(mut child: Child) {
    // Nothing depends on how it ended: that stands in its log.
    let _ = child.wait();
}

/// The server's side of the pipe: tells whoever started it how starting went, once.
#[derive(Debug)]
pub(crate) struct Readiness {
    log: Option<File>,
}

impl Readiness {
    /// Takes stdout as the pipe; it becomes the log afterwards.
    pub(crate) fn on_stdout(state: &State) -> Result<Self, Failure> {
        Ok(Self { log: Some(state.open_private(&state.server_log())?) })
    }

    /// The server listens.
    pub(crate) fn ready(&mut self) {
        self.tell(READY);
    }

    /// The server will not listen.
    pub(crate) fn failed(&mut self, failure: &Failure) {
        if let Ok(told) = serde_json::to_string(&failure.reply()) {
            self.tell(&told);
        }
    }

    fn tell(&mut self, what: &str) {
        let Some(log) = self.log.take() else { return };
        // If the one who started us is gone, nobody needs to know.
        let _ = writeln!(io::stdout(), "{what}");
        let _ = rustix::stdio::dup2_stdout(&log);
        // The lock goes with stdin. Whoever waits for it finds the server listening, or starts another.
        if let Ok(null) = File::open("/dev/null") {
            let _ = rustix::stdio::dup2_stdin(&null);
        }
    }
}

/// Waits until a server is gone that listens no more and still holds the state: it is ending its programs, or was killed
/// a moment ago.
pub(crate) fn wait_for_the_last(state: &State) {
    let Ok(lock) = File::open(state.server_lock()) else { return };
    if flock(&lock, FlockOperation::NonBlockingLockShared).is_ok() {
        return;
    }
    let holder = io::read_to_string(lock).ok().and_then(|pid| Pid::from_raw(pid.trim().parse().ok()?));
    // One that cannot be looked at is refused by name in a moment.
    let Some(process) = holder.and_then(|pid| pidfd_open(pid, PidfdFlags::empty()).ok()) else { return };
    let timeout = Timespec::try_from(LAST_LEAVES_WITHIN).unwrap_or_default();
    let _ = poll(&mut [PollFd::new(&process, PollFlags::IN)], Some(&timeout));
}
