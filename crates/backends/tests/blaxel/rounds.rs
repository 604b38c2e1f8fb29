//! Whatever becomes of a start or a program, nothing of it is left.

use std::future::poll_fn;
use std::sync::Arc;
use std::time::Duration;

use ptyard_terminal::backend::Backend;
use ptyard_testkit::vendors::blaxel::BlaxelServer;
use ptyard_testkit::vendors::chance::Chance;
use ptyard_testkit::vendors::play::spec;
use ptyard_testkit::{soon, until};

use crate::conformance::backend;
use crate::faults::ALL_IO;

/// Rounds in the gate; `PTYARD_ROUNDS` says another number.
const ROUNDS: u64 = 24;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn starts_that_are_given_up_kills_and_broken_connections_leave_nothing() {
    let (mut chance, rounds) = Chance::and_rounds(ROUNDS);
    let server = Arc::new(BlaxelServer::start().await);
    let theirs = server.sandbox();
    let places = ["base".to_owned(), format!("sandbox={theirs}")];
    let script = "trap '' HUP; sleep 600 & (setsid sleep 600 </dev/null >/dev/null 2>&1 &); wait";
    for _ in 0..rounds {
        let place = backend(&server).at(&chance.pick(&places)).unwrap();
        let io = chance.pick(&ALL_IO);
        let patience = Duration::from_millis(chance.below(150));
        let what = chance.below(5);
        if what == 0 {
            let _given_up = tokio::time::timeout(patience, place.start(spec(script, io))).await;
            continue;
        }
        let mut started = soon("a start", place.start(spec(script, io))).await.unwrap();
        match what {
            1 => {
                soon("a kill", started.control.kill(patience)).await;
                soon("the end", poll_fn(|cx| started.control.poll_exit(cx))).await;
            }
            2 => {
                let _given_up =
                    tokio::time::timeout(Duration::from_millis(1), started.control.kill(patience)).await;
            }
            3 => server.cut(),
            _ => tokio::time::sleep(patience).await,
        }
    }
    until("no sandbox is left", || server.sandboxes() == [theirs.clone()]).await;
    until("no terminal is left", || server.terminals() == 0).await;
    until("nothing lives", || server.living() == 0).await;
}
