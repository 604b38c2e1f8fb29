//! Programs on other machines, over the system's `ssh`.
//!
//! The system's client is what knows the user's configuration: host names, jumps, agents, keys on cards, known hosts.
//! One connection per host, its *master*, is kept for all programs there; each program is a channel of it, through a
//! client of its own under the local backend, whose tty carries size and bytes as they are. What the protocol's client
//! does not tell (the process, how the program ended, that it began at all) the far shell says: see
//! `shared::greeting`. Client and master outlive this server where a keeper holds the client: see `carry`. Where python3
//! is found there, the program outlives its connection too, under a carrier there that is come back to: see `lasting`.
//!
//! # Invariants
//! 1. Nobody is asked anything (`BatchMode`): a host key that is not known, or a password that would be needed, is a
//!    refusal.
//! 2. Neither arguments nor variables of a program stand on a command line, here or there.
//! 3. An end without the word of the far shell, or of the carrier there, is `lost`, whatever code the client ends with.
//! 4. What starts a program is said once: a carrier that cannot be had is known before anything ran.

mod carry;
mod control;
mod frames;
mod lasting;
mod master;

use std::collections::BTreeMap;
use std::future::poll_fn;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use ptyard_core::ErrorCode;
use ptyard_terminal::backend::{
    Abilities, Backend, BoxFuture, Ceilings, CodeKnown, Earlier, EndsWith, Grounds, Io, KillReach, Orphan,
    Placing, Questions, Sink, Source, StartError, StartSpec, Started, Stdin,
};

pub(crate) use self::carry::carry;
use self::control::SshControl;
use self::lasting::{BEGIN, CARRIER};
use self::master::{Host, Hosts};
use crate::shared::carried::{CarriedSink, CarriedSource};
use crate::shared::greeting::{Afterwards, Far, Greeting, Said};
use crate::shared::here::Here;
use crate::shared::{program, start_error, undisturbed};

/// How long a shell there may take to greet, once the connection stands.
const GREETING_LIMIT: Duration = Duration::from_secs(30);

/// Which client, and how.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Client {
    /// A configuration in place of the user's own (`-F`).
    pub configuration: Option<PathBuf>,
    /// The command that calls [`carry`](crate::carry()) with the arguments behind it.
    pub carrier: Vec<String>,
    /// Where the sockets of masters are, for the next server to find; a directory of its own when there is none, or
    /// when its name is too long for a socket.
    pub sockets: Option<PathBuf>,
    /// How long a program goes on there without a connection.
    pub patience: Patience,
}

/// How long a connection that broke is tried to be had again, in whole seconds. A program there is ended when nobody came
/// back for a fifteenth more, and a second at the least.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Patience(pub Duration);

impl Default for Patience {
    fn default() -> Self {
        Self(Duration::from_secs(15 * 60))
    }
}

impl Patience {
    /// How long a carrier there stays: longer than it is come back to from here.
    fn there(self) -> Duration {
        self.0 + (self.0 / 15).max(Duration::from_secs(1))
    }

    /// As `PTYARD_SSH_PATIENCE` says it, in whole seconds.
    #[must_use]
    pub fn from_variables(variable: impl Fn(&str) -> Option<String>) -> Self {
        let seconds = variable("PTYARD_SSH_PATIENCE").and_then(|text| text.trim().parse().ok());
        seconds.map_or_else(Self::default, |seconds| Self(Duration::from_secs(seconds)))
    }
}

/// Runs programs on other machines.
#[derive(Clone)]
pub struct Ssh {
    hosts: Arc<Hosts>,
    /// Where clients run.
    here: Here,
    host: Option<String>,
}

impl Ssh {
    /// Hosts as this client knows them. Nothing is connected yet.
    #[must_use]
    pub fn new(client: Client) -> Self {
        Self { hosts: Arc::new(Hosts::new(client)), here: Here::default(), host: None }
    }

    /// The version of the client, and what hosts are good for, in one line.
    ///
    /// # Errors
    /// When there is no client.
    pub async fn version(&self) -> Result<String, StartError> {
        let version = self.hosts.version().await?;
        Ok(format!("{version}; programs outlive a broken connection at hosts with python3"))
    }
}

