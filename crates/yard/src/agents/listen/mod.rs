//! What the server of an agent's own program tells: it is listened to on loopback, from the start of the agent to its end.
//!
//! What it tells goes the way that hooks go. Where it serves is written down beside the agent's log, so that a later server
//! of ours listens too.

mod connection;
pub(super) mod door;
mod listener;
mod sse;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use ptyard_terminal::agent::Hooked;

use self::door::Served;
use self::listener::{Limits, Listener};
use crate::entry::Entry;

/// Listens to the program in this terminal until it has ended, or is not heard.
pub(super) fn listen(entry: &Arc<Entry>, Served { words, door }: Served) {
    let mut progress = entry.terminal.progress();
    let (id, entry) = (entry.id(), Arc::downgrade(entry));
    let ended = async move {
        // An error says that its actor is gone.
        let _ended = progress.wait_for(|progress| progress.sealed.is_some()).await;
    };
    let listening = async move {
        let mut listener = Listener::new(door, words, Limits::default());
        while let Some(said) = listener.next().await {
            let Some(entry) = entry.upgrade() else { return };
            let told = Hooked { status: said.status, rule: said.rule, prompt: said.prompt };
            if entry.terminal.hooked(told).await.is_err() {
                return;
            }
        }
        tracing::info!(%id, "its events are not heard: its screen is judged");
    };
    tokio::spawn(async move {
        tokio::select! {
            () = ended => {}
            () = listening => {}
        }
    });
}
