//! Whatever becomes of callers, nothing is left at the vendor.

use std::time::Duration;

use ptyard_terminal::backend::{Backend, Io, Stdin};
use ptyard_testkit::vendors::chance::Chance;
use ptyard_testkit::vendors::modal::ModalServer;
use ptyard_testkit::vendors::play::spec;
use ptyard_testkit::{soon, until};

use crate::conformance::backend;
use crate::stage::{TTY, all_removed};

/// Rounds in the gate; `PTYARD_ROUNDS` says another number.
const ROUNDS: u64 = 40;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_lives_after_starts_that_were_cancelled_killed_or_cut() {
    let (mut chance, rounds) = Chance::and_rounds(ROUNDS);
    let server = ModalServer::start().await;
    let shared = format!("sandbox={}", server.sandbox());
    for round in 0..rounds {
        let place = if chance.below(2) == 0 { "debian:12" } else { shared.as_str() };
        let backend = backend(&server).at(place).unwrap();
        let io = chance.pick(&[TTY, Io::Pipes(Stdin::Null), Io::Pipes(Stdin::Pipe)]);
        let script = chance.pick(&[
            "sleep 600",
            "(setsid sleep 600 &); sleep 600",
            "trap '' HUP TERM; sleep 600 & exit 3",
        ]);
        let patience = Duration::from_millis(chance.below(80));
        let start = backend.start(spec(script, io));
        match chance.below(4) {
            0 => drop(tokio::time::timeout(patience, start).await),
            1 => {
                server.cut();
                drop(soon("the start", start).await);
            }
            2 => {
                let mut started = soon("the start", start).await.unwrap();
                soon("the kill", started.control.kill(Duration::ZERO)).await;
            }
            _ => {
                let started = soon("the start", start).await.unwrap();
                tokio::time::sleep(patience).await;
                server.cut();
                drop(started);
            }
        }
        eprint!("{round} ");
    }
    until("nothing is left", || server.sandboxes().len() <= 1 && server.living() == 0).await;
    drop(backend(&server));
    server.terminate(shared.trim_start_matches("sandbox="));
    all_removed(&server).await;
}
