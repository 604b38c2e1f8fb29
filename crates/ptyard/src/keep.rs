//! Runs the keeper in this process.

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Write};
use std::os::fd::RawFd;

use ptyard_core::ErrorCode;
use ptyard_terminal::local::Containment;
use ptyard_terminal::local::keeper::{self, KeeperCommand, KeeperPlace, UpgradeFrom};

use crate::failure::{Failure, status};
use crate::logging::{self, LogFilter};
use crate::print;
use crate::state::State;

/// The place of the keeper of `state`.
pub(crate) fn place(state: &State) -> KeeperPlace {
    KeeperPlace::in_state(state.dir())
}

/// How a server starts the keeper of `state`: as this program.
///
/// Not by its path, where another version may be by then: a keeper that is started late is this version too.
pub(crate) fn command(state: &State, log: Option<&LogFilter>, upgrade: UpgradeFrom) -> KeeperCommand {
    let program = format!("/proc/{}/exe", std::process::id()).into();
    let mut args = vec!["--state".into(), state.dir().into(), OsString::from("keeper")];
    if let Some(log) = log {
        args.extend(["--log".into(), log.to_string().into()]);
    }
    KeeperCommand { program, name: "ptyard".to_owned(), args, place: place(state), upgrade }
}

/// Keeps programs until none is left and no server is there.
pub(crate) fn keep(state: &State, log: Option<&LogFilter>) -> Result<(), Failure> {
    logging::to_stderr(log);
    let failed =
        |error: io::Error| Failure::new(ErrorCode::SpawnFailed, format!("the keeper fails: {error}"));
    name_this_process();
    rustix::process::setsid().map_err(|error| failed(error.into()))?;
    if let Err(error) = ptyard_terminal::local::raise_open_files() {
        tracing::warn!(%error, "the limit of open files stays as it is");
    }
    keeper::run(&place(state), containment(), announce).map_err(failed)
}

/// `PTYARD_CONTAINMENT=walk` does without cgroups where they could be had.
fn containment() -> Containment {
    match std::env::var(keeper::CONTAINMENT_VARIABLE).as_deref() {
        Ok("walk") => Containment::Walk,
        _ => Containment::Cgroup,
    }
}

/// Goes on as the keeper that this process was before it executed this program.
pub(crate) fn resume(state: &State, estate: RawFd, log: Option<&LogFilter>) -> Result<(), Failure> {
    logging::to_stderr(log);
    name_this_process();
    keeper::resume(&place(state), estate).map_err(|error| {
        Failure::new(ErrorCode::IncompatibleKeeper, format!("the keeper cannot go on: {error}"))
    })
}

/// Says on stdout, and by the exit status, whether [`resume`] can take the estate on stdin.
pub(crate) fn check() -> Result<u8, Failure> {
    match keeper::check() {
        Ok(()) => Ok(status::DONE),
        Err(why) => {
            print::bytes(why.as_bytes())?;
            Ok(status::FAILED)
        }
    }
}

/// It was executed by another name than its own: see [`command`].
fn name_this_process() {
    // Only people would miss it.
    let _ = rustix::thread::set_name(c"ptyard");
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
