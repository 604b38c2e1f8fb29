//! Programs of the tests, without a terminal around them.

use std::future::poll_fn;
use std::sync::Arc;

use ptyard_core::{Exit, Size, TerminalId};
use ptyard_terminal::backend::{Backend, Control, Io, Sink, Source, StartError, StartSpec, Started};
use ptyard_testkit::soon;
use ptyard_testkit::vendors::modal::ModalServer;

use crate::conformance::backend;

pub(crate) const TTY: Io = Io::Tty(Size::DEFAULT);

/// An id that no other program has.
pub(crate) fn id() -> TerminalId {
    let mut random = [0; 16];
    getrandom::fill(&mut random).unwrap();
    TerminalId::from_bits(u128::from_ne_bytes(random))
}

pub(crate) fn spec(id: TerminalId, script: &str, io: Io) -> StartSpec {
    StartSpec {
        id,
        argv: ["sh", "-c", script].map(str::to_owned).into(),
        cwd: "/".into(),
        env: [("PTYARD_TERMINAL".to_owned(), id.to_string())].into(),
        io,
        ceilings: Default::default(),
    }
}

pub(crate) async fn start_at(
    backend: &Arc<dyn Backend>,
    script: &str,
    io: Io,
) -> Result<Started, StartError> {
    soon("the start", backend.start(spec(id(), script, io))).await
}

/// Starts one in a sandbox of its own.
pub(crate) async fn start(server: &ModalServer, script: &str, io: Io) -> Result<Started, StartError> {
    start_at(&backend(server).at("debian:12").unwrap(), script, io).await
}

/// All that is printed from now on.
pub(crate) async fn rest(source: &mut Box<dyn Source>) -> String {
    let (mut all, mut room) = (Vec::new(), [0; 4096]);
    while let Ok(read @ 1..) = soon("output or its end", poll_fn(|cx| source.poll_read(cx, &mut room))).await
    {
        all.extend_from_slice(&room[..read]);
    }
    String::from_utf8_lossy(&all).into_owned()
}

pub(crate) async fn end(control: &mut Box<dyn Control>) -> Exit {
    soon("the end", poll_fn(|cx| control.poll_exit(cx))).await
}

/// Everything that is printed, and the end.
pub(crate) async fn finish(started: &mut Started) -> (String, Exit) {
    (rest(&mut started.source).await, end(&mut started.control).await)
}

pub(crate) async fn read_until(started: &mut Started, what: &str) -> String {
    let (mut all, mut room) = (Vec::new(), [0; 4096]);
    while !String::from_utf8_lossy(&all).contains(what) {
        let read = soon(what, poll_fn(|cx| started.source.poll_read(cx, &mut room))).await.unwrap();
        assert_ne!(read, 0, "the output ended before {what:?}: {:?}", String::from_utf8_lossy(&all));
        all.extend_from_slice(&room[..read]);
    }
    String::from_utf8_lossy(&all).into_owned()
}

/// Has a sink take all of it.
pub(crate) async fn type_in(sink: &mut Option<Box<dyn Sink>>, bytes: &[u8]) {
    let (sink, mut left) = (sink.as_mut().unwrap(), bytes);
    while !left.is_empty() {
        let taken = soon("a write", poll_fn(|cx| sink.poll_write(cx, left))).await.unwrap();
        left = &left[taken..];
    }
}

/// Waits until nothing is left at the vendor.
pub(crate) async fn all_removed(server: &ModalServer) {
    soon("no sandbox is left", async {
        while !server.sandboxes().is_empty() {
            tokio::task::yield_now().await;
        }
    })
    .await;
}
