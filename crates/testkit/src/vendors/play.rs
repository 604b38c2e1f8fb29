//! Programs of tests of backends, at the seam of a backend: without a terminal around them.

use std::future::poll_fn;
use std::sync::Arc;
use std::task::Poll;

use ptyard_core::{Exit, TerminalId};
use ptyard_terminal::backend::{Backend, Control, Io, Placing, Sink, Source, StartSpec, Started};

pub use crate::any_id;
use crate::conformance::Ground;
use crate::soon;

/// What one of these variables says.
pub fn among(variables: Vec<(&'static str, String)>) -> impl Fn(&str) -> Option<String> {
    move |name| variables.iter().find(|(known, _)| *known == name).map(|(_, value)| value.clone())
}

/// A place at a vendor for the conformance suite; `cut` breaks the connections to its server.
pub fn ground(
    label: &'static str,
    backend: Arc<dyn Backend>,
    cut: impl Fn() + Send + Sync + 'static,
) -> Ground {
    Ground {
        label,
        backend,
        env: [("TERM".to_owned(), "xterm-256color".to_owned())].into(),
        cwd: "/".into(),
        placing: Placing::Loose,
        cut: Some(Box::new(move || {
            cut();
            Box::pin(async {})
        })),
    }
}

/// A shell script to start.
#[must_use]
pub fn spec(script: &str, io: Io) -> StartSpec {
    spec_of(any_id(), script, io)
}

/// The same by this id.
#[must_use]
pub fn spec_of(id: TerminalId, script: &str, io: Io) -> StartSpec {
    StartSpec {
        id,
        argv: ["sh", "-c", script].map(str::to_owned).into(),
        cwd: "/".into(),
        env: [("PTYARD_TERMINAL".to_owned(), id.to_string())].into(),
        io,
        ceilings: Default::default(),
        title: None,
        placing: Placing::Exact,
    }
}

/// All that is printed from now on.
pub async fn rest(source: &mut dyn Source) -> String {
    let (mut all, mut room) = (Vec::new(), [0; 4096]);
    while let Ok(read @ 1..) = soon("output or its end", poll_fn(|cx| source.poll_read(cx, &mut room))).await
    {
        all.extend_from_slice(&room[..read]);
    }
    String::from_utf8_lossy(&all).into_owned()
}

/// How a program ends.
pub async fn end(control: &mut dyn Control) -> Exit {
    soon("the end", poll_fn(|cx| control.poll_exit(cx))).await
}

/// Everything that is printed from now on, and the end.
pub async fn finish(started: &mut Started) -> (String, Exit) {
    (rest(started.source.as_mut()).await, end(started.control.as_mut()).await)
}

/// The end, of a program whose output nobody wants: it may come with the output, so that is read meanwhile.
pub async fn exit(started: &mut Started) -> Exit {
    let Started { source, control, .. } = started;
    let mut room = [0; 4096];
    let both = poll_fn(|cx| {
        while let Poll::Ready(Ok(1..)) = source.poll_read(cx, &mut room) {}
        control.poll_exit(cx)
    });
    soon("the end", both).await
}

/// What is printed until this has come.
///
/// # Panics
/// When it does not come.
pub async fn read_until(started: &mut Started, what: &str) -> String {
    let (mut all, mut room) = (Vec::new(), [0; 4096]);
    while !String::from_utf8_lossy(&all).contains(what) {
        let read = soon(what, poll_fn(|cx| started.source.poll_read(cx, &mut room))).await.expect("output");
        assert_ne!(read, 0, "the output ended before {what:?}: {:?}", String::from_utf8_lossy(&all));
        all.extend_from_slice(&room[..read]);
    }
    String::from_utf8_lossy(&all).into_owned()
}

/// Types once: as much as is taken.
///
/// # Errors
/// What the input says.
///
/// # Panics
/// When the program has no input.
pub async fn type_in(started: &mut Started, bytes: &[u8]) -> std::io::Result<usize> {
    let sink = started.sink.as_mut().expect("an input");
    soon("a write", poll_fn(|cx| sink.poll_write(cx, bytes))).await
}

/// Has an input take all of it.
///
/// # Panics
/// When it does not.
pub async fn type_all(sink: &mut dyn Sink, mut bytes: &[u8]) {
    while !bytes.is_empty() {
        let taken = soon("a write", poll_fn(|cx| sink.poll_write(cx, bytes))).await.expect("it is taken");
        bytes = &bytes[taken..];
    }
}
