//! Programs in panes that an earlier server of ours started or took over.
//!
//! A pane outlives its client, so the program runs on. Which pane it is, by what word its shell tells the end, and which
//! process the program was, stands in an option of the pane; from there on it is followed as any other (`follow`).

use std::sync::Arc;

use ptyard_core::{Exit, Size, TerminalId};
use ptyard_terminal::backend::{Earlier, Io, Orphan, Questions, Started};
use tokio::sync::mpsc;

use super::control::{Owner, TmuxControl};
use super::follow::Following;
use super::joined::{Finder, Joining};
use super::link::TmuxError;
use super::pane::{Feed, HandedOut, PaneSink, PaneSource};
use super::server::ServerLink;
use super::start::{FEEDS, SIZES};
use crate::shared::fate::{Fate, Herald};

/// Takes up what there may be of a terminal. Whether it is there is found out behind.
pub(super) fn take_up(server: Arc<ServerLink>, owner: Owner, orphan: &Orphan) -> Option<Earlier> {
    // A pane of ours goes before the end of its program is told.
    let (Io::Tty(_), false) = (orphan.io, orphan.has_ended) else { return None };
    let (finder, place) = Joining::awaited();
    let (feeds, fed) = mpsc::channel(FEEDS);
    let (herald, fate) = Fate::new();
    let (sizes, seen) = mpsc::channel(SIZES);
    let id = orphan.id;
    let search = Search { server: Arc::clone(&server), owner, id, finder, feeds, sizes };
    tokio::spawn(search.run(herald));
    let handed_out = HandedOut::default();
    let started = Started {
        source: Box::new(PaneSource::new(fed, handed_out.clone())),
        sink: Some(Box::new(PaneSink::new(place.clone(), handed_out))),
        control: Box::new(TmuxControl::new(server, place, id, owner, fate, seen)),
        questions: Questions::ThePlaces,
        pid: None,
        unheld: Vec::new(),
    };
    Some(Earlier { id, started, unseen_from: None })
}

struct Search {
    server: Arc<ServerLink>,
    owner: Owner,
    id: TerminalId,
    finder: Finder,
    feeds: mpsc::Sender<Feed>,
    sizes: mpsc::Sender<Size>,
}

impl Search {
    /// Looks for the pane, follows it if it is there, and tells how its program ended.
    async fn run(self, herald: Herald) {
        let Self { server, owner, id, finder, feeds, sizes } = self;
        let Some(kept) = server.earlier(id).await else {
            tracing::info!(%id, "its pane is gone: how it ended is not known");
            return herald.ended(Exit::lost());
        };
        let following = Following { server, id, owner, kept, finder, feeds, sizes };
        let taken_up = match following.server.link().await {
            Ok(link) => following.take_up(&link, None).await,
            Err(error) => Err(TmuxError::Gone(error.message)),
        };
        match taken_up {
            Ok(hearing) => following.run(hearing, herald).await,
            Err(error) => {
                let exit = following.out_of_reach(&error).await;
                herald.ended(exit);
            }
        }
    }
}
