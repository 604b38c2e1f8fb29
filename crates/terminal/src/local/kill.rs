//! Ending everything that came of a program.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use ptyard_core::Exit;
use tokio::sync::watch;
use tokio::time::{Instant, timeout, timeout_at};

use crate::backend::KillReport;

use super::tree::Tree;

/// How long processes may take to end after KILL. A process that waits for a disk or a file server can take for ever.
const KILL_LIMIT: Duration = Duration::from_secs(1);

/// How long after a KILL it is looked whether somebody needs another.
const AGAIN: Duration = Duration::from_millis(250);

/// What asks: of a program that dies of either, TERM is what it died of; interactive shells ignore that one and leave at a
/// HUP; stopped processes hear nothing without CONT.
const ASKING: [i32; 3] = [libc::SIGTERM, libc::SIGHUP, libc::SIGCONT];

/// Asks (TERM, HUP, and CONT so that stopped ones hear it), waits `grace`, kills, looks. Takes at most `grace` and a
/// second. With no grace nothing is asked.
///
/// When the future is dropped before it is done, because the runtime is shutting down, it kills at once.
pub(super) fn end_tree(
    tree: Arc<Tree>,
    exit: watch::Receiver<Option<Exit>>,
    grace: Duration,
) -> impl Future<Output = KillReport> + Send {
    let unfinished = Unfinished(Some(Arc::clone(&tree)));
    async move {
        let report = ask_and_kill(tree, exit, grace).await;
        unfinished.done();
        report
    }
}

/// A tree that is being ended; dropped before that is done, it is killed.
struct Unfinished(Option<Arc<Tree>>);

impl Unfinished {
    fn done(mut self) {
        self.0 = None;
    }
}

impl Drop for Unfinished {
    fn drop(&mut self) {
        if let Some(tree) = &self.0 {
            tree.kill();
        }
    }
}

async fn ask_and_kill(
    tree: Arc<Tree>,
    mut exit: watch::Receiver<Option<Exit>>,
    grace: Duration,
) -> KillReport {
    let limit = Instant::now() + grace + KILL_LIMIT;
    let found = count(&tree.off_runtime(Tree::members).await.unwrap_or_default());
    if found == 0 {
        tree.release();
        return KillReport::default();
    }
    let ran = exit.borrow().is_none();
    let mut last_signal = None;
    let mut empty = false;
    if !grace.is_zero() {
        last_signal = Some(libc::SIGTERM);
        empty = timeout(grace, ask(&tree, exit.clone())).await.is_ok();
    }
    while !empty && Instant::now() < limit {
        last_signal = Some(libc::SIGKILL);
        tree.off_runtime(Tree::kill).await;
        empty = timeout_at(limit.min(Instant::now() + AGAIN), tree.emptied()).await.is_ok();
    }
    let survivors =
        if empty { Vec::new() } else { tree.off_runtime(Tree::members).await.unwrap_or_default() };
    // A process that has ended is reaped next; whoever hears of the kill shall find the exit known.
    let died_of = match timeout_at(limit, exit.wait_for(Option::is_some)).await {
        Ok(Ok(exit)) => exit.as_ref().and_then(|exit| exit.signal),
        _ => None,
    };
    // Whoever left at the HUP alone did not need the TERM.
    if ran && last_signal == Some(libc::SIGTERM) && died_of == Some(libc::SIGHUP) {
        last_signal = died_of;
    }
    tree.release();
    KillReport { found, last_signal, survivors }
}

/// Asks everybody to leave, and waits until they have.
async fn ask(tree: &Arc<Tree>, mut exit: watch::Receiver<Option<Exit>>) {
    let mut asked = HashSet::new();
    // A program that was just starting a child when it was asked leaves one behind that was not. So those that came
    // meanwhile are asked when the program has gone; nobody is asked twice, which some take as "now, or else".
    for _program_gone in [false, true] {
        asked = tree
            .off_runtime(move |tree| {
                tree.ask(&ASKING, &mut asked);
                asked
            })
            .await
            .unwrap_or_default();
        tokio::select! {
            biased;
            () = tree.emptied() => return,
            _ = exit.wait_for(Option::is_some) => {}
        }
    }
    tree.emptied().await;
}

pub(super) fn count(members: &[u32]) -> u32 {
    u32::try_from(members.len()).unwrap_or(u32::MAX)
}
