//! One connection, from the first byte to the last.

use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::http::Request;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::{Service as _, service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::listen::Listener;
use crate::peer::{Entrance, Peer, Socket};
use crate::stop::Stop;

/// How long a peer may take to send a request's head, or stay silent between two. Clients of ours connect anew when they
/// call again after that.
const HEAD_WITHIN: Duration = Duration::from_secs(30);

/// How many connections of other users are refused at once, with a word each; further ones are closed without.
const STRANGERS: usize = 8;

/// How long another user may take to send a request that is refused.
const STRANGER_WITHIN: Duration = Duration::from_secs(2);

/// Bytes a connection buffers in each direction.
const BUFFER_BYTES: usize = 64 << 10;

/// How long to leave the listener alone when the process has no descriptors left: nothing tells when it has again.
const NO_DESCRIPTORS_PAUSE: Duration = Duration::from_millis(200);

/// Takes connections until the stop, as many at once as there are places; further peers wait in the backlog.
pub(crate) async fn accept(listener: Listener, places: Arc<Semaphore>, router: Router, stop: Stop) {
    let strangers = Arc::new(Semaphore::new(STRANGERS));
    let taking = async {
        loop {
            let mut place =
                Arc::clone(&places).acquire_owned().await.expect("invariant: the places are never closed");
            match listener.accept().await {
                Ok((socket, entrance)) => {
                    if matches!(entrance, Entrance::Stranger) {
                        tracing::warn!("refused a connection of another user");
                        // Places of their own, so that others cannot use up the user's.
                        let Ok(strangers_place) = Arc::clone(&strangers).try_acquire_owned() else {
                            continue;
                        };
                        place = strangers_place;
                    }
                    tokio::spawn(serve(socket, entrance, place, router.clone(), stop.clone()));
                }
                Err(error) if is_of_the_peer(&error) => {}
                Err(error) => {
                    tracing::warn!(%error, "a connection could not be taken");
                    tokio::time::sleep(NO_DESCRIPTORS_PAUSE).await;
                }
            }
        }
    };
    tokio::select! {
        () = taking => {}
        () = stop.requested() => {}
    }
}

/// Whether a connection broke before it was taken.
fn is_of_the_peer(error: &std::io::Error) -> bool {
    use std::io::ErrorKind as Kind;
    matches!(error.kind(), Kind::ConnectionAborted | Kind::ConnectionReset | Kind::Interrupted)
}

/// Serves a peer until it leaves, the stop has let its last request end, or the cut.
async fn serve(socket: Socket, entrance: Entrance, place: OwnedSemaphorePermit, router: Router, stop: Stop) {
    let is_kept_open = !matches!(entrance, Entrance::Stranger);
    let head_within = match entrance {
        Entrance::Unix | Entrance::Tcp(_) => HEAD_WITHIN,
        Entrance::Stranger => STRANGER_WITHIN,
    };
    let (wire, peer) = Peer::split(socket, entrance, place);
    let routed = TowerToHyperService::new(router);
    let service = service_fn(move |mut request: Request<Incoming>| {
        request.extensions_mut().insert(peer.clone());
        routed.call(request)
    });
    let connection = http1::Builder::new()
        .keep_alive(is_kept_open)
        // Law 3: a peer that closed while it waits is noticed at once, and its call dropped.
        .half_close(false)
        .max_buf_size(BUFFER_BYTES)
        .timer(TokioTimer::new())
        .header_read_timeout(head_within)
        .serve_connection(TokioIo::new(wire), service)
        .with_upgrades();
    let mut connection = std::pin::pin!(connection);
    let ended = tokio::select! {
        ended = connection.as_mut() => ended,
        () = stop.requested() => {
            connection.as_mut().graceful_shutdown();
            tokio::select! {
                ended = connection => ended,
                () = stop.cut_off() => return,
            }
        }
    };
    if let Err(error) = ended {
        tracing::debug!(%error, "a connection ended early");
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::UnixStream;
    use tokio::time::Instant;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_head_that_never_ends_and_a_silent_peer_are_cut_on_the_unix_socket_too() {
        for (entrance, within) in [(Entrance::Unix, HEAD_WITHIN), (Entrance::Stranger, STRANGER_WITHIN)] {
            for begun in ["", "GET /healthz HTTP/1.1\r\nhost: loc"] {
                let (mut far, near) = UnixStream::pair().unwrap();
                let place = Arc::new(Semaphore::new(1)).try_acquire_owned().unwrap();
                let served = serve(Socket::Unix(near), entrance.clone(), place, Router::new(), Stop::new());
                let began = Instant::now();
                far.write_all(begun.as_bytes()).await.unwrap();
                served.await;
                assert_eq!(began.elapsed().as_secs(), within.as_secs(), "{begun:?}");
                let mut rest = Vec::new();
                far.read_to_end(&mut rest).await.unwrap();
            }
        }
    }
}
