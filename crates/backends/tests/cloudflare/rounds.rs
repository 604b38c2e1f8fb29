//! Whatever becomes of a start or a program, nothing of it is left.

use std::future::poll_fn;
use std::sync::Arc;
use std::time::Duration;

use ptyard_terminal::backend::{Backend, Io, Stdin};
use ptyard_testkit::soon;
use ptyard_testkit::vendors::cloudflare::CloudflareServer;

use crate::conformance::{THEIRS, backend};
use crate::faults::{TTY, spec};

/// Rounds; `PTYARD_ROUNDS` says another number.
const ROUNDS: u32 = 24;

/// A small generator, so that a round that failed can be had again: `PTYARD_SEED`.
struct Chance(u64);

impl Chance {
    fn below(&mut self, most: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % most
    }
}

fn from_variable<T: std::str::FromStr>(name: &str) -> Option<T> {
    std::env::var(name).ok()?.parse().ok()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn starts_that_are_given_up_kills_and_broken_connections_leave_nothing() {
    let mut random = [0; 8];
    getrandom::fill(&mut random).unwrap();
    let seed = from_variable("PTYARD_SEED").unwrap_or(u64::from_ne_bytes(random) | 1);
    let rounds = from_variable("PTYARD_ROUNDS").unwrap_or(ROUNDS);
    eprintln!("{rounds} rounds with PTYARD_SEED={seed}");
    let mut chance = Chance(seed);
    let server = Arc::new(CloudflareServer::start().await);
    let places = [String::new(), format!("sandbox={THEIRS}")];
    let script = "trap '' HUP; sleep 600 & (setsid sleep 600 </dev/null >/dev/null 2>&1 &); wait";
    for _ in 0..rounds {
        let place = backend(&server).at(&places[chance.below(2) as usize]).unwrap();
        let io = [TTY, Io::Pipes(Stdin::Null), Io::Pipes(Stdin::Pipe)][chance.below(3) as usize];
        let patience = Duration::from_millis(chance.below(90));
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
    soon("no session is left", async {
        while !server.sessions().is_empty() || server.sandboxes().iter().any(|id| id != THEIRS) {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    })
    .await;
    soon("nothing lives", async {
        while server.processes() > 0 {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    })
    .await;
}
