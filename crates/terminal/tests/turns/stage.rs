//! One terminal with an agent in it, played by a script or by the scripted agent.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use ptyard_core::turn::{AttemptId, Hold, Outcome, Status};
use ptyard_core::{Size, TerminalId};
use ptyard_screen::keys::parse;
use ptyard_terminal::agent::{Agent, DispatchError, Mail, Recipe, TurnEvent, TurnEvents};
use ptyard_terminal::backend::{Backend, Io, Placing, StartSpec};
use ptyard_terminal::local::LocalBackend;
use ptyard_terminal::local::env::clean_environment;
use ptyard_terminal::log::{LogConfig, LogWriter};
use ptyard_terminal::{Clock, NoObserver, Pauses, Surroundings, Terminal, TimeLimits, Typed};
use ptyard_testkit::agent::{Record, program};
use ptyard_testkit::{Script, ScriptedBackend, any_id, soon};

use crate::judge::Sketch;

const TTY: Io = Io::Tty(Size::DEFAULT);

/// A terminal with an agent.
pub(crate) struct Stage {
    pub(crate) terminal: Terminal,
    pub(crate) turns: TurnEvents,
    pub(crate) directory: tempfile::TempDir,
}

async fn start(backend: &dyn Backend, spec: StartSpec, recipe: Recipe) -> Stage {
    let directory = tempfile::tempdir().unwrap();
    let surroundings = Surroundings {
        clock: Clock::start(),
        log: LogConfig::default(),
        observer: Arc::new(NoObserver),
        limits: TimeLimits::default(),
        pauses: Pauses::default(),
    };
    let log = LogWriter::create(&directory.path().join("t"), LogConfig::default()).unwrap();
    let terminal = Terminal::start(backend, spec, log, surroundings).await.unwrap();
    let turns = terminal.attend(Agent::new(Box::new(Sketch::default()), recipe)).await.unwrap();
    Stage { terminal, turns, directory }
}

impl Stage {
    pub(crate) async fn offer(&self, attempt: u64, text: &str) -> Result<(), Hold> {
        let mail = Mail { attempt: attempt_id(attempt), text: text.to_owned() };
        match soon("an answer to a dispatch", self.terminal.dispatch(mail)).await {
            Ok(()) => Ok(()),
            Err(DispatchError::Held(hold)) => Err(hold),
            Err(other) => panic!("{other}"),
        }
    }

    /// Offers until it is taken, again whenever the agent is ready; the number of the attempt that was.
    pub(crate) async fn hand_over(&mut self, mut attempt: u64, text: &str) -> u64 {
        while self.offer(attempt, text).await.is_err() {
            self.ready().await;
            attempt += 1;
        }
        attempt
    }

    pub(crate) async fn event(&mut self, what: &str) -> TurnEvent {
        soon(what, self.turns.next()).await.unwrap_or_else(|| panic!("no more events; waiting for {what}"))
    }

    pub(crate) async fn ready(&mut self) {
        while self.event("ready").await != TurnEvent::Ready {}
    }

    /// The next outcome.
    pub(crate) async fn outcome(&mut self) -> (AttemptId, Outcome) {
        loop {
            if let TurnEvent::Outcome(attempt, outcome) = self.event("an outcome").await {
                return (attempt, outcome);
            }
        }
    }

    pub(crate) async fn delivered(&mut self, attempt: u64) {
        let (which, outcome) = self.outcome().await;
        assert!(matches!(outcome, Outcome::Delivered(_)), "{which} {outcome:?}");
        assert_eq!(which, attempt_id(attempt));
    }

    pub(crate) async fn status(&self, wanted: Status) {
        let mut status = self.terminal.status();
        let waiting = status.wait_for(|report| report.as_ref().is_some_and(|report| report.status == wanted));
        soon(wanted.as_str(), waiting).await.unwrap();
    }

    pub(crate) async fn type_in(&self, bytes: &str) {
        self.terminal.type_in(Typed::raw(bytes.as_bytes().to_vec())).await.unwrap();
    }
}

/// An agent that a test plays.
pub(crate) struct Played {
    pub(crate) script: Script,
    pub(crate) stage: Stage,
}

/// The scripted agent's screen.
pub(crate) fn screen(working: &str, composer: &str) -> String {
    format!("\x1b[H\x1b[2Jagent\r\n{working}\r\n> {composer}\r\n  ? for help")
}

impl Played {
    pub(crate) async fn new() -> Self {
        Self::stopped_by("").await
    }

    /// One whose turns are stopped by these keys.
    pub(crate) async fn stopped_by(keys: &str) -> Self {
        let (script, backend) = (Script::default(), ScriptedBackend::default());
        backend.play(script.clone());
        let spec = StartSpec {
            id: TerminalId::from_bits(7),
            argv: vec!["agent".to_owned()],
            cwd: "/".into(),
            env: BTreeMap::default(),
            io: TTY,
            ceilings: Default::default(),
            title: None,
            placing: Placing::Exact,
        };
        let recipe = Recipe { interrupt: parse(keys).unwrap(), ..Recipe::default() };
        let stage = start(&backend, spec, recipe).await;
        Self { script, stage }
    }

    /// It draws its screen, and that is in the log.
    pub(crate) async fn draws(&self, working: &str, composer: &str) {
        self.prints(&screen(working, composer)).await;
    }

    pub(crate) async fn prints(&self, bytes: &str) {
        let mut progress = self.stage.terminal.progress();
        let want = progress.borrow().end + bytes.len() as u64;
        self.script.print(bytes);
        soon("the log grows", progress.wait_for(|progress| progress.end >= want)).await.unwrap();
    }

    /// Waits until so many bytes of input came. The clock of these tests moves when everybody waits.
    pub(crate) async fn input(&self, wanted: &str) {
        let came = async {
            while String::from_utf8_lossy(&self.script.input()) != wanted {
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
        };
        let waited = tokio::time::timeout(Duration::from_secs(60), came).await;
        assert!(waited.is_ok(), "{:?} is not {wanted:?}", String::from_utf8_lossy(&self.script.input()));
    }
}

/// The scripted agent in a real terminal.
pub(crate) struct Real {
    pub(crate) record: Record,
    pub(crate) stage: Stage,
}

impl Real {
    pub(crate) async fn new(toml: &str) -> Self {
        let directory = tempfile::tempdir().unwrap().keep();
        let record = directory.join("record");
        let id = any_id();
        let argv = [program().to_str().unwrap(), "--toml", toml, "--record", record.to_str().unwrap()];
        let spec = StartSpec {
            id,
            argv: argv.map(str::to_owned).to_vec(),
            cwd: directory,
            env: clean_environment(id, &BTreeMap::new(), &BTreeMap::new(), TTY),
            io: TTY,
            ceilings: Default::default(),
            title: None,
            placing: Placing::Exact,
        };
        let backend = LocalBackend::new().unwrap();
        Self { stage: start(&backend, spec, Recipe::default()).await, record: Record::at(record) }
    }
}

/// The id of an attempt by its number.
pub(crate) fn attempt_id(number: u64) -> AttemptId {
    AttemptId::new(number)
}
