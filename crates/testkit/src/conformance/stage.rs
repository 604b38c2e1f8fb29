//! One terminal with a real program, and short words for what cases do with it.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use ptyard_core::window::{Collected, Condition};
use ptyard_core::{Exit, Size};
use ptyard_terminal::backend::{
    Ceilings, Io, KillReach, MissingDirectory, OutputForm, StartSpec, Stdin, Streams,
};
use ptyard_terminal::log::{LogConfig, LogWriter};
use ptyard_terminal::{
    Clock, Killed, KilledBy, NoObserver, Pauses, Surroundings, Terminal, TerminalError, TextUse, Typed,
    WindowCall, WindowCursor,
};

use super::Ground;
use crate::{any_id, soon};

pub(super) const TTY: Io = Io::Tty(Size::DEFAULT);
pub(super) const PIPES: Io = Io::Pipes(Stdin::Null);
pub(super) const PIPES_WITH_STDIN: Io = Io::Pipes(Stdin::Pipe);

/// What makes a tty as transparent as a pipe.
const RAW: &str = "stty raw -echo; ";

/// A number that no other process on this machine has among its arguments.
pub(super) fn unique() -> u32 {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    // Seconds of a sleep: the process id keeps test programs that run at the same time apart.
    10_000_000 + (std::process::id() % 100_000) * 1000 + NEXT.fetch_add(1, Ordering::Relaxed)
}

/// The processes with this among their arguments that have not ended.
pub(super) fn living(mark: u32) -> Vec<u32> {
    let mark = mark.to_string();
    processes_with(|pid| {
        std::fs::read(format!("/proc/{pid}/cmdline"))
            .is_ok_and(|line| line.split(|&byte| byte == 0).any(|word| word == mark.as_bytes()))
    })
}

/// The processes whose command line holds `text` anywhere.
pub(super) fn showing(text: &str) -> Vec<u32> {
    processes_with(|pid| {
        std::fs::read(format!("/proc/{pid}/cmdline"))
            .is_ok_and(|line| String::from_utf8_lossy(&line).contains(text))
    })
}

fn processes_with(holds: impl Fn(u32) -> bool) -> Vec<u32> {
    let entries = std::fs::read_dir("/proc").expect("/proc can be read");
    entries
        .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok())
        .filter(|&pid| holds(pid) && !is_zombie(pid))
        .collect()
}

fn is_zombie(pid: u32) -> bool {
    std::fs::read_to_string(format!("/proc/{pid}/stat"))
        .is_ok_and(|stat| stat.rsplit(')').next().is_some_and(|rest| rest.trim_start().starts_with('Z')))
}

