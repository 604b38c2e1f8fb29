//! Commands that do one thing to a program, or to the server.

use std::os::fd::OwnedFd;

use ptyard_core::ErrorCode;
use ptyard_server::api::{Done, KillReply, SignalRequest};
use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags, pidfd_open};

use super::{Place, window};
use crate::args::{KillArgs, SignalArgs};
use crate::client::Client;
use crate::failure::{Failure, status};
use crate::keep;
use crate::print::{self, Format};
use crate::start::{self, Policy};

pub(super) async fn resize(place: &Place, id: &str, size: &str) -> Result<u8, Failure> {
    done(place, &place.client().await?.resize(id, size).await?)
}

pub(super) async fn signal(place: &Place, args: SignalArgs) -> Result<u8, Failure> {
    let request = SignalRequest { signal: args.signal, group: args.group };
    done(place, &place.client().await?.signal(&args.at.id, &request).await?)
}

pub(super) async fn close_stdin(place: &Place, id: &str) -> Result<u8, Failure> {
    done(place, &place.client().await?.close_stdin(id).await?)
}

pub(super) async fn remove(place: &Place, id: &str) -> Result<u8, Failure> {
    done(place, &place.client().await?.remove(id).await?)
}

/// Nothing to say to people: it was done.
fn done(place: &Place, reply: &Done) -> Result<u8, Failure> {
    if place.format == Format::Json {
        print::json(reply)?;
    }
    Ok(status::DONE)
}

pub(super) async fn kill(place: &Place, args: &KillArgs) -> Result<u8, Failure> {
    let reply = place.client().await?.kill(&args.at.id, args.grace).await?;
    place.show(&reply, killed)?;
    if reply.survivors.is_empty() {
        return Ok(status::DONE);
    }
    print::note(&format!("these processes survived: {:?}", reply.survivors));
    Ok(status::FAILED)
}

fn killed(reply: &KillReply) -> String {
    let how = reply.exit.as_ref().map_or_else(|| "ended".to_owned(), window::ended);
    let signal =
        reply.last_signal.map_or_else(String::new, |signal| format!(", the last signal was {signal}"));
    match reply.found {
        0 => format!("{how}; nothing was left to end\n"),
        1 => format!("{how}; 1 process was found{signal}\n"),
        found => format!("{how}; {found} processes were found{signal}\n"),
    }
}

/// Stops the server and returns when its process is gone. It is done when none runs.
pub(super) async fn stop(place: &Place) -> Result<u8, Failure> {
    let mut client = match Client::connect(&place.state.socket()).await {
        Ok(client) => client,
        // A server died, and its programs did not.
        Err(error) if error.is_no_listener() && keep::place(&place.state).is_kept() => {
            start::connect(&place.state, Policy::Start).await?
        }
        Err(error) if error.is_no_listener() => {
            if place.format == Format::Text {
                print::note("no server runs");
            }
            return done(place, &Done { id: None, ok: true });
        }
        Err(error) => return Err(error.into()),
    };
    // Opened while the server answers, so that the pid is still its own.
    let server = process(client.version().pid);
    let reply = client.stop().await?;
    drop(client);
    if let Some(server) = server {
        gone(server).await?;
    }
    done(place, &reply)
}

fn process(pid: u32) -> Option<OwnedFd> {
    let pid = i32::try_from(pid).ok().and_then(Pid::from_raw)?;
    pidfd_open(pid, PidfdFlags::empty()).ok()
}

/// Waits until the process is gone: its descriptor is readable then.
async fn gone(process: OwnedFd) -> Result<(), Failure> {
    let waiting = tokio::task::spawn_blocking(move || {
        loop {
            match poll(&mut [PollFd::new(&process, PollFlags::IN)], None) {
                Err(Errno::INTR) => {}
                other => return other.map_err(std::io::Error::from),
            }
        }
    });
    let waited = waiting.await.map_err(std::io::Error::from).flatten();
    waited
        .map(drop)
        .map_err(|error| Failure::new(ErrorCode::Internal, format!("waiting for the server: {error}")))
}
