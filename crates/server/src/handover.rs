//! A window on its way to the caller.
//!
//! Law 3: the cursor moves in the same step that hands the window over. That step is here: the connection asks the
//! reply's body for its next part, and the last part and the move of the cursor leave together. Everything before
//! (a caller who left while waiting, while the reply was made, or while a long reply was on its way) drops the
//! [`Delivery`] as it is, and the next window begins where this one did.

use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;

use axum::body::Body;
use axum::http::{HeaderValue, header};
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use http_body::{Frame, SizeHint};
use ptyard_core::ErrorCode;
use ptyard_yard::Delivery;
use tokio::task::AbortHandle;

use crate::api::WindowReply;
use crate::error::ApiError;
use crate::peer::Peer;

/// Bytes per part. The connection buffers one or two parts, so a caller that left before the last 128 KiB or so of a
/// long reply was taken has cost nothing.
const PART_BYTES: usize = 64 << 10;

/// How long a caller may take to accept a reply. A delivery holds up the other callers of the same terminal, so a
/// caller that stopped reading must not hold one for good; its window goes to whoever asks next.
const TAKE_WITHIN: Duration = Duration::from_secs(30);

/// Something that is delivered by one last step.
pub(crate) trait Undelivered: Send + 'static {
    /// The last step.
    fn deliver(self);
}

impl Undelivered for Delivery {
    fn deliver(self) {
        let _ = self.commit();
    }
}

/// Why a reply was cut off.
#[derive(Debug, thiserror::Error)]
enum Undone {
    #[error("the caller left before the window was handed over")]
    Left,
    #[error("the caller did not take the window in {} s", TAKE_WITHIN.as_secs())]
    Stalled,
}

/// A reply that holds a delivery until its last part is taken.
pub(crate) struct Handover {
    delivery: Delivery,
    peer: Peer,
}

impl Handover {
    /// A reply to `peer`.
    pub(crate) const fn new(delivery: Delivery, peer: Peer) -> Self {
        Self { delivery, peer }
    }
}

impl IntoResponse for Handover {
    fn into_response(self) -> Response {
        match serde_json::to_vec(&WindowReply::from(self.delivery.window())) {
            Ok(json) => {
                let body = HandoverBody::new(json.into(), self.delivery, self.peer);
                let mut response = Response::new(Body::new(body));
                response
                    .headers_mut()
                    .insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
                response
            }
            Err(error) => {
                ApiError::new(ErrorCode::Internal, format!("the window is not JSON: {error}")).into_response()
            }
        }
    }
}

/// The body of such a reply.
///
/// # Invariants
/// 1. While bytes are left, nothing was delivered.
/// 2. The delivery is gone exactly when the last part was given, the caller was seen to be gone, or the time is up.
struct HandoverBody<D> {
    left: Bytes,
    /// Shared with the timer, which takes it when the time is up.
    held: Arc<Mutex<Option<D>>>,
    peer: Peer,
    timer: AbortHandle,
}

impl<D: Undelivered> HandoverBody<D> {
    fn new(bytes: Bytes, delivery: D, peer: Peer) -> Self {
        debug_assert!(!bytes.is_empty(), "invariant: a reply has a last part to deliver with");
        let held = Arc::new(Mutex::new(Some(delivery)));
        let timer = tokio::spawn({
            let held = Arc::clone(&held);
            async move {
                tokio::time::sleep(TAKE_WITHIN).await;
                drop(take(&held));
            }
        });
        Self { left: bytes, held, peer, timer: timer.abort_handle() }
    }

    fn next_part(&mut self) -> Result<Bytes, Undone> {
        if !self.peer.is_present() {
            drop(take(&self.held));
            return Err(Undone::Left);
        }
        let part = self.left.split_to(self.left.len().min(PART_BYTES));
        let mut held = self.held.lock().unwrap_or_else(PoisonError::into_inner);
        if held.is_none() {
            return Err(Undone::Stalled);
        }
        if self.left.is_empty()
            && let Some(delivery) = held.take()
        {
            delivery.deliver();
        }
        Ok(part)
    }
}

fn take<D>(held: &Mutex<Option<D>>) -> Option<D> {
    held.lock().unwrap_or_else(PoisonError::into_inner).take()
}

