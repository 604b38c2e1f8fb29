//! What a server that died left at a vendor.

use std::future::poll_fn;
use std::mem::forget;
use std::sync::Arc;
use std::time::Duration;

use ptyard_core::{Size, TerminalId};
use ptyard_terminal::backend::{Backend, Io, Stdin};

use super::chance::Chance;
use super::play::spec;
use crate::{soon, until};

/// Does something and dies with its whole runtime: nothing of it is dropped in order, and no task of it goes on.
///
/// # Panics
/// When what it does panics.
pub async fn dying<T: Send + 'static>(what: impl AsyncFnOnce() -> T + Send + 'static) -> T {
    let life = move || {
        let runtime = tokio::runtime::Runtime::new().expect("a runtime");
        let left = runtime.block_on(what());
        runtime.shutdown_background();
        left
    };
    tokio::task::spawn_blocking(life).await.expect("no panic")
}

/// Has a server start a program at each of the places and die; `next` is a later one with the same list. Says what it finds
/// is exactly that, and ends it. `living` counts what lives there.
///
/// # Panics
/// When the list is another one, or what stands there does not end.
pub async fn is_found_and_ended(
    first: Arc<dyn Backend>,
    next: Arc<dyn Backend>,
    places: Vec<String>,
    living: impl Fn() -> usize,
) {
    let count = places.len();
    let mut left = dying(async move || {
        let mut ids: Vec<TerminalId> = Vec::new();
        for place in places {
            let spec = spec("trap '' HUP; sleep 600", Io::Tty(Size::DEFAULT));
            ids.push(spec.id);
            forget(Arc::clone(&first).at(&place).expect("a place").start(spec).await.expect("a start"));
        }
        ids
    })
    .await;
    left.sort();
    let creations = soon("all of it is on the list, and nothing else", async {
        loop {
            let creations = next.creations().await.expect("a list");
            if creations.len() == count {
                return creations;
            }
            tokio::task::yield_now().await;
        }
    })
    .await;
    let mut owners: Vec<TerminalId> = creations.iter().filter_map(|creation| creation.owner).collect();
    owners.sort();
    assert_eq!(owners, left);
    // One that becomes another program at this very moment shows no variables to be known by.
    until("they live", || living() >= count).await;
    for creation in creations {
        soon("its end", creation.end).await.expect("it ends");
    }
    assert!(next.creations().await.expect("a list").is_empty(), "what is ended is struck");
}

/// Rounds of starts that are given up, kills, kills that nobody waits for, broken connections and programs that are just
/// dropped, at these places by chance. `PTYARD_ROUNDS` says another number of them. What is left is the caller's to look at.
///
/// # Panics
/// When a program does not start or does not end.
pub async fn rounds(backend: Arc<dyn Backend>, places: &[String], cut: impl Fn(), rounds: u64) {
    const ALL_IO: [Io; 3] = [Io::Tty(Size::DEFAULT), Io::Pipes(Stdin::Null), Io::Pipes(Stdin::Pipe)];
    // One that leaves, and one that gives up its parent, its session and its output.
    let script = "trap '' HUP; sleep 600 & (setsid sleep 600 </dev/null >/dev/null 2>&1 &); wait";
    let (mut chance, rounds) = Chance::and_rounds(rounds);
    for _ in 0..rounds {
        let place = Arc::clone(&backend).at(&chance.pick(places)).expect("a place");
        let io = chance.pick(&ALL_IO);
        let patience = Duration::from_millis(chance.below(150));
        let what = chance.below(5);
        if what == 0 {
            let _given_up = tokio::time::timeout(patience, place.start(spec(script, io))).await;
            continue;
        }
        let mut started = soon("a start", place.start(spec(script, io))).await.expect("a start");
        match what {
            1 => {
                soon("a kill", started.control.kill(patience)).await;
                soon("the end", poll_fn(|cx| started.control.poll_exit(cx))).await;
            }
            2 => {
                let _given_up =
                    tokio::time::timeout(Duration::from_millis(1), started.control.kill(patience)).await;
            }
            3 => cut(),
            _ => tokio::time::sleep(patience).await,
        }
    }
}
