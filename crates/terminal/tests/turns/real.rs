//! Delivery to the scripted agent in a real terminal: its record is the referee.

use ptyard_core::turn::{Hold, Status};
use ptyard_testkit::agent::Event;
use ptyard_testkit::soon;

use crate::stage::Real;

async fn deliver(real: &mut Real, texts: &[&str]) {
    let mut attempt = 0;
    for text in texts {
        attempt = real.stage.hand_over(attempt + 1, text).await;
        real.stage.delivered(attempt).await;
    }
    real.record.until("every message is submitted", |_| real.record.submitted().len() >= texts.len()).await;
    assert_eq!(real.record.submitted(), texts);
}

/// Two that are the same, one that looks like a composer, one too short to be told from anything.
const TEXTS: [&str; 6] =
    ["first message", "second one\nof two lines", "third", "third", "what does\n> ready\nmean", "ok"];

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
async fn case_p04_input_at_the_start_waits_and_a_draft_stays_its_owners() {
    let mut real = Real::new("boot_ms = 300\ndraft = 'my own words'").await;
    assert_eq!(real.stage.offer(1, "mail").await.map_err(|hold| hold != Hold::Draft), Err(true));
    real.stage.status(Status::Idle).await;
    assert_eq!(real.stage.offer(2, "mail").await, Err(Hold::Draft));
    real.stage.type_in("\r").await;
    let attempt = real.stage.hand_over(3, "mail").await;
    real.stage.delivered(attempt).await;
    assert_eq!(real.record.submitted(), ["my own words", "mail"]);
}

#[tokio::test]
async fn case_p03_mail_answers_no_dialog() {
    let mut real = Real::new("dialogs = [{ after_ms = 100 }]\nturn = { busy_ms = 100 }").await;
    real.stage.status(Status::WaitingUserAnswer).await;
    assert_eq!(real.stage.offer(1, "status please?").await, Err(Hold::Dialog));
    assert!(!real.record.events().iter().any(|event| matches!(event, Event::Chosen { .. })));
    // The only way to press the button is to press it.
    real.stage.type_in("\r").await;
    let attempt = real.stage.hand_over(2, "status please?").await;
    real.stage.delivered(attempt).await;
    assert_eq!(real.record.submitted(), ["status please?"]);
}

#[tokio::test]
async fn case_p09_a_turn_that_shows_nothing_is_waited_for_and_nothing_is_pasted_twice() {
    let mut real = Real::new("turn = { busy_ms = 4000, show = 'nothing' }").await;
    real.stage.ready().await;
    real.stage.offer(1, "take your time").await.unwrap();
    assert_eq!(real.stage.offer(2, "impatient").await, Err(Hold::Unconfirmed));
    real.stage.delivered(1).await;
    real.stage.ready().await;
    assert_eq!(real.record.submitted(), ["take your time"]);
    let pastes = real.record.events().iter().filter(|event| matches!(event, Event::Pasted { .. })).count();
    assert_eq!(pastes, 1);
}

#[tokio::test]
async fn case_d04_a_shell_in_the_agents_place_gets_no_mail() {
    let mut real = Real::new("turn = { busy_ms = 100, end = 'shell' }").await;
    real.stage.ready().await;
    real.stage.offer(1, "the last thing you do").await.unwrap();
    real.stage.delivered(1).await;
    real.record
        .until("it leaves", |events| events.iter().any(|event| matches!(event, Event::Left { .. })))
        .await;
    // What it left on the screen may look ready; who reads the keys is another matter.
    let shell = async {
        let mut attempt = 1;
        loop {
            attempt += 1;
            match real.stage.offer(attempt, "echo pwned").await {
                Err(Hold::ShellInForeground) => break,
                Err(_) => tokio::task::yield_now().await,
                Ok(()) => panic!("mail for a shell"),
            }
        }
    };
    soon("the shell is seen", shell).await;
    real.stage.status(Status::Error).await;
}
