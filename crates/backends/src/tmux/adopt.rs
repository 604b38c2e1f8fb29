//! A pane that somebody else made.

use std::sync::Arc;

use ptyard_core::{ErrorCode, TerminalId};
use ptyard_terminal::backend::{Questions, StartError, StartSpec, Started};
use tokio::sync::{mpsc, watch};

use super::control::{Owner, TmuxControl, pass_sizes};
use super::draw::{self, History};
use super::follow::{Following, Hearing};
use super::joined::{FOUND, Found, Joined, Joining};
use super::link::Link;
use super::pane::{Feed, HandedOut, PaneSink, PaneSource};
use super::protocol::quoted;
use super::server::{Kept, ServerLink, follow_window, of_start};
use super::start::{FEEDS, SIZES, note};
use crate::shared::fate::Fate;
use crate::shared::start_error;

/// Takes a pane over: what it shows, and what it prints from then on, without a gap between both.
pub(super) async fn adopt(
    server: Arc<ServerLink>,
    link: Link,
    target: &str,
    spec: &StartSpec,
) -> Result<Started, StartError> {
    let id: TerminalId = spec.id;
    let (_none, unheld) = spec.ceilings.split(|_| Some("the program runs already".to_owned()))?;
    let exact = if target.starts_with('%') { target.to_owned() } else { format!("={target}") };
    let answer = link
        .ask(format!("display-message -p -t {} {FOUND}", quoted(&exact)))
        .await
        .map_err(|error| of_start(&error))?;
    let found = Found::parse(&answer)
        .ok_or_else(|| start_error(ErrorCode::PlaceNotFound, format!("tmux has no pane {target}")))?;
    let pane = found.pane;
    follow_window(&link, &found.window).await.map_err(|error| of_start(&error))?;
    let joined = Joined::new(link.clone(), &found, found.pid);
    let process = joined.process.clone().ok_or_else(|| {
        start_error(ErrorCode::PlaceNotFound, format!("the program in the pane {target} has ended"))
    })?;
    let words = format!("the pane {pane} of tmux as it was found");
    let (drawn, followed) =
        draw::follow(&link, pane, &words, History::Whole).await.map_err(|error| of_start(&error))?;
    note(&link, pane, &Kept::option(id, None, None)).await?;
    let (herald, fate) = Fate::new();
    let (sizes, seen) = mpsc::channel(SIZES);
    // The first of them, for which there is room: the terminal takes the size that the pane has.
    let _has_room = found.size.map(|size| sizes.try_send(size));
    tokio::spawn(pass_sizes(followed.size, sizes.clone()));
    let (finder, place) = Joining::there(joined);
    let (feeds, fed) = mpsc::channel(FEEDS);
    let feed = Feed { client: link.number, drawn, pieces: followed.pieces, ending: None };
    let _has_room = feeds.try_send(feed);
    let kept = Kept { pane, word: None, program: None };
    let owner = Owner::Others;
    let following = Following { server: Arc::clone(&server), id, owner, kept, finder, feeds, sizes };
    let hearing = Hearing { link, end: watch::channel(None).1, process: Some(process) };
    tokio::spawn(following.run(hearing, herald));
    let handed_out = HandedOut::default();
    Ok(Started {
        source: Box::new(PaneSource::new(fed, handed_out.clone())),
        sink: Some(Box::new(PaneSink::new(place.clone(), handed_out))),
        control: Box::new(TmuxControl::new(server, place, id, owner, fate, seen)),
        questions: Questions::ThePlaces,
        pid: Some(found.pid),
        unheld,
    })
}
