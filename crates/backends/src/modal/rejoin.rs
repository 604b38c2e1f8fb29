//! Programs that an earlier server of ours started.
//!
//! The vendor keeps a program, all that it printed and how much was typed. What its sandbox is called follows from the
//! terminal's id, and so does what the program is called in it: output goes on behind what the log has of it, and input
//! behind what was taken.

use std::sync::Arc;

use ptyard_core::TerminalId;
use ptyard_terminal::backend::{Earlier, Io, Orphan, Questions, Sink, Started, Stdin};
use tokio::time::{Instant, sleep};

use super::api::{SandboxId, name_of};
use super::follow::follow;
use super::patience::{Next, Patience};
use super::place::{Finder, Joined, Place};
use super::typist::Typist;
use super::{Modal, Where};
use crate::remote::control::SandboxControl;
use crate::remote::http::CallError;
use crate::remote::input::Input;
use crate::remote::listed::{Entry, Listed};
use crate::remote::lodging::{Lodger, Lodging, Whose};
use crate::remote::output::Output;

/// Takes up what there may be of a terminal. Whether it is there is found out behind.
pub(super) fn take_up(modal: &Modal, orphan: &Orphan) -> Option<Earlier> {
    let (id, io) = (orphan.id, orphan.io);
    let (whose, sandbox) = match &modal.place {
        Where::Image(_) => (Whose::Ours, name_of(id)),
        Where::Sandbox(sandbox) => (Whose::Theirs, sandbox.clone()),
        Where::Nowhere => return None,
    };
    let (finder, place) = Place::awaited(whose, modal.place.word());
    let there = Listed::new(place.clone(), &modal.ledger, &Entry { sandbox, whose, id });
    tokio::spawn(search(modal.clone(), id, finder));
    if orphan.has_ended {
        // All that may be left of it.
        tokio::spawn(async move { there.leave(id).await });
        return None;
    }
    let followed = follow(&place, id, orphan.logged);
    let sink: Option<Box<dyn Sink>> = match io {
        Io::Pipes(Stdin::Null) => None,
        io => Some(Box::new(Input::new(Typist::again(place.clone(), id), io, followed.fate.exit()))),
    };
    let started = Started {
        source: Box::new(Output::new(followed.output)),
        sink,
        control: Box::new(SandboxControl::new(there, Lodger::unknown(id), io, followed.fate)),
        questions: Questions::Ours,
        pid: None,
        unheld: Vec::new(),
    };
    Some(Earlier { id, started, unseen_from: None })
}

/// Looks for the sandbox for as long as it is worth it. Not found, the finder is dropped.
async fn search(modal: Modal, id: TerminalId, finder: Finder) {
    let mut patience = Patience::new(modal.settings.patience);
    loop {
        let error = match find(&modal, id).await {
            Ok(joined) => {
                finder.send_replace(Some(Arc::new(joined)));
                return;
            }
            Err(error) => error,
        };
        match patience.failed(&error, Instant::now()) {
            Next::Retry(pause) => sleep(pause).await,
            Next::GiveUp => {
                tracing::info!(terminal = %id, %error, "its sandbox is not found: how it ended is not known");
                return;
            }
        }
    }
}

async fn find(modal: &Modal, id: TerminalId) -> Result<Joined, CallError> {
    let api = modal.api().await?;
    let sandbox = match &modal.place {
        Where::Sandbox(sandbox) => SandboxId(sandbox.clone()),
        Where::Image(_) | Where::Nowhere => api.find(id).await?,
    };
    Joined::of(api, sandbox).await
}