impl Backend for Ssh {
    fn name(&self) -> &'static str {
        "ssh"
    }

    fn grounds(&self) -> Grounds {
        Grounds::Elsewhere
    }

    fn abilities(&self) -> Abilities {
        let is_bare = self.host.as_deref().is_some_and(|host| self.hosts.host(host).is_bare());
        Abilities {
            kill: KillReach::Related,
            code: CodeKnown::ShellCode,
            ends_with: if is_bare { EndsWith::Connection } else { EndsWith::Nothing },
            ..Abilities::EVERYTHING
        }
    }

    fn at(self: Arc<Self>, place: &str) -> Result<Arc<dyn Backend>, StartError> {
        let refused = |why: &str| Err(start_error(ErrorCode::InvalidArgument, why));
        if place.is_empty() {
            return refused("ssh needs a host: ssh:HOST");
        }
        if place.starts_with('-') || place.contains(|c: char| c.is_whitespace() || c.is_control()) {
            return refused("the host begins with a dash or holds blanks");
        }
        Ok(Arc::new(Self { host: Some(place.to_owned()), ..Self::clone(&self) }))
    }

    fn start(&self, spec: StartSpec) -> BoxFuture<'_, Result<Started, StartError>> {
        let Self { hosts, here, host } = self.clone();
        Box::pin(undisturbed(async move {
            let host =
                host.ok_or_else(|| start_error(ErrorCode::InvalidArgument, "ssh needs a host: ssh:HOST"))?;
            start(&hosts.host(&host), here.backend().await?, spec).await
        }))
    }

    fn stand_on(&self, local: &Arc<dyn Backend>) {
        self.here.stand_on(local);
    }

    fn take_up(&self, orphan: Orphan) -> Option<Earlier> {
        let host = self.hosts.host(self.host.as_deref()?);
        let Earlier { id, started, unseen_from } = orphan.kept?;
        let sink = started.sink.map(|sink| Box::new(CarriedSink::new(sink, orphan.io)) as Box<dyn Sink>);
        let control = SshControl::new(host, started.control, id, orphan.io);
        // The process id here is the carrier's, and the far one nobody wrote down.
        let started = Started { sink, control: Box::new(control), pid: None, ..started };
        Some(Earlier { id, started, unseen_from })
    }
}

/// Starts a program, under a carrier there if that can be had. Where it cannot, nothing was started by then.
async fn start(host: &Arc<Host>, local: &dyn Backend, spec: StartSpec) -> Result<Started, StartError> {
    if !host.is_bare() {
        match start_once(host, local, &spec, Kind::Lasting).await {
            Err(error) if error.code == ErrorCode::Unsupported => host.found_bare(),
            started => return started,
        }
    }
    start_once(host, local, &spec, Kind::Ending).await
}

/// What becomes of a program when its connection breaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// It ends.
    Ending,
    /// It goes on under a carrier there.
    Lasting,
}

