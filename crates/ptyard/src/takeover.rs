//! Taking the place of a server that runs.
//!
//! ```text
//!   new server                              old server
//!     are state and protocol known?
//!     POST /v1/replace            -->
//!                                 <--         what it leaves
//!                                             takes nothing new, answers whoever waits, lets go, exits
//!     waits for its lock
//!     reaches the keeper, has it become this version, listens
//! ```
//!
//! Programs notice nothing: the keeper has them meanwhile. A client that comes in between waits for `start.lock`, which
//! the new server, or the command that starts it, holds until it listens.

use std::fs::File;
use std::net::SocketAddr;
use std::time::Duration;

use ptyard_core::ErrorCode;
use ptyard_server::api::Version;
use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;

use crate::client::{Client, ClientError};
use crate::failure::Failure;
use crate::state::State;

/// How long a server may take to leave: it gives its connections six seconds.
const LEAVE_LIMIT: Duration = Duration::from_secs(15);

/// Whether a command of this version replaces that server without being told to.
pub(crate) fn is_overdue(server: &Version) -> bool {
    let parse = semver::Version::parse;
    let (theirs, ours) = (parse(&server.version), parse(env!("CARGO_PKG_VERSION")));
    server.background && matches!((theirs, ours), (Ok(theirs), Ok(ours)) if theirs < ours)
}

/// Has the server leave, if one runs, and waits until it has; gives the loopback address that it listened on.
pub(crate) async fn take_over(state: &State) -> Result<Option<SocketAddr>, Failure> {
    // Whoever could not go on from there must not send the other away.
    ptyard_yard::check_state(state.dir()).map_err(|error| Failure::new(error.code(), error.to_string()))?;
    let mut client = match Client::greet(&state.socket()).await {
        Ok(client) => client,
        Err(error) if error.is_no_listener() => return Ok(None),
        Err(error) => return Err(error.into()),
    };
    let Version { version, pid, .. } = client.version().clone();
    let stays = |why: &str| {
        let message = format!("the server (version {version}, pid {pid}) does not leave its place: {why}");
        Failure::new(ErrorCode::Incompatible, message)
    };
    let leaving = match client.replace().await {
        Ok(leaving) => leaving,
        Err(ClientError::Refused(body)) if body.code == ErrorCode::NotFound.as_str() => {
            return Err(stays("it is too old to know how"));
        }
        Err(error) => return Err(stays(&error.to_string())),
    };
    drop(client);
    let lock = state.open_private(&state.server_lock())?;
    if !is_free_within(lock, LEAVE_LIMIT).await {
        return Err(stays("it said that it would, and did not in 15 s"));
    }
    tracing::info!(version, pid, "took the place of a server");
    Ok(leaving.listen.and_then(|address| address.parse().ok()))
}

/// Waits for a lock, and gives it back.
async fn is_free_within(lock: File, limit: Duration) -> bool {
    let waiting = tokio::task::spawn_blocking(move || {
        loop {
            match flock(&lock, FlockOperation::LockExclusive) {
                Err(Errno::INTR) => {}
                done => return done.is_ok(),
            }
        }
    });
    matches!(tokio::time::timeout(limit, waiting).await, Ok(Ok(true)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_older_servers_in_the_background_are_replaced_unasked() {
        let server = |version: &str, background| Version {
            version: version.to_owned(),
            protocol: 1,
            pid: 1,
            state: String::new(),
            background,
        };
        assert!(is_overdue(&server("0.0.9", true)));
        assert!(!is_overdue(&server("0.0.9", false)), "somebody else looks after it");
        assert!(!is_overdue(&server(env!("CARGO_PKG_VERSION"), true)));
        assert!(!is_overdue(&server("999.0.0", true)), "it is newer");
        assert!(!is_overdue(&server("what", true)));
    }
}
