//! What hooks of an agent say: it goes through the same machine as all else. The clock is paused.

use std::time::Duration;

use ptyard_core::turn::{Hold, Rule, Source, Status};
use ptyard_terminal::agent::Hooked;

use crate::stage::Played;

const TEXT: &str = "please look at the parser";

async fn prompt(played: &Played, text: &str) {
    let told =
        Hooked { status: Status::Processing, rule: Rule::named("hook.prompt"), prompt: Some(text.into()) };
    played.stage.terminal.hooked(told).await.unwrap();
}

async fn stop(played: &Played) {
    let told = Hooked { status: Status::Unknown, rule: Rule::named("hook.stop"), prompt: None };
    played.stage.terminal.hooked(told).await.unwrap();
}

/// An agent that was ready, with a text that was typed and of whose way nothing is seen.
async fn typed() -> Played {
    let mut played = Played::new().await;
    played.draws("", "").await;
    played.stage.ready().await;
    played.stage.offer(1, TEXT).await.unwrap();
    played.input(&format!("{TEXT}\r")).await;
    played
}

#[tokio::test(start_paused = true)]
async fn law_11_a_hook_that_names_the_text_confirms_it_and_makes_nothing_ready() {
    let mut played = typed().await;
    // A slow screen: it still stands in the composer.
    played.draws("", TEXT).await;
    tokio::time::sleep(Duration::from_millis(300)).await;
    prompt(&played, &format!("{TEXT}\n")).await;
    played.stage.delivered(1).await;
    let explained = played.stage.terminal.explain().await.unwrap().unwrap();
    assert_eq!((explained.report.source, explained.report.status), (Some(Source::Hook), Status::Processing));
    assert!(played.stage.offer(2, "next").await.is_err());
    stop(&played).await;
    // It does not say more than that the turn may be over, and the screen is from before the text was taken.
    tokio::time::sleep(Duration::from_secs(60)).await;
    assert!(played.stage.offer(3, "next").await.is_err());
    played.draws("", "").await;
    played.stage.ready().await;
    played.stage.offer(4, "next").await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn law_09_a_hook_about_another_text_confirms_nothing_however_late_it_comes() {
    let mut played = typed().await;
    prompt(&played, "an earlier prompt").await;
    stop(&played).await;
    prompt(&played, "an earlier prompt").await;
    played.stage.status(Status::Processing).await;
    assert_eq!(played.stage.offer(2, "next").await, Err(Hold::Unconfirmed));
    prompt(&played, TEXT).await;
    played.stage.delivered(1).await;
}

/// It may be of an earlier turn, so it confirms nothing; but it is not forgotten either.
#[tokio::test(start_paused = true)]
async fn law_09_what_is_said_while_a_text_is_under_way_counts_once_it_is_confirmed() {
    let mut played = typed().await;
    let said = |status, rule| Hooked { status, rule: Rule::named(rule), prompt: None };
    played.stage.terminal.hooked(said(Status::Processing, "events.busy")).await.unwrap();
    tokio::time::sleep(Duration::from_millis(300)).await;
    assert_eq!(played.stage.offer(2, "next").await, Err(Hold::Unconfirmed));
    played.draws("", TEXT).await;
    tokio::time::sleep(Duration::from_millis(300)).await;
    played.draws("", "").await;
    played.stage.delivered(1).await;
    // The screen looks ready, and shows that the text was taken.
    let report = played.stage.terminal.explain().await.unwrap().unwrap().report;
    assert_eq!((report.source, report.status), (Some(Source::Hook), Status::Processing));
    assert_eq!(played.stage.offer(3, "next").await, Err(Hold::Busy));
    played.stage.terminal.hooked(said(Status::Unknown, "events.idle")).await.unwrap();
    played.stage.ready().await;
}

/// A person's prompt is a turn like any other.
#[tokio::test(start_paused = true)]
async fn a_turn_that_somebody_else_began_is_seen() {
    let mut played = Played::new().await;
    played.draws("", "").await;
    played.stage.ready().await;
    prompt(&played, "what a person typed").await;
    played.stage.status(Status::Processing).await;
    assert_eq!(played.stage.offer(1, TEXT).await, Err(Hold::Busy));
    stop(&played).await;
    played.stage.ready().await;
}
