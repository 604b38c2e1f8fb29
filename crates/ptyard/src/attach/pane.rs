//! A terminal whose pane is there before it is.

use std::time::Duration;

use ptyard_core::ErrorCode;
use ptyard_server::api::TerminalInfo;

use crate::client::{Client, ClientError};
use crate::failure::Failure;
use crate::run::Place;

/// How long a start may take from its pane on: what is left of it is to be written down.
const START_LIMIT: Duration = Duration::from_secs(20);

/// What is known of a terminal, once it is.
pub(super) async fn when_started(
    place: &Place,
    client: &mut Client,
    id: &str,
) -> Result<TerminalInfo, Failure> {
    // Listened to before it is asked for, so that a start in between is not missed.
    let mut events = place.client().await?.events(None, true).await?;
    match client.info(id).await {
        Err(error) if error.code() == ErrorCode::UnknownTerminal => {}
        known => return Ok(known?),
    }
    let started = async {
        while let Some(event) = events.next().await? {
            if event.kind == "started" && event.id.as_deref() == Some(id) {
                break;
            }
        }
        Ok::<_, ClientError>(())
    };
    if let Ok(listened) = tokio::time::timeout(START_LIMIT, started).await {
        listened?;
    }
    Ok(client.info(id).await?)
}
