//! Test support: a backend whose programs do exactly what a test says, when it says so, a stand-in for a coding agent and
//! for a server of its [`events`], [`places`] where programs run, and the [`conformance`] suite that every backend has to
//! pass. With the feature `model` also a model for real agent CLIs, and with `vendors` servers that speak as vendors of
//! sandboxes do.

pub mod agent;
pub mod conformance;
pub mod events;
#[cfg(feature = "model")]
pub mod model;
pub mod places;
mod scripted;
#[cfg(feature = "vendors")]
pub mod vendors;

pub use scripted::{Script, ScriptedBackend};

use std::time::Duration;

use ptyard_core::TerminalId;

/// How long a test waits for something that must happen before it calls it a failure. Generous: machines are shared.
pub const PATIENCE: Duration = Duration::from_secs(20);

/// Waits for `future`, and fails the test with `what` when it takes longer than [`PATIENCE`].
///
/// # Panics
/// When the time is up.
pub async fn soon<F: Future>(what: &str, future: F) -> F::Output {
    match tokio::time::timeout(PATIENCE, future).await {
        Ok(output) => output,
        Err(_) => panic!("this did not happen in {PATIENCE:?}: {what}"),
    }
}

/// An id that no other program has, whoever starts it: a backend ends everything that bears the mark of an id, and tests of
/// one process run at the same time.
///
/// # Panics
/// When there is no chance in this machine.
#[must_use]
pub fn any_id() -> TerminalId {
    let mut random = [0; 16];
    getrandom::fill(&mut random).expect("random bytes");
    TerminalId::from_bits(u128::from_ne_bytes(random))
}

/// How long until something is looked at again of which no event tells.
const LOOK_AGAIN: Duration = Duration::from_millis(2);

/// Waits until something holds of which no event tells: what a server of the tests counts, what `/proc` shows.
///
/// # Panics
/// As [`soon`].
pub async fn until(what: &str, mut holds: impl FnMut() -> bool) {
    soon(what, async {
        while !holds() {
            tokio::time::sleep(LOOK_AGAIN).await;
        }
    })
    .await;
}
