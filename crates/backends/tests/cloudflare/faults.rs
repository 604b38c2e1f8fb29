//! What networks and vendors do to clients.

use std::future::poll_fn;
use std::sync::Arc;

use ptyard_backends::cloudflare::{Cloudflare, Settings};
use ptyard_core::{Cause, ErrorCode, Exit, Size, TerminalId};
use ptyard_terminal::backend::{Backend, Io, StartError, StartSpec, Started, Stdin};
use ptyard_testkit::soon;
use ptyard_testkit::vendors::cloudflare::{CloudflareServer, Faults, Refusal};

use crate::conformance::backend;

const TTY: Io = Io::Tty(Size::DEFAULT);

fn spec(script: &str, io: Io) -> StartSpec {
    let mut random = [0; 16];
    getrandom::fill(&mut random).unwrap();
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

async fn start(server: &CloudflareServer, script: &str, io: Io) -> Result<Started, StartError> {
    let backend = backend(server).at("").unwrap();
    soon("the start", backend.start(spec(script, io))).await
}

/// Everything that is printed, and the end.
async fn finish(started: &mut Started) -> (String, Exit) {
    let (mut all, mut room) = (Vec::new(), [0; 4096]);
    while let Ok(read @ 1..) =
        soon("output or its end", poll_fn(|cx| started.source.poll_read(cx, &mut room))).await
    {
        all.extend_from_slice(&room[..read]);
    }
    let exit = soon("the end", poll_fn(|cx| started.control.poll_exit(cx))).await;
    (String::from_utf8_lossy(&all).into_owned(), exit)
}

async fn read_until(started: &mut Started, what: &str) -> String {
    let (mut all, mut room) = (Vec::new(), [0; 4096]);
    while !String::from_utf8_lossy(&all).contains(what) {
        let read = soon(what, poll_fn(|cx| started.source.poll_read(cx, &mut room))).await.unwrap();
        assert_ne!(read, 0, "the output ended before {what:?}: {:?}", String::from_utf8_lossy(&all));
        all.extend_from_slice(&room[..read]);
    }
    String::from_utf8_lossy(&all).into_owned()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn timing() {
    let server = CloudflareServer::start().await;
    for io in [TTY, Io::Pipes(Stdin::Null), Io::Pipes(Stdin::Pipe)] {
        for _ in 0..3 {
            let t0 = std::time::Instant::now();
            let mut started = start(&server, "printf abc", io).await.unwrap();
            let t1 = t0.elapsed();
            let f = finish(&mut started).await;
            let t2 = t0.elapsed();
            drop(started);
            eprintln!("{io:?} {t1:?} {t2:?} {f:?}");
        }
    }
}
