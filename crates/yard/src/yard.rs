//! The yard itself: what it is made of, and how it opens.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use ptyard_core::ErrorCode;
use ptyard_store::sqlite::SqliteStore;
use ptyard_store::{Owner, Store};
use ptyard_terminal::backend::Backend;
use ptyard_terminal::local::LocalBackend;
use ptyard_terminal::local::keeper::KeeperCommand;
use ptyard_terminal::log::LogConfig;
use ptyard_terminal::{Clock, Pauses, TerminalError};

use crate::agents::Alias;
use crate::agents::team::Team;
use crate::entry::Entry;
use crate::error::YardError;
use crate::events::{EventStream, Events};
use crate::flows::{Calendar, Flows, WallCalendar};
use crate::ids;
use crate::inbox::Ended;
use crate::lane::Lanes;
use crate::life::Teardowns;
use crate::registry::Registry;
use crate::spec::{Info, TerminalRef};
use crate::state::StateDir;

/// Where a yard keeps its state and how much it may use.
#[derive(Clone)]
pub struct YardConfig {
    /// The state directory; made if it is missing.
    pub state: PathBuf,
    /// Limits of each terminal's log.
    pub log: LogConfig,
    /// Most programs that run at once. Each needs about five descriptors of the server.
    pub max_running: usize,
    /// How the keeper of the programs is started, so that they outlive the server; without one they are children of
    /// this process, and end with it.
    pub keeper: Option<KeeperCommand>,
    /// The program `ptyard`, which agents are given as an MCP server that speaks for them; without one they get none.
    pub program: Option<PathBuf>,
    /// How another program's clients know agents, when there are such clients.
    pub alias: Option<Alias>,
    /// The clock that flows go by.
    pub calendar: Arc<dyn Calendar>,
    /// Backends beside the one of this machine.
    pub elsewhere: Vec<Arc<dyn Backend>>,
    /// Pause points for tests.
    pub pauses: Pauses,
}

impl YardConfig {
    /// The usual limits, with the state in `state`.
    #[must_use]
    pub fn new(state: impl Into<PathBuf>) -> Self {
        Self {
            state: state.into(),
            log: LogConfig::default(),
            max_running: 4_000,
            keeper: None,
            program: None,
            alias: None,
            calendar: Arc::new(WallCalendar),
            elsewhere: Vec::new(),
            pauses: Pauses::default(),
        }
    }
}

/// A running yard. Clones share it; when the last one is dropped, every program is ended.
#[derive(Clone)]
pub struct Yard {
    pub(crate) inner: Arc<Inner>,
}

pub(crate) struct Inner {
    pub(crate) config: YardConfig,
    pub(crate) state: StateDir,
    pub(crate) clock: Clock,
    pub(crate) backends: BTreeMap<&'static str, Arc<dyn Backend>>,
    pub(crate) store: Arc<dyn Store>,
    /// Under which name this life of the server works on the store.
    pub(crate) owner: Owner,
    pub(crate) events: Events,
    /// Terminals whose mail will not be delivered any more.
    pub(crate) ended: Ended,
    pub(crate) registry: Mutex<Registry>,
    pub(crate) team: Team,
    pub(crate) flows: Flows,
    /// Teardowns under way. They are owned here, so that no caller can abandon one; shutdown waits for them.
    pub(crate) teardowns: Teardowns,
    /// Last, because what is above lives on them.
    pub(crate) lanes: Lanes,
}

impl Yard {
    /// Opens the state directory (made if missing, 0700) and locks it. Terminals of an earlier server go on when a
    /// keeper kept their programs. Others are shown as ended, cause `lost` unless their end was written down, with
    /// their logs readable.
    ///
    /// Must be called within a tokio runtime.
    pub fn open(config: YardConfig) -> Result<Self, YardError> {
        let state = StateDir::open(&config.state)?;
        let refused = |code, message| YardError::State { code, message };
        // Before the keeper hands programs over: whatever fails behind that would end them.
        let records = Records::open(&state)?;
        let lanes = lanes()?;
        let in_a_lane = lanes.enter();
        let local = match &config.keeper {
            None => LocalBackend::new().map_err(|error| {
                let message = format!("programs cannot be kept together on this machine: {error}");
                refused(ErrorCode::Internal, message)
            })?,
            Some(keeper) => LocalBackend::kept(keeper.clone(), config.log)
                .map_err(|error| refused(error.code(), error.to_string()))?,
        };
        let local: Arc<dyn Backend> = Arc::new(local);
        for backend in &config.elsewhere {
            backend.stand_on(&local);
        }
        let mut backends = vec![local];
        backends.extend(config.elsewhere.iter().cloned());
        drop(in_a_lane);
        Self::assemble(config, state, records, lanes, backends)
    }

