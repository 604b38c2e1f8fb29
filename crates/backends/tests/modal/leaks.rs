//! Whatever becomes of callers, nothing is left at the vendor.

use std::time::Duration;

use ptyard_terminal::backend::{Backend, Io, Stdin};
use ptyard_testkit::soon;
use ptyard_testkit::vendors::modal::ModalServer;

use crate::conformance::backend;
use crate::stage::{TTY, all_removed, id, spec};

/// Rounds in the gate; `PTYARD_LEAK_ROUNDS` gives another number.
const ROUNDS: u64 = 40;

/// Numbers that follow from a seed: xorshift.
struct Chance(u64);

impl Chance {
    fn below(&mut self, most: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % most
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_lives_after_starts_that_were_cancelled_killed_or_cut() {
    let number = |name: &str| std::env::var(name).ok().and_then(|text| text.parse().ok());
    let mut random = [0; 8];
    getrandom::fill(&mut random).unwrap();
    let seed = number("PTYARD_SEED").unwrap_or(u64::from_ne_bytes(random)).max(1);
    eprintln!("PTYARD_SEED={seed}");
    let mut chance = Chance(seed);
    let server = ModalServer::start().await;
    let shared = format!("sandbox={}", server.sandbox());
    for round in 0..number("PTYARD_LEAK_ROUNDS").unwrap_or(ROUNDS) {
        let place = if chance.below(2) == 0 { "debian:12" } else { shared.as_str() };
        let backend = backend(&server).at(place).unwrap();
        let io = [TTY, Io::Pipes(Stdin::Null), Io::Pipes(Stdin::Pipe)][chance.below(3) as usize];
        let script = ["sleep 600", "(setsid sleep 600 &); sleep 600", "trap '' HUP TERM; sleep 600 & exit 3"]
            [chance.below(3) as usize];
        let patience = Duration::from_millis(chance.below(80));
        let start = backend.start(spec(id(), script, io));
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
    soon("nothing is left", async {
        while server.sandboxes().len() > 1 || server.living() > 0 {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    })
    .await;
    drop(backend(&server));
    server.terminate(shared.trim_start_matches("sandbox="));
    all_removed(&server).await;
}
