//! Runs the server in this process.

use ptyard_core::ErrorCode;
use tokio::signal::unix::{Signal, SignalKind, signal};

use crate::failure::Failure;
use crate::start::{self, Readiness};
use crate::state::State;

/// Where a server runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ground {
    /// In the caller's terminal.
    Foreground,
    /// In a session of its own, with the log as its output.
    Background,
}

/// Serves until a signal or `ptyard stop` ends it.
pub(crate) fn serve(state: &State, ground: Ground) -> Result<(), Failure> {
    match ground {
        Ground::Foreground => {
            state.prepare()?;
            // Commands that find no server meanwhile wait for this lock instead of starting another.
            let lock = start::lock(state)?;
            run(state, move || {
                drop(lock);
                crate::print::note("ready");
            })
        }
        Ground::Background => {
            let mut readiness = Readiness::on_stdout(state)?;
            detach();
            let mut told = readiness.clone_for_failure()?;
            run(state, move || readiness.ready()).inspect_err(|failure| told.failed(failure))
        }
    }
}