    /// The same with other backends.
    pub fn with_backends(config: YardConfig, backends: Vec<Box<dyn Backend>>) -> Result<Self, YardError> {
        let state = StateDir::open(&config.state)?;
        let records = Records::open(&state)?;
        Self::assemble(config, state, records, lanes()?, backends.into_iter().map(Arc::from).collect())
    }

    fn assemble(
        config: YardConfig,
        state: StateDir,
        Records { store, events }: Records,
        lanes: Lanes,
        backends: Vec<Arc<dyn Backend>>,
    ) -> Result<Self, YardError> {
        let inner = Inner {
            clock: Clock::start(),
            backends: backends.into_iter().map(|backend| (backend.name(), backend)).collect(),
            store,
            owner: Owner::new(ids::new_owner()),
            events,
            ended: Ended::default(),
            registry: Mutex::default(),
            team: Team::default(),
            flows: Flows::new(Arc::clone(&config.calendar)),
            teardowns: Teardowns::default(),
            state,
            config,
            lanes,
        };
        let yard = Self { inner: Arc::new(inner) };
        match yard.find_earlier_terminals().and_then(|()| yard.find_earlier_mail()) {
            Ok(()) => {
                yard.settle_dead_letters();
                yard.attend_earlier_members();
                yard.resume_handoffs();
                yard.resume_flow_runs();
                yard.start_flows();
                yard.follow_manifests();
                Ok(yard)
            }
            Err(error) => {
                yard.let_go();
                Err(error)
            }
        }
    }

    /// Gives everything up without ending a program: for a process that is about to exit, and leaves the programs to the
    /// keeper. What is in memory is not freed.
    pub fn let_go(self) {
        std::mem::forget(self);
    }

    pub(crate) fn registry(&self) -> MutexGuard<'_, Registry> {
        self.inner.registry.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn find(&self, at: &TerminalRef) -> Result<Arc<Entry>, YardError> {
        self.registry().find(at)
    }

    /// How many short ids are used up: those of terminals there are, and those that somebody was told.
    #[must_use]
    pub fn short_ids_in_use(&self) -> usize {
        self.registry().short_ids.in_use()
    }

    /// All terminals, oldest first.
    #[must_use]
    pub fn list(&self) -> Vec<Info> {
        let entries: Vec<_> = self.registry().all().cloned().collect();
        entries.iter().map(|entry| entry.info(&self.inner.clock)).collect()
    }

    /// One terminal.
    pub fn info(&self, at: &TerminalRef) -> Result<Info, YardError> {
        Ok(self.find(at)?.info(&self.inner.clock))
    }

    /// Events with a number greater than `since`; `None` is from now on.
    #[must_use]
    pub fn events(&self, since: Option<u64>) -> EventStream {
        self.inner.events.since(since)
    }

    /// How many tasks terminals have, for whoever looks for leaks.
    #[must_use]
    pub fn tasks(&self) -> usize {
        self.inner.lanes.tasks()
    }

    /// Nothing is called so; what is, is said.
    pub(crate) fn no_backend(&self, name: &str) -> YardError {
        let there = self.inner.backends.values().map(|backend| backend.name()).collect();
        YardError::UnknownBackend { name: name.to_owned(), there }
    }

    /// The backend that `text` names, at the place behind its colon if there is one: `docker:IMAGE`.
    pub(crate) fn backend(&self, text: &str) -> Result<Arc<dyn Backend>, YardError> {
        let (name, place) = text.split_once(':').unwrap_or((text, ""));
        let backend = self.inner.backends.get(name).ok_or_else(|| self.no_backend(text))?;
        Ok(Arc::clone(backend).at(place).map_err(TerminalError::from)?)
    }
}

/// What is written down.
struct Records {
    store: Arc<dyn Store>,
    events: Events,
}

impl Records {
    fn open(state: &StateDir) -> Result<Self, YardError> {
        let store: Arc<dyn Store> = Arc::new(SqliteStore::open(state.store())?);
        let events = Events::open(Arc::clone(&store), state.events_given())?;
        Ok(Self { store, events })
    }
}

fn lanes() -> Result<Lanes, YardError> {
    Lanes::open().map_err(|error| YardError::State {
        code: ErrorCode::Internal,
        message: format!("no thread for terminals can be started: {error}"),
    })
}
