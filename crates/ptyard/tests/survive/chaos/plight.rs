//! What a storm that does not settle looks like: who it waits for, and why.

use std::time::Duration;

use super::storm::Scene;

/// Longest wait for the answers: the server itself may be what does not go on.
const PATIENCE: Duration = Duration::from_secs(20);

/// Prints what was counted so far, and for each agent what is held, what waits, what it did last and its screen.
pub(super) async fn print(scene: &Scene) {
    println!("{:?}", scene.tally);
    if tokio::time::timeout(PATIENCE, agents(scene)).await.is_err() {
        println!("the server does not answer");
    }
}

async fn agents(scene: &Scene) {
    let mut client = scene.client().await;
    for player in scene.cast.places().into_iter().filter_map(|mut place| place.pop()) {
        let mailbox = client.mailbox(&player.id).await;
        let mut messages = client.inbox(&player.id, true).await.unwrap_or_default();
        let waits: Vec<_> = messages.iter().filter(|message| message.state == "pending").cloned().collect();
        if mailbox.is_ok() && waits.is_empty() {
            continue;
        }
        println!("== {} {mailbox:?}", player.id);
        println!("{} wait, the first is {:?}", waits.len(), waits.first());
        messages.retain(|message| message.state != "pending");
        messages.sort_by(|one, other| one.delivered_at.cmp(&other.delivered_at));
        for message in messages.iter().rev().take(3) {
            println!("before it: {message:?}");
        }
        let events = player.record().events();
        println!("{:?}", &events[events.len().saturating_sub(6)..]);
        println!("{:?}", client.info(&player.id).await.map(|info| (info.name, info.status)));
        println!("{:?}", client.status(&player.id, true).await);
        let screen = client.screen(&player.id, 0).await.map(|screen| screen.lines.join("\n"));
        println!("{}", screen.unwrap_or_else(|error| error.to_string()));
    }
}
