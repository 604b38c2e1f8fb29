//! A yard in a directory of its own, and short words for what tests do with it.

use ptyard_core::{Size, TerminalId};
use ptyard_terminal::Pauses;
use ptyard_terminal::backend::{Io, Stdin};
use ptyard_testkit::{Script, ScriptedBackend};
use ptyard_yard::{
    ExecSpec, Program, TerminalRef, TypedInput, Window, WindowSpec, WriteSpec, Yard, YardConfig,
};

pub(crate) struct Stage {
    pub(crate) yard: Yard,
    pub(crate) backend: ScriptedBackend,
    pub(crate) pauses: Pauses,
    pub(crate) directory: tempfile::TempDir,
}

impl Stage {
    /// A yard with real programs.
    pub(crate) fn real() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let config = YardConfig::new(directory.path().join("state"));
        let pauses = config.pauses.clone();
        Self { yard: Yard::open(config).unwrap(), backend: ScriptedBackend::default(), pauses, directory }
    }

    /// A yard whose programs are scripts.
    pub(crate) fn scripted() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let config = YardConfig::new(directory.path().join("state"));
        let pauses = config.pauses.clone();
        let backend = ScriptedBackend::default();
        let yard = Yard::with_backends(config, vec![Box::new(backend.clone())]).unwrap();
        Self { yard, backend, pauses, directory }
    }

    /// A scripted program that runs.
    pub(crate) async fn play(&self) -> (TerminalRef, Script) {
        let script = Script::default();
        self.backend.play(script.clone());
        let window =
            self.yard.exec(exec(&["scripted"], Io::Pipes(Stdin::Pipe), brief())).await.unwrap().commit();
        (TerminalRef::Id(window.id), script)
    }

    pub(crate) fn log_directory(&self, id: TerminalId) -> std::path::PathBuf {
        self.directory.path().join("state/terminals").join(id.to_string())
    }
}

pub(crate) fn tty() -> Io {
    Io::Tty(Size::DEFAULT)
}

pub(crate) const PIPES: Io = Io::Pipes(Stdin::Null);

/// A window that ends at once.
pub(crate) fn brief() -> WindowSpec {
    WindowSpec { yield_ms: Some(0), max_tokens: None, until: vec!["exit".to_owned()] }
}

/// A window that ends when `condition` holds, and fails the test's patience long after.
pub(crate) fn until(condition: &str) -> WindowSpec {
    WindowSpec { yield_ms: Some(20_000), max_tokens: None, until: vec![condition.to_owned()] }
}

pub(crate) fn exec(argv: &[&str], io: Io, window: WindowSpec) -> ExecSpec {
    ExecSpec {
        program: Program::Argv(argv.iter().map(|arg| (*arg).to_owned()).collect()),
        backend: None,
        name: None,
        io,
        cwd: Some("/".into()),
        env: Default::default(),
        caller_env: Default::default(),
        policy: None,
        limits: Default::default(),
        naming: Default::default(),
        window,
    }
}

pub(crate) fn sh(text: &str, io: Io, window: WindowSpec) -> ExecSpec {
    exec(&["sh", "-c", text], io, window)
}

pub(crate) fn poll(window: WindowSpec) -> WriteSpec {
    WriteSpec { window, ..WriteSpec::default() }
}

pub(crate) fn chars(text: &str, window: WindowSpec) -> WriteSpec {
    WriteSpec { input: Some(TypedInput::Bytes(text.as_bytes().to_vec())), window, ..WriteSpec::default() }
}

pub(crate) fn paste(text: &str, window: WindowSpec) -> WriteSpec {
    WriteSpec { input: Some(TypedInput::Paste(text.to_owned())), window, ..WriteSpec::default() }
}

pub(crate) fn keys(names: &str, window: WindowSpec) -> WriteSpec {
    WriteSpec { input: Some(TypedInput::Keys(names.to_owned())), window, ..WriteSpec::default() }
}

/// A window of a few tokens.
pub(crate) fn capped(max_tokens: i64, window: WindowSpec) -> WindowSpec {
    WindowSpec { max_tokens: Some(max_tokens), ..window }
}

/// An interactive shell without anybody's settings, at its prompt.
pub(crate) async fn bash(stage: &Stage) -> Window {
    let spec = ExecSpec {
        cwd: Some(stage.directory.path().to_owned()),
        ..exec(&["bash", "--norc", "--noprofile", "-i"], tty(), until("prompt"))
    };
    let window = run(&stage.yard, spec).await;
    assert_eq!(window.ended_by, "prompt", "{window:?}");
    window
}

/// Types, and hands the window over.
pub(crate) async fn write(yard: &Yard, window: &Window, spec: WriteSpec) -> Window {
    yard.write(&at(window), spec).await.unwrap().commit()
}

/// Waits for a condition in output from `since` on.
pub(crate) async fn wait(
    yard: &Yard,
    window: &Window,
    condition: &str,
    since: Option<u64>,
    at_most_ms: u64,
) -> ptyard_yard::WaitOutcome {
    let at_most = std::time::Duration::from_millis(at_most_ms);
    yard.wait(&at(window), &[condition.to_owned()], since, Some(at_most)).await.unwrap()
}

/// Everything the log holds.
pub(crate) async fn log(yard: &Yard, window: &Window) -> Vec<u8> {
    let mut bytes: Vec<u8> = Vec::new();
    loop {
        let part = yard.read(&at(window), Some(bytes.len() as u64), 1 << 20).await.unwrap();
        assert_eq!(part.evicted, 0);
        if part.data.is_empty() {
            return bytes;
        }
        bytes.extend(part.data);
    }
}

pub(crate) fn code(window: &Window) -> Option<i32> {
    window.exit.as_ref().and_then(|exit| exit.code)
}

pub(crate) async fn kill(yard: &Yard, window: &Window) -> ptyard_yard::KillOutcome {
    yard.kill(&at(window), Some(std::time::Duration::ZERO)).await.unwrap()
}

pub(crate) async fn run(yard: &Yard, spec: ExecSpec) -> Window {
    yard.exec(spec).await.unwrap().commit()
}

pub(crate) fn at(window: &Window) -> TerminalRef {
    TerminalRef::Id(window.id)
}