impl<D: Undelivered> http_body::Body for HandoverBody<D> {
    type Data = Bytes;
    type Error = axum::BoxError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::BoxError>>> {
        if self.left.is_empty() {
            return Poll::Ready(None);
        }
        Poll::Ready(Some(self.next_part().map(Frame::data).map_err(Into::into)))
    }

    fn is_end_stream(&self) -> bool {
        self.left.is_empty()
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.left.len() as u64)
    }
}

impl<D> Drop for HandoverBody<D> {
    fn drop(&mut self) {
        self.timer.abort();
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicBool, Ordering};

    use futures_util::task::noop_waker_ref;

    use super::*;
    use crate::peer::Entrance;
    use crate::peer::tests::connected;

    struct Probe(Arc<AtomicBool>);

    impl Undelivered for Probe {
        fn deliver(self) {
            self.0.store(true, Ordering::SeqCst);
        }
    }

    fn next<D: Undelivered>(body: &mut HandoverBody<D>) -> Option<Result<usize, String>> {
        let mut cx = Context::from_waker(noop_waker_ref());
        match http_body::Body::poll_frame(Pin::new(body), &mut cx) {
            Poll::Ready(frame) => frame.map(|frame| {
                frame
                    .map(|f| f.into_data().expect("only data frames are made").len())
                    .map_err(|error| error.to_string())
            }),
            Poll::Pending => panic!("a handover never waits"),
        }
    }

    fn probe() -> (Arc<AtomicBool>, Probe) {
        let delivered = Arc::new(AtomicBool::new(false));
        (Arc::clone(&delivered), Probe(delivered))
    }

    #[tokio::test]
    async fn law_03_the_cursor_moves_with_the_last_part_and_not_before() {
        let (_far, _wire, peer) = connected(Entrance::Unix);
        let (delivered, probe) = probe();
        let mut body = HandoverBody::new(vec![b'x'; 2 * PART_BYTES + 1].into(), probe, peer);
        for _ in 0..2 {
            assert_eq!(next(&mut body), Some(Ok(PART_BYTES)));
            assert!(!delivered.load(Ordering::SeqCst));
        }
        assert_eq!(next(&mut body), Some(Ok(1)));
        assert!(delivered.load(Ordering::SeqCst));
        assert_eq!(next(&mut body), None);
    }

    #[tokio::test]
    async fn law_03_a_reply_dropped_halfway_costs_nothing() {
        let (_far, _wire, peer) = connected(Entrance::Unix);
        let (delivered, probe) = probe();
        let mut body = HandoverBody::new(vec![b'x'; PART_BYTES + 1].into(), probe, peer);
        assert_eq!(next(&mut body), Some(Ok(PART_BYTES)));
        drop(body);
        assert!(!delivered.load(Ordering::SeqCst));
    }

    #[tokio::test]
    async fn law_03_a_caller_that_closed_its_socket_in_this_instant_costs_nothing() {
        let (far, _wire, peer) = connected(Entrance::Unix);
        let (delivered, probe) = probe();
        let mut body = HandoverBody::new(Bytes::from_static(b"{}"), probe, peer);
        drop(far);
        assert!(next(&mut body).is_some_and(|part| part.is_err()));
        assert!(!delivered.load(Ordering::SeqCst));
        assert_eq!(Arc::strong_count(&delivered), 1, "the delivery is let go at once");
    }

    #[tokio::test(start_paused = true)]
    async fn a_caller_that_stops_reading_does_not_hold_the_window_for_good() {
        let (_far, _wire, peer) = connected(Entrance::Unix);
        let (delivered, probe) = probe();
        let mut body = HandoverBody::new(vec![b'x'; PART_BYTES + 1].into(), probe, peer);
        assert_eq!(next(&mut body), Some(Ok(PART_BYTES)));
        tokio::time::sleep(TAKE_WITHIN + Duration::from_millis(1)).await;
        assert_eq!(Arc::strong_count(&delivered), 1, "the delivery is let go");
        assert!(next(&mut body).is_some_and(|part| part.is_err()));
        assert!(!delivered.load(Ordering::SeqCst));
    }
}