async fn start_once(
    host: &Arc<Host>,
    local: &dyn Backend,
    spec: &StartSpec,
    kind: Kind,
) -> Result<Started, StartError> {
    let (_none, unheld) =
        spec.ceilings.split(|_| Some("nothing there holds programs to limits for us".to_owned()))?;
    let connection = host.connection().await?;
    let mut greeting = match kind {
        Kind::Ending => Greeting::new(spec, &spec.env, Afterwards::Ends, Far::Usual)?,
        Kind::Lasting => {
            program::check(spec)?;
            Greeting::handing_over(|word| program::script(CARRIER, word, &[BEGIN, word]))?
        }
    };
    let io = match spec.io {
        Io::Tty(size) => Io::Tty(size),
        // The far shell reads its script even for a program that reads nothing.
        Io::Pipes(_) => Io::Pipes(Stdin::Pipe),
    };
    let far = format!("exec sh -c '{}'", greeting.greeter());
    let mut argv = host.carrier().to_vec();
    argv.push("ssh".to_owned());
    match kind {
        Kind::Ending => {
            argv.extend([carry::ENDS.to_owned(), greeting.word().to_owned()]);
            argv.extend(connection.client(matches!(io, Io::Tty(_))));
            argv.push(far);
        }
        Kind::Lasting => {
            let patience = host.patience().0.as_secs().to_string();
            argv.extend([carry::LASTS.to_owned(), greeting.word().to_owned(), patience, far]);
            argv.extend(connection.lasting_client());
        }
    }
    let client = StartSpec {
        id: spec.id,
        argv,
        cwd: "/".into(),
        env: connection.environment(),
        io,
        ceilings: Ceilings::default(),
        title: None,
        placing: Placing::Exact,
    };
    let started = local.start(client).await?;
    let (mut source, mut control) = (started.source, started.control);
    let mut sink = started.sink.ok_or_else(|| start_error(ErrorCode::Internal, "the client has no input"))?;

    let order = match kind {
        Kind::Ending => String::new(),
        Kind::Lasting => program::order(spec, host.patience().there()),
    };
    let greeted = greet(&mut *source, &mut *sink, &mut greeting, order.as_bytes());
    let (pid, rest) = match tokio::time::timeout(GREETING_LIMIT, greeted).await {
        Ok(Ok(greeted)) => greeted,
        Ok(Err(error)) if error.code == ErrorCode::BackendUnreachable => {
            let exit =
                tokio::time::timeout(Duration::from_secs(1), poll_fn(|cx| control.poll_exit(cx))).await;
            let message = format!("ssh {}: {} ({exit:?})", host.name(), error.message);
            return Err(start_error(error.code, message));
        }
        Ok(Err(error)) => return Err(error),
        Err(_) => return Err(start_error(ErrorCode::BackendUnreachable, "the far shell does not answer")),
    };
    if spec.io == Io::Pipes(Stdin::Null) {
        let _closed = poll_fn(|cx| sink.poll_close(cx)).await;
    }
    let sink: Option<Box<dyn Sink>> = match spec.io {
        Io::Pipes(Stdin::Null) => None,
        io => Some(Box::new(CarriedSink::new(sink, io))),
    };
    Ok(Started {
        source: Box::new(CarriedSource::new(source, rest)),
        sink,
        control: Box::new(SshControl::new(Arc::clone(host), control, spec.id, spec.io)),
        questions: Questions::Ours,
        pid: Some(pid),
        unheld,
    })
}

/// Sees the program off; its process id, and what came behind the last word.
async fn greet(
    source: &mut dyn Source,
    sink: &mut dyn Sink,
    greeting: &mut Greeting,
    order: &[u8],
) -> Result<(u32, Vec<u8>), StartError> {
    let (mut room, mut rest, mut program) = ([0; 4096], Vec::new(), 0);
    // The shell says that it is ready first, and the carrier in its place then.
    let mut words = [greeting.script().to_vec(), order.to_vec()].into_iter();
    loop {
        let read = poll_fn(|cx| source.poll_read(cx, &mut room)).await.unwrap_or(0);
        if read == 0 {
            return Err(greeting.silence());
        }
        let mut said = greeting.hear(&room[..read], &mut rest);
        while let Some(what) = said {
            match what {
                Said::Ready(_) => {
                    let word = words.next().unwrap_or_default();
                    let mut word = word.as_slice();
                    while !word.is_empty() {
                        let written = poll_fn(|cx| sink.poll_write(cx, word)).await;
                        let written = written.map_err(|_| greeting.silence())?;
                        word = &word[written..];
                    }
                }
                Said::Pid(pid) => program = pid,
                Said::Gone => return Ok((program, rest)),
                Said::Refused(error) => return Err(error),
            }
            said = greeting.hear(b"", &mut rest);
        }
    }
}

/// The connections of all hosts, by the name that was asked for.
type ByName = Mutex<BTreeMap<String, Arc<Host>>>;

fn host_of(hosts: &ByName, name: &str, make: impl FnOnce() -> Host) -> Arc<Host> {
    let mut hosts = hosts.lock().unwrap_or_else(PoisonError::into_inner);
    Arc::clone(hosts.entry(name.to_owned()).or_insert_with(|| Arc::new(make())))
}
