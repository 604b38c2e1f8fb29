//! Delivery to the scripted agent in a real terminal: its record is the referee.

use ptyard_core::turn::{Hold, Status};

use crate::stage::Real;

async fn deliver(real: &mut Real, texts: &[&str]) {
    let mut attempt = 0;
    for text in texts {
        loop {
            attempt += 1;
            match real.stage.offer(attempt, text).await {
                Ok(()) => break,
                Err(_) => real.stage.ready().await,
            }
        }
        real.stage.delivered(attempt).await;
    }
    real.record.until("every message is submitted", |_| real.record.submitted().len() >= texts.len()).await;
    assert_eq!(real.record.submitted(), texts);
}

const TEXTS: [&str; 5] = ["first message", "second one\nof two lines", "third", "third", "ok"];

#[tokio::test]
async fn law_08_one_message_per_ready_cycle_by_the_screen_alone() {
    let mut real = Real::new("turn = { busy_ms = 400 }").await;
    deliver(&mut real, &TEXTS).await;
}

#[tokio::test]
async fn law_08_one_message_per_ready_cycle_by_reports() {
    let mut real =
        Real::new("status = { osc7501 = 'always', screen = false }\nturn = { busy_ms = 300 }").await;
    deliver(&mut real, &TEXTS).await;
}

#[tokio::test]
async fn i17_turns_that_are_over_at_once() {
    let mut real = Real::new("turn = { busy_ms = 0 }").await;
    deliver(&mut real, &TEXTS).await;
}

#[tokio::test]
async fn a_question_for_reports_is_answered_and_they_are_believed() {
    let mut real = Real::new("status = { osc7501 = 'asks', screen = false }\nturn = { busy_ms = 0 }").await;
    deliver(&mut real, &TEXTS).await;
}

#[tokio::test]
async fn an_enter_taken_for_a_line_break_is_seen_and_made_good() {
    let mut real =
        Real::new("composer = { after_paste = { within-ms = 500 } }\nturn = { busy_ms = 100 }").await;
    real.stage.ready().await;
    real.stage.offer(1, "a text that stays").await.unwrap();
    real.stage.delivered(1).await;
    let submitted = real.record.submitted();
    assert_eq!(submitted.len(), 1, "{submitted:?}");
    assert_eq!(submitted[0].trim_end(), "a text that stays");
}

#[tokio::test]
async fn folded_pastes_are_known_for_ours() {
    let text: String = (0..40).map(|line| format!("line {line} of a long message\n")).collect();
    let text = text.trim_end();
    let mut real = Real::new("composer = { fold_lines = 5 }\nturn = { busy_ms = 200 }").await;
    deliver(&mut real, &[text, "and another"]).await;
}

#[tokio::test]
async fn input_at_the_start_waits_and_a_draft_stays_its_owners() {
    let mut real = Real::new("boot_ms = 300\ndraft = 'my own words'").await;
    assert_eq!(real.stage.offer(1, "mail").await.map_err(|hold| hold != Hold::Draft), Err(true));
    real.stage.status(Status::Idle).await;
    assert_eq!(real.stage.offer(2, "mail").await, Err(Hold::Draft));
    real.stage.type_in("\r").await;
    let mut attempt = 2;
    loop {
        attempt += 1;
        match real.stage.offer(attempt, "mail").await {
            Ok(()) => break,
            Err(_) => real.stage.ready().await,
        }
    }
    real.stage.delivered(attempt).await;
    assert_eq!(real.record.submitted(), ["my own words", "mail"]);
}
