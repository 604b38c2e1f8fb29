//! `ptyard hook`: what an agent tells a hook goes to the server.

use std::time::Duration;

use ptyard_yard::agents::token::TOKEN_VARIABLE;
use serde_json::Value;
use tokio::io::{AsyncReadExt as _, stdin};

use super::Place;
use crate::client::Client;
use crate::failure::status;

/// Most bytes of what is told.
const MOST: u64 = 4 << 20;

/// How long the agent waits for us at most: its turn goes on after that, and its screen is judged anyway.
const PATIENCE: Duration = Duration::from_secs(5);

/// Tells it, and nothing else: what is printed here, and how this ends, would mean something to the agent. A server that
/// does not run is not started.
pub(super) async fn hook(place: &Place, words: &str) -> u8 {
    // Whoever is in no terminal of ours has nothing to tell, and is not even listened to.
    if std::env::var_os(TOKEN_VARIABLE).is_none() {
        return status::DONE;
    }
    let _late = tokio::time::timeout(PATIENCE, tell(place, words)).await;
    status::DONE
}

async fn tell(place: &Place, words: &str) -> Option<()> {
    let mut told = Vec::new();
    stdin().take(MOST).read_to_end(&mut told).await.ok()?;
    let told: Value = serde_json::from_slice(&told).ok()?;
    let mut client = Client::connect(&place.state.socket()).await.ok()?;
    client.hook(words, told).await.ok()?;
    Some(())
}
