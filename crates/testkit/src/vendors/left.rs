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

/// Rounds of starts that are given up, kills, kills that nobody waits for, broken connections, programs that are just dropped
/// and servers that die, at these places by chance. `server` makes another server with the same list of what was made; what
/// dead ones left is ended by the last. `PTYARD_ROUNDS` says another number of rounds. What else is left is the caller's to
/// look at.
///
/// # Panics
/// When a program does not start or does not end.
pub async fn rounds(server: impl Fn() -> Arc<dyn Backend>, places: &[String], cut: impl Fn(), rounds: u64) {
    const ALL_IO: [Io; 3] = [Io::Tty(Size::DEFAULT), Io::Pipes(Stdin::Null), Io::Pipes(Stdin::Pipe)];
    // One that leaves, and one that gives up its parent, its session and its output.
    let script = "trap '' HUP; sleep 600 & (setsid sleep 600 </dev/null >/dev/null 2>&1 &); wait";
    let (mut chance, rounds) = Chance::and_rounds(rounds);
    let (lasting, mut dead) = (server(), Vec::new());
    for _ in 0..rounds {
        let place = chance.pick(places);
        let io = chance.pick(&ALL_IO);
        let patience = Duration::from_millis(chance.below(150));
        let what = chance.below(6);
        if what == 0 {
            // It may be anywhere in its start.
            let (place, spec) = (server().at(&place).expect("a place"), spec(script, io));
            dead.push(spec.id);
            dying(async move || tokio::time::timeout(4 * patience, place.start(spec)).await.map(forget))
                .await
                .ok();
            continue;
        }
        let place = Arc::clone(&lasting).at(&place).expect("a place");
        if what == 1 {
            let _given_up = tokio::time::timeout(patience, place.start(spec(script, io))).await;
            continue;
        }
        let mut started = soon("a start", place.start(spec(script, io))).await.expect("a start");
        match what {
            2 => {
                soon("a kill", started.control.kill(patience)).await;
                soon("the end", poll_fn(|cx| started.control.poll_exit(cx))).await;
            }
            3 => {
                let _given_up =
                    tokio::time::timeout(Duration::from_millis(1), started.control.kill(patience)).await;
            }
            4 => cut(),
            _ => tokio::time::sleep(patience).await,
        }
    }
    let last = server();
    let of_the_dead = async || {
        let mut all = soon("the list", last.creations()).await.expect("a list");
        all.retain(|creation| creation.owner.is_some_and(|owner| dead.contains(&owner)));
        all
    };
    for creation in of_the_dead().await {
        soon("the end of what a dead server left", creation.end).await.expect("it ends");
    }
    let left: Vec<String> = of_the_dead().await.into_iter().map(|creation| creation.what).collect();
    assert!(left.is_empty(), "what is ended is struck: {left:?}");
}
