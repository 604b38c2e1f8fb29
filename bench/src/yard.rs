//! ptyard in this process.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use ptyard_core::{Size, TerminalId};
use ptyard_terminal::backend::Io;
use ptyard_terminal::local::keeper::{KeeperCommand, KeeperPlace, UpgradeFrom};
use ptyard_yard::{
    ExecSpec, Program, TerminalRef, TypedInput, Window, WindowSpec, WriteSpec, Yard, YardConfig,
};
use tempfile::TempDir;

use crate::Outcome;

/// A yard on a state directory that goes away with it.
pub(crate) struct InProcess {
    pub(crate) yard: Yard,
    _state: TempDir,
}

impl InProcess {
    pub(crate) fn open() -> Outcome<Self> {
        let state = tempfile::tempdir()?;
        Ok(Self { yard: Yard::open(YardConfig::new(state.path()))?, _state: state })
    }

    /// The same with a keeper as the parent of its programs, which `ptyard` is.
    pub(crate) fn kept(ptyard: &Path) -> Outcome<Self> {
        let state = tempfile::tempdir()?;
        let keeper = KeeperCommand {
            program: ptyard.to_owned(),
            name: "ptyard".to_owned(),
            args: vec!["--state".into(), state.path().into(), "keeper".into()],
            place: KeeperPlace::in_state(state.path()),
            upgrade: UpgradeFrom::Older,
        };
        let config = YardConfig { keeper: Some(keeper), ..YardConfig::new(state.path()) };
        Ok(Self { yard: Yard::open(config)?, _state: state })
    }

    /// Starts a program on a tty and takes the first window.
    pub(crate) async fn exec(&self, argv: &[&str], window: WindowSpec) -> Outcome<Window> {
        let spec = ExecSpec {
            program: Program::Argv(argv.iter().map(ToString::to_string).collect()),
            backend: None,
            name: None,
            io: Io::Tty(Size::DEFAULT),
            cwd: None,
            env: BTreeMap::new(),
            caller_env: BTreeMap::new(),
            policy: None,
            limits: Default::default(),
            naming: ptyard_yard::Naming::default(),
            window,
        };
        Ok(self.yard.exec(spec).await?.commit())
    }

    /// Types and takes a window.
    pub(crate) async fn write(&self, at: TerminalId, bytes: Vec<u8>, window: WindowSpec) -> Outcome<Window> {
        let spec = WriteSpec { input: Some(TypedInput::Bytes(bytes)), window, ..WriteSpec::default() };
        Ok(self.yard.write(&TerminalRef::Id(at), spec).await?.commit())
    }

    /// Ends every program.
    pub(crate) async fn close(self) {
        self.yard.shutdown().await;
    }
}

/// A window that ends at `until`, shows at most 50 tokens, and waits at most `longest`.
pub(crate) fn until(until: &str, longest: Duration) -> WindowSpec {
    WindowSpec {
        yield_ms: Some(i64::try_from(longest.as_millis()).unwrap_or(i64::MAX)),
        max_tokens: Some(50),
        until: vec![until.to_owned()],
    }
}
