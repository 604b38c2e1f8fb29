//! What a place says of the agent in it: it goes through the same machine as all else. The clock is paused.

use std::time::Duration;

use ptyard_core::turn::{Evidence, Hold, Position, Rule, Source, Status};
use ptyard_terminal::agent::{Agent, Recipe, TurnEvent};

use crate::judge::Sketch;
use crate::stage::Played;

const TEXT: &str = "please look at the parser";

fn says(played: &Played, status: Status, writes: u64) {
    let at = Position::Sequence(writes);
    played.script.place_says(Evidence::new(Source::Hook, at, status, Rule::named("place")));
}

/// An agent whose screen tells nothing, of which the place has said that it finished something.
async fn ready() -> Played {
    let mut played = Played::new().await;
    says(&played, Status::Processing, 0);
    says(&played, Status::Completed, 0);
    played.stage.ready().await;
    played
}

#[tokio::test(start_paused = true)]
async fn law_11_what_a_place_says_opens_confirms_and_ends() {
    let mut played = ready().await;
    played.stage.offer(1, TEXT).await.unwrap();
    played.input(&format!("{TEXT}\r")).await;
    says(&played, Status::Processing, 1);
    played.stage.delivered(1).await;
    assert_eq!(played.stage.offer(2, "next").await, Err(Hold::Busy));
    says(&played, Status::Completed, 1);
    played.stage.ready().await;
    played.stage.offer(3, "next").await.unwrap();
    played.input(&format!("{TEXT}\rnext\r")).await;
}

#[tokio::test(start_paused = true)]
async fn law_09_what_a_place_said_before_the_enter_confirms_nothing() {
    let mut played = ready().await;
    played.stage.offer(1, TEXT).await.unwrap();
    played.input(TEXT).await;
    // Between the paste and its Enter, however it counts.
    says(&played, Status::Processing, 1);
    says(&played, Status::Completed, 1);
    played.input(&format!("{TEXT}\r")).await;
    // From before the Enter, told behind it.
    says(&played, Status::Processing, 1);
    says(&played, Status::Completed, 1);
    played.stage.status(Status::Processing).await;
    assert_eq!(played.stage.offer(2, "next").await, Err(Hold::Unconfirmed));
    // From behind it, but not at work.
    says(&played, Status::Completed, 2);
    tokio::time::sleep(Duration::from_secs(3600)).await;
    assert_eq!(played.stage.offer(3, "next").await, Err(Hold::Unconfirmed));
    says(&played, Status::Processing, 2);
    played.stage.delivered(1).await;
    says(&played, Status::Completed, 2);
    played.stage.ready().await;
}

#[tokio::test(start_paused = true)]
async fn a_place_that_knows_nothing_leaves_it_to_the_screen() {
    let mut played = Played::new().await;
    says(&played, Status::Unknown, 0);
    played.draws("", "").await;
    played.stage.ready().await;
    played.stage.offer(1, TEXT).await.unwrap();
    played.input(TEXT).await;
    played.draws("", TEXT).await;
    played.input(&format!("{TEXT}\r")).await;
    says(&played, Status::Unknown, 1);
    played.draws("Working", "").await;
    played.stage.delivered(1).await;
    played.draws("", "").await;
    played.stage.ready().await;
}

/// The place saw neither work nor its end; what the screen shows decides once the place has been silent for 10 s, and
/// that is an event of its own.
#[tokio::test(start_paused = true)]
async fn i25_a_turn_that_the_place_missed_is_ended_by_the_screen_in_time() {
    let mut played = Played::new().await;
    played.draws("", "").await;
    says(&played, Status::Processing, 0);
    says(&played, Status::Completed, 0);
    played.stage.ready().await;
    played.stage.offer(1, TEXT).await.unwrap();
    played.input(TEXT).await;
    played.draws("", TEXT).await;
    played.input(&format!("{TEXT}\r")).await;
    says(&played, Status::Completed, 1);
    played.draws("", "").await;
    played.stage.delivered(1).await;
    assert_eq!(played.stage.offer(2, "next").await, Err(Hold::Busy));
    let began = tokio::time::Instant::now();
    // Not a byte is printed, and the place says nothing.
    played.stage.ready().await;
    let took = began.elapsed();
    assert!(took >= Duration::from_secs(8) && took < Duration::from_secs(60), "{took:?}");
    played.stage.offer(3, "next").await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn what_was_said_before_the_agent_was_known_counts_and_a_reset_asks_for_it_again() {
    let mut played = ready().await;
    let again = Agent::new(Box::new(Sketch::default()), Recipe::default());
    played.stage.turns = played.stage.terminal.attend(again).await.unwrap();
    assert_eq!(played.stage.terminal.explain().await.unwrap().unwrap().hold, None);
    played.stage.terminal.reset_turns().await.unwrap();
    let hold = played.stage.terminal.explain().await.unwrap().unwrap().hold;
    assert_eq!(hold, None);
    let mut endings = 0;
    while let Ok(Some(event)) = tokio::time::timeout(Duration::from_secs(1), played.stage.turns.next()).await
    {
        endings += u32::from(matches!(event, TurnEvent::TurnEnded { .. }));
    }
    assert_eq!(endings, 0, "nothing had begun");
}
