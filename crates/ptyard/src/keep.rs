//! Runs the keeper in this process.

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Write};

use ptyard_core::ErrorCode;
use ptyard_terminal::local::keeper::{self, KeeperCommand, KeeperPlace};

use crate::failure::Failure;
use crate::logging::{self, LogFilter};
use crate::state::State;

/// The place of the keeper of `state`.
pub(crate) fn place(state: &State) -> KeeperPlace {
    KeeperPlace::in_state(state.dir())
}

/// How a server starts the keeper of `state`: as this program.
pub(crate) fn command(state: &State, log: Option<&LogFilter>) -> Result<KeeperCommand, Failure> {
    let program = std::env::current_exe()
        .map_err(|error| Failure::new(ErrorCode::Internal, format!("cannot find this program: {error}")))?;
    let mut args = vec!["--state".into(), state.dir().into(), OsString::from("keeper")];
    if let Some(log) = log {
        args.extend(["--log".into(), log.to_string().into()]);
    }
    Ok(KeeperCommand { program, args, place: place(state) })
}

/// Keeps programs until none is left and no server is there.
pub(crate) fn keep(state: &State, log: Option<&LogFilter>) -> Result<(), Failure> {
    logging::to_stderr(log);
    let failed =
        |error: io::Error| Failure::new(ErrorCode::SpawnFailed, format!("the keeper fails: {error}"));
    rustix::process::setsid().map_err(|error| failed(error.into()))?;
    if let Err(error) = ptyard_terminal::local::raise_open_files() {
        tracing::warn!(%error, "the limit of open files stays as it is");
    }
    keeper::run(&place(state), announce).map_err(failed)
}

/// Tells the server that it can come; whoever reads this sees the end of it then.
fn announce() {
    let mut stdout = io::stdout();
    // A server that is gone does not come, and the keeper goes as well after a while.
    let _ = stdout.write_all(keeper::READY).and_then(|()| stdout.flush());
    if let Ok(nowhere) = File::options().write(true).open("/dev/null") {
        let _ = rustix::stdio::dup2_stdout(&nowhere);
    }
}
