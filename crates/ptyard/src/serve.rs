//! Runs the server in this process.

use std::fs::File;
use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use ptyard_core::ErrorCode;
use ptyard_server::{CAO_ALIAS, Ground, Served, Server, ServerConfig};
use ptyard_terminal::local::keeper::UpgradeFrom;
use ptyard_yard::{Yard, YardConfig};
use tokio::signal::unix::{SignalKind, signal};
use tokio_util::sync::CancellationToken;

use crate::failure::Failure;
use crate::keep;
use crate::logging::{self, LogFilter};
use crate::mcp;
use crate::places;
use crate::print::Format;
use crate::run::Place;
use crate::start::{self, Policy, Readiness};
use crate::state::State;
use crate::takeover;

/// How long the keeper may take to go after the last program and the server.
const KEEPER_LIMIT: Duration = Duration::from_secs(2);

/// What a server does about one that runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Begin {
    /// It does not start.
    Fresh,
    /// It takes its place.
    Replace,
}

/// What the one who runs a server may say.
#[derive(Debug)]
pub(crate) struct ServeOptions {
    /// Where it runs.
    pub(crate) ground: Ground,
    /// What it does about one that runs.
    pub(crate) begin: Begin,
    /// A loopback address to listen on as well.
    pub(crate) listen: Option<SocketAddr>,
    /// A loopback address for the clients of CLI Agent Orchestrator.
    pub(crate) cao: Option<SocketAddr>,
    /// How much it logs, and its keeper.
    pub(crate) log: Option<LogFilter>,
}

/// Who waits for the server to listen.
enum Watcher {
    /// Commands that found no server and wait for this lock instead of starting another.
    Lock(Option<File>),
    /// The command that started this server, on the other end of the pipe; it holds the lock.
    Pipe(Readiness),
}

impl Watcher {
    fn ready(&mut self) {
        match self {
            Self::Lock(lock) => drop(lock.take()),
            Self::Pipe(pipe) => pipe.ready(),
        }
    }

    fn failed(&mut self, failure: &Failure) {
        if let Self::Pipe(pipe) = self {
            pipe.failed(failure);
        }
    }
}

/// Serves until a signal or `ptyard stop` ends it.
pub(crate) fn serve(state: &State, options: &ServeOptions) -> Result<(), Failure> {
    logging::to_stderr(options.log.as_ref());
    state.prepare()?;
    let mut watcher = match options.ground {
        Ground::Foreground => Watcher::Lock(Some(start::lock(state)?)),
        Ground::Background => Watcher::Pipe(Readiness::on_stdout(state)?),
    };
    let outcome = detach(options.ground).and_then(|()| run(state, options, &mut watcher));
    outcome.inspect_err(|failure| watcher.failed(failure))
}

/// Leaves the caller's session and directory, so that neither ends with the other.
fn detach(ground: Ground) -> Result<(), Failure> {
    if ground == Ground::Foreground {
        return Ok(());
    }
    let failed = |error: io::Error| {
        Failure::new(ErrorCode::SpawnFailed, format!("cannot go into the background: {error}"))
    };
    rustix::process::setsid().map_err(|error| failed(error.into()))?;
    std::env::set_current_dir("/").map_err(failed)
}

fn run(state: &State, options: &ServeOptions, watcher: &mut Watcher) -> Result<(), Failure> {
    if let Err(error) = ptyard_terminal::local::raise_open_files() {
        tracing::warn!(%error, "the limit of open files stays as it is");
    }
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .map_err(|error| Failure::new(ErrorCode::Internal, format!("no event loop: {error}")))?;
    let served = match runtime.block_on(host(state, options, watcher)) {
        // Everything is as after a crash, which the next server knows how to go on from, but that nobody was cut off.
        Ok(Served::Leaving(_yard)) => std::process::exit(0),
        Ok(Served::Stopped) => Ok(()),
        Err(failure) => {
            // Dropping the runtimes would end the programs of the server before: they are for one that can start.
            std::mem::forget(runtime);
            return Err(failure);
        }
    };
    // With it go the last descriptors of programs, and the connection to the keeper.
    drop(runtime);
    if served.is_ok() && !keep::place(state).wait_until_gone(KEEPER_LIMIT) {
        tracing::warn!("the keeper goes on: it keeps something that could not be ended");
    }
    served
}

/// Ready when a signal asks the server to stop.
fn stop_signals() -> io::Result<impl Future<Output = ()>> {
    let mut terminate = signal(SignalKind::terminate())?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    let mut hangup = signal(SignalKind::hangup())?;
    Ok(async move {
        tokio::select! {
            _ = terminate.recv() => {}
            _ = interrupt.recv() => {}
            _ = hangup.recv() => {}
        }
    })
}

async fn host(state: &State, options: &ServeOptions, watcher: &mut Watcher) -> Result<Served, Failure> {
    let stop = stop_signals()
        .map_err(|error| Failure::new(ErrorCode::Internal, format!("no signal handlers: {error}")))?;
    let (left, upgrade) = match options.begin {
        Begin::Fresh => (None, UpgradeFrom::Older),
        Begin::Replace => (takeover::take_over(state).await?, UpgradeFrom::Any),
    };
    if options.ground == Ground::Background {
        start::wait_for_the_last(state);
    }
    let config = YardConfig {
        keeper: Some(keep::command(state, options.log.as_ref(), upgrade)),
        // By its path, where the next version will be when agents start it.
        program: std::env::current_exe().ok(),
        alias: options.cao.map(|_| CAO_ALIAS),
        elsewhere: places::backends(state),
        ..YardConfig::new(state.dir())
    };
    let yard = Yard::open(config).map_err(|error| Failure::new(error.code(), error.to_string()))?;
    let config = ServerConfig {
        socket: state.socket(),
        listen: options.listen.or(left),
        cao: options.cao.map(places::cao),
        ground: options.ground,
        ..ServerConfig::in_state(state.dir().to_owned())
    };
    let stopping = CancellationToken::new();
    let place = Place { state: state.clone(), policy: Policy::Never, format: Format::Json };
    let server = match Server::bind(config, yard.clone(), mcp::router(&place, stopping.clone())) {
        Ok(server) => server,
        Err(error) => {
            yard.let_go();
            return Err(Failure::new(error.code(), error.to_string()));
        }
    };
    drop(yard);
    let stops = server.stopping();
    tokio::spawn(async move {
        stops.await;
        stopping.cancel();
    });
    if let Some(address) = server.tcp_address() {
        tracing::info!(%address, "listening; the token is in the state directory's file `token`");
    }
    if let Some(address) = server.cao_address() {
        tracing::info!(cao = %address, "listening for clients of CLI Agent Orchestrator");
    }
    watcher.ready();
    Ok(server.serve(stop).await)
}
