//! One terminal with a scripted program, and short words for what tests do with it.

use std::sync::Arc;
use std::time::Duration;

use ptyard_core::window::{Collected, Condition};
use ptyard_core::{Moment, Size, TerminalId};
use ptyard_terminal::backend::{Io, Placing, StartSpec, Stdin};
use ptyard_terminal::log::{LogConfig, LogWriter};
use ptyard_terminal::{
    Clock, NoObserver, Pauses, Ready, Surroundings, Terminal, TextUse, TimeLimits, WindowCall, WindowCursor,
};
use ptyard_testkit::{Script, ScriptedBackend, soon};

pub(crate) const BOTH: [Io; 2] = [Io::Tty(Size::DEFAULT), Io::Pipes(Stdin::Pipe)];

pub(crate) struct Stage {
    pub(crate) script: Script,
    pub(crate) terminal: Terminal,
    pub(crate) pauses: Pauses,
    pub(crate) clock: Clock,
    _directory: tempfile::TempDir,
}

impl Stage {
    pub(crate) async fn new(io: Io) -> Self {
        Self::limited(io, |_| TimeLimits::default()).await
    }

    /// With limits that count from now on.
    pub(crate) async fn limited(io: Io, limits: impl FnOnce(Moment) -> TimeLimits) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let (script, pauses, clock) = (Script::default(), Pauses::default(), Clock::start());
        let backend = ScriptedBackend::default();
        backend.play(script.clone());
        let spec = StartSpec {
            id: TerminalId::from_bits(7),
            argv: vec!["scripted".to_owned()],
            cwd: "/".into(),
            env: Default::default(),
            io,
            ceilings: Default::default(),
            title: None,
            placing: Placing::Exact,
        };
        let surroundings = Surroundings {
            clock,
            log: LogConfig::default(),
            observer: Arc::new(NoObserver),
            limits: limits(clock.now()),
            pauses: pauses.clone(),
        };
        let log = LogWriter::create(&directory.path().join("t"), LogConfig::default()).unwrap();
        let terminal = Terminal::start(&backend, spec, log, surroundings).await.unwrap();
        Self { script, terminal, pauses, clock, _directory: directory }
    }

    /// The program prints, and the bytes are in the log.
    pub(crate) async fn print(&self, bytes: impl AsRef<[u8]>) {
        let bytes = bytes.as_ref();
        if bytes.is_empty() {
            return;
        }
        let want = self.terminal.progress().borrow().end + bytes.len() as u64;
        self.script.print(bytes);
        self.reaches(want).await;
    }

    /// The actor has done all it can: the paused clock moves only when everybody waits.
    pub(crate) async fn settles(&self) {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }

    pub(crate) async fn reaches(&self, end: u64) {
        let mut progress = self.terminal.progress();
        soon("the log grows", progress.wait_for(|progress| progress.end >= end)).await.unwrap();
    }

    /// A call whose deadline is now.
    pub(crate) fn call_now(&self) -> WindowCall {
        let now = self.clock.now();
        WindowCall {
            cursor: WindowCursor::Shared,
            mark: None,
            cap_tokens: None,
            conditions: Vec::new(),
            quiet_after: Default::default(),
            text: TextUse::Kept,
            started: now,
            deadline: Some(now),
        }
    }

    /// A call that only an end or a condition ends.
    pub(crate) fn call_open(&self) -> WindowCall {
        WindowCall { deadline: None, ..self.call_now() }
    }

    pub(crate) fn call_until(&self, condition: &str) -> WindowCall {
        let condition: Condition = condition.parse().unwrap();
        WindowCall { conditions: vec![condition], ..self.call_open() }
    }

    /// The window there is right now, handed over.
    pub(crate) async fn window(&self) -> Collected {
        self.take(self.call_now()).await
    }

    pub(crate) async fn take(&self, call: WindowCall) -> Collected {
        self.ready(call).await.commit()
    }

    pub(crate) async fn ready(&self, call: WindowCall) -> Ready {
        tokio::time::timeout(Duration::from_secs(600), self.terminal.window(call))
            .await
            .expect("the window ends")
            .unwrap()
    }
}
