//! `ptyard events`.

use ptyard_server::api::Event;

use super::Place;
use crate::failure::{Failure, status};
use crate::print::printable;

pub(super) async fn events(place: &Place, since: Option<u64>, follow: bool) -> Result<u8, Failure> {
    let since = if follow { since } else { Some(since.unwrap_or(0)) };
    let mut events = place.client().await?.events(since, follow).await?;
    while let Some(event) = events.next().await? {
        place.show(&event, text)?;
    }
    Ok(status::DONE)
}

fn text(event: &Event) -> String {
    let id = event.id.as_deref().unwrap_or("-");
    printable(&format!("{} {} {} {id} {}", event.seq, event.at, event.kind, event.data)) + "\n"
}
