//! Programs of tests of backends, at the seam of a backend: without a terminal around them.

use std::future::poll_fn;

use ptyard_core::{Exit, TerminalId};
use ptyard_terminal::backend::{Io, StartSpec, Started};

use crate::soon;

/// A shell script to start.
///
/// # Panics
/// When there is no chance in this machine.
#[must_use]
pub fn spec(script: &str, io: Io) -> StartSpec {
    let mut random = [0; 16];
    getrandom::fill(&mut random).expect("random bytes");
    let id = TerminalId::from_bits(u128::from_ne_bytes(random));
    StartSpec {
        id,
        argv: ["sh", "-c", script].map(str::to_owned).into(),
        cwd: "/".into(),
        env: [("PTYARD_TERMINAL".to_owned(), id.to_string())].into(),
        io,
        ceilings: Default::default(),
    }
}

/// Everything that is printed from now on, and the end.
pub async fn finish(started: &mut Started) -> (String, Exit) {
    let (mut all, mut room) = (Vec::new(), [0; 4096]);
    while let Ok(read @ 1..) =
        soon("output or its end", poll_fn(|cx| started.source.poll_read(cx, &mut room))).await
    {
        all.extend_from_slice(&room[..read]);
    }
    let exit = soon("the end", poll_fn(|cx| started.control.poll_exit(cx))).await;
    (String::from_utf8_lossy(&all).into_owned(), exit)
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
