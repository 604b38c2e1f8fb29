//! Programs in panes that an earlier server of ours started or took over.
//!
//! A pane outlives its client, so the program runs on; what it printed meanwhile is known as far as the pane shows it
//! (`draw`). Which pane it is, by what word its shell tells the end, and which process the program was, stands in an
//! option of the pane. A shell that told the end when nobody listened tells it again for a line that is typed.

use std::sync::Arc;

use ptyard_core::{Exit, Size, TerminalId};
use ptyard_terminal::backend::{Earlier, Io, Orphan, Questions, Started};
use ptyard_terminal::local::Identity;
use tokio::sync::{mpsc, oneshot, watch};

use super::control::{Owner, TmuxControl, end_of, mark, own_end, pass_sizes};
use super::draw::{self, History};
use super::joined::{FOUND, Finder, Found, Joined, Joining};
use super::link::TmuxError;
use super::pane::{Feed, HandedOut, PaneSink, PaneSource, type_into};
use super::server::{Kept, ServerLink, follow_window};
use super::session::{Sizing, go_with_session};
use super::start::SIZES;
use crate::shared::fate::{Fate, Herald};
use crate::shared::greeting::Ending;

/// What the line in the log says.
const WORDS: &str = "nobody listened for a while; what was printed then is known as far as the pane shows it";

/// Takes up what there may be of a terminal. Whether it is there is found out behind.
pub(super) fn take_up(server: Arc<ServerLink>, owner: Owner, orphan: &Orphan) -> Option<Earlier> {
    // A pane of ours goes before the end of its program is told.
    let (Io::Tty(_), false) = (orphan.io, orphan.has_ended) else { return None };
    let (finder, place) = Joining::awaited();
    let (feed, awaited) = oneshot::channel();
    let (herald, fate) = Fate::new();
    let (sizes, seen) = mpsc::channel(SIZES);
    let id = orphan.id;
    let search = Search { server, owner, id, finder, feed, sizes };
    tokio::spawn(search.run(herald));
    let handed_out = HandedOut::default();
    let started = Started {
        source: Box::new(PaneSource::awaited(awaited, handed_out.clone())),
        sink: Some(Box::new(PaneSink::new(place.clone(), handed_out))),
        control: Box::new(TmuxControl::new(place, id, owner, fate, seen)),
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
    feed: oneshot::Sender<Feed>,
    sizes: mpsc::Sender<Size>,
}

impl Search {
    /// Looks for the pane, follows it if it is there, and tells how its program ended.
    async fn run(self, herald: Herald) {
        let id = self.id;
        let Some(kept) = self.server.earlier(id).await else {
            tracing::info!(%id, "its pane is gone: how it ended is not known");
            return herald.ended(Exit::lost());
        };
        if let Err(error) = self.join(&kept, herald).await {
            // The herald went with it, so the end is lost.
            tracing::warn!(%id, pane = %kept.pane, %error, "a pane cannot be taken up again");
        }
    }

    async fn join(self, kept: &Kept, herald: Herald) -> Result<(), TmuxError> {
        let Self { server, owner, id, finder, feed, sizes } = self;
        let link = server.link().await.map_err(|error| TmuxError::Gone(error.message))?;
        let pane = kept.pane;
        let answer = link.ask(format!("display-message -p -t {pane} {FOUND}")).await?;
        let not_there = || TmuxError::Refused(format!("can't find pane: {pane}"));
        let found = Found::parse(&answer).filter(|found| found.pane == pane).ok_or_else(not_there)?;
        follow_window(&link, &found.window).await?;
        let (drawn, followed) = draw::follow(&link, pane, WORDS, History::None).await?;
        if owner != Owner::Us(Sizing::Asked)
            && let Some(size) = found.size
        {
            let _has_room = sizes.try_send(size);
        }
        tokio::spawn(pass_sizes(followed.size, sizes));
        if owner == Owner::Us(Sizing::Attached) {
            tokio::spawn(go_with_session(link.clone(), pane, followed.shown));
        }
        let pid = kept.program.as_ref().map_or(found.pid, |program| program.pid);
        let joined = Joined::new(link.clone(), &found, pid);
        let (told, end) = watch::channel(None);
        let ending = kept.word.as_deref().map(|word| (Ending::of(word), told));
        let process = joined.process.clone();
        finder.send_replace(Some(Arc::new(joined)));
        // Nobody takes it when the terminal is gone by now; then its controls close the pane.
        let _nobody = feed.send(Feed { drawn, pieces: followed.pieces, ending });
        match owner {
            Owner::Us(_) => {
                if !kept.program.as_ref().is_some_and(Identity::is_there) {
                    type_into(&link, pane, b"\n").await?;
                }
                own_end(link, pane, mark(id), end, herald).await;
            }
            Owner::Others => herald.ended(match process {
                Some(process) => end_of(&link, pane, &process).await,
                None => Exit::lost(),
            }),
        }
        Ok(())
    }
}