/// Waits until no process has this among its arguments. There is no event for processes of others, so it looks again.
pub(super) async fn all_gone(mark: u32) {
    soon("the processes are gone", async {
        while !living(mark).is_empty() {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    })
    .await;
}

/// Waits until `count` processes have this among their arguments.
pub(super) async fn all_there(mark: u32, count: usize) {
    soon("the processes are there", async {
        while living(mark).len() < count {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    })
    .await;
}

/// Ends the processes with this among their arguments: the case's own, by their number.
pub(super) fn clear(mark: u32) {
    for pid in living(mark) {
        let _gone = std::process::Command::new("kill").args(["-KILL", &pid.to_string()]).status();
    }
}

impl Ground {
    /// The streams to try a case with.
    pub(super) fn all_io(&self) -> Vec<Io> {
        match self.backend.abilities().streams {
            Streams::TtyAndPipes => vec![TTY, PIPES_WITH_STDIN, PIPES],
            Streams::TtyOnly => vec![TTY],
        }
    }

    pub(super) fn has_pipes(&self) -> bool {
        self.backend.abilities().streams == Streams::TtyAndPipes
    }

    /// Whether the log holds the program's own bytes.
    pub(super) fn is_exact(&self) -> bool {
        self.backend.abilities().output == OutputForm::Bytes
    }

    /// Whether a working directory that does not exist is made, as an engine does for a container of its own.
    pub(super) fn makes_directories(&self) -> bool {
        self.backend.abilities().directory == MissingDirectory::IsMade
    }

    pub(super) fn kills_trees(&self) -> bool {
        self.backend.abilities().kill != KillReach::Terminal
    }

    pub(super) fn spec(&self, argv: &[&str], io: Io) -> StartSpec {
        let id = any_id();
        let mut env = self.env.clone();
        env.insert("PTYARD_TERMINAL".to_owned(), id.to_string());
        let argv = argv.iter().map(|&arg| arg.to_owned()).collect();
        StartSpec {
            id,
            argv,
            cwd: self.cwd.clone(),
            env,
            io,
            ceilings: Ceilings::default(),
            title: None,
            placing: self.placing,
        }
    }

    /// Starts a shell script whose tty, if it has one, changes no byte.
    pub(super) async fn raw(&self, io: Io, script: &str) -> Stage {
        let raw = if matches!(io, Io::Tty(_)) { RAW } else { "" };
        self.script(io, &format!("{raw}{script}")).await
    }

    /// Starts a shell script.
    pub(super) async fn script(&self, io: Io, script: &str) -> Stage {
        self.start(self.spec(&["sh", "-c", script], io)).await.expect("the program starts")
    }

    pub(super) async fn start(&self, spec: StartSpec) -> Result<Stage, TerminalError> {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let clock = Clock::start();
        let surroundings = Surroundings {
            clock,
            log: LogConfig::default(),
            limits: Default::default(),
            observer: Arc::new(NoObserver),
            pauses: Pauses::default(),
        };
        let log = LogWriter::create(&directory.path().join("t"), LogConfig::default())?;
        let start = Terminal::start(self.backend.as_ref(), spec, log, surroundings);
        let terminal = soon("the start", start).await?;
        Ok(Stage { terminal, clock, _directory: directory })
    }
}

pub(super) struct Stage {
    pub(super) terminal: Terminal,
    pub(super) clock: Clock,
    _directory: tempfile::TempDir,
}

impl Stage {
    /// The window there is right now.
    pub(super) fn call_now(&self) -> WindowCall {
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

    /// A window that a condition ends, or the end.
    pub(super) fn call_until(&self, condition: &str) -> WindowCall {
        let condition: Condition = condition.parse().expect("a condition");
        WindowCall { conditions: vec![condition], deadline: None, ..self.call_now() }
    }

    pub(super) async fn take(&self, call: WindowCall) -> Collected {
        soon("the window ends", self.terminal.window(call)).await.expect("the log can be read").commit()
    }

    /// Takes a window that ends at this text, and says what was in it.
    pub(super) async fn until(&self, text: &str) -> String {
        let literal: String = text
            .chars()
            .flat_map(|c| r"\.+*?()|[]{}^$#&-~".contains(c).then_some('\\').into_iter().chain([c]))
            .collect();
        let window = self.take(self.call_until(&format!("regex:{literal}"))).await;
        let shown = window.text.clone();
        assert!(shown.contains(text), "{text:?} is not in {shown:?}, which ended with {:?}", window.exit);
        shown
    }

    /// Takes a window at most this long.
    pub(super) async fn for_ms(&self, ms: u64) -> Collected {
        let deadline = Some(self.clock.now() + Duration::from_millis(ms));
        self.take(WindowCall { deadline, ..self.call_now() }).await
    }

    pub(super) async fn exit(&self) -> Exit {
        let mut progress = self.terminal.progress();
        let sealed = soon("the end", progress.wait_for(|progress| progress.sealed.is_some())).await;
        sealed.expect("the terminal is there").sealed.as_ref().expect("sealed").exit.clone()
    }

    /// Everything in the log so far.
    pub(super) fn logged(&self) -> Vec<u8> {
        let end = self.terminal.log().bounds().end;
        let (mut at, mut bytes) = (0, Vec::new());
        while at < end {
            let read = self.terminal.log().read(at, 1 << 20, &mut bytes).expect("the log can be read");
            assert_eq!((read.from, read.evicted), (at, 0));
            at = bytes.len() as u64;
        }
        bytes
    }

    /// The whole output and the end.
    pub(super) async fn finish(&self) -> (Vec<u8>, Exit) {
        let exit = self.exit().await;
        (self.logged(), exit)
    }

    pub(super) async fn write(&self, bytes: impl AsRef<[u8]>) {
        let typed = Typed::raw(bytes.as_ref().to_vec());
        let written = soon("the write is taken", self.terminal.type_in(typed)).await.expect("a write");
        assert_eq!(written.taken, bytes.as_ref().len());
    }

    pub(super) async fn kill(&self, grace: Duration) -> Killed {
        soon("the kill", self.terminal.kill(grace, KilledBy("kill"))).await
    }
}
