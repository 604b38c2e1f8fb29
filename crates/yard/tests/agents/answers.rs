//! Answers to what agents ask.

use ptyard_core::ErrorCode;
use ptyard_core::turn::{Status, StatusReport};
use ptyard_testkit::PATIENCE;
use ptyard_testkit::agent::Event;
use ptyard_yard::agents::Answer;

use crate::stage::Stage;

fn text(text: &str) -> Answer {
    Answer::Text(text.to_owned())
}

fn chosen(events: &[Event]) -> Vec<&str> {
    let labels = events.iter().filter_map(|event| match event {
        Event::Chosen { label } => Some(label.as_str()),
        _ => None,
    });
    labels.collect()
}

#[tokio::test]
async fn case_p03_only_an_answer_presses_a_button_and_only_when_one_is_asked_for() {
    let stage = Stage::new();
    let agent = stage.launch("status.osc7501 = 'always'\ndialogs = [{}]").await;
    stage.until(&agent, Status::WaitingUserAnswer).await;
    stage.yard.answer(&agent.at(), &text("2")).await.unwrap();
    stage.until(&agent, Status::Idle).await;
    let explained = stage.yard.explain(&agent.at()).await.unwrap().unwrap();
    assert_eq!(explained.hold, None, "law 12: what was typed into the dialog is no draft");
    let events = agent.record.until("the choice", |events| !chosen(events).is_empty()).await;
    assert_eq!(chosen(&events), ["No"]);
    let refused = stage.yard.answer(&agent.at(), &text("2")).await.unwrap_err();
    assert_eq!(refused.code(), ErrorCode::NotAsking);
    assert!(!agent.record.events().contains(&Event::EmptyEnter), "no Enter came after the choice");
}

#[tokio::test]
async fn the_enter_of_an_answer_never_chooses_in_the_next_dialog() {
    let stage = Stage::new();
    let second = "{ text = 'Delete everything?', choices = [{ label = 'Delete', does = 'exit' }, { label = 'Keep' }] }";
    let agent = stage.launch(&format!("status.osc7501 = 'always'\ndialogs = [{{}}, {second}]")).await;
    stage.until(&agent, Status::WaitingUserAnswer).await;
    stage.yard.answer(&agent.at(), &text("1")).await.unwrap();
    let asks_again = |report: &StatusReport| {
        let message = report.blocked_on.as_ref().and_then(|blocked| blocked.message.as_deref());
        message == Some("Delete everything?")
    };
    let asks = stage.yard.status_until(&agent.at(), asks_again, PATIENCE).await.unwrap();
    assert!(asks.is_some(), "the second dialog is known");
    assert_eq!(chosen(&agent.record.events()), ["Yes"]);
    stage.yard.answer(&agent.at(), &Answer::Keys("Down Enter".to_owned())).await.unwrap();
    stage.until(&agent, Status::Idle).await;
    assert_eq!(chosen(&agent.record.events()), ["Yes", "Keep"]);
}

#[tokio::test]
async fn an_answer_holds_no_keys() {
    let stage = Stage::new();
    let agent = stage.launch("status.osc7501 = 'always'\ndialogs = [{}]").await;
    stage.until(&agent, Status::WaitingUserAnswer).await;
    let removed = stage.yard.answer(&agent.at(), &text("\x1b[B\x032\r")).await.unwrap();
    assert_eq!(removed.characters(), 4);
    let events = agent.record.until("the choice", |events| !chosen(events).is_empty()).await;
    assert_eq!(chosen(&events), ["No"]);
    for bad in ["", "\x1b[B\r", &"x".repeat(5_000)] {
        stage.until(&agent, Status::Idle).await;
        assert!(stage.yard.answer(&agent.at(), &text(bad)).await.is_err());
    }
}
