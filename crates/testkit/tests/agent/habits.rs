//! What only a terminal can show: reads, modes, process ends.

use ptyard_terminal::local::LocalBackend;
use ptyard_testkit::agent::Event;

use crate::stage::Agent;

async fn agent(toml: &str) -> Agent {
    Agent::start(&LocalBackend::new().unwrap(), toml).await
}

#[tokio::test]
async fn text_and_enter_in_one_write_are_one_read_and_no_message() {
    let mut agent = agent("composer.burst = 'same-read'").await;
    agent.until_shown("? for help").await;
    agent.write("hello\r").await;
    agent.record.until("the line break", |events| events.contains(&Event::LineBreakByBurst)).await;
    agent.write("\r").await;
    agent.until_shown("You said").await;
    assert_eq!(agent.record.submitted(), ["hello\n"]);
}

#[tokio::test]
async fn what_comes_before_it_is_ready_is_lost_and_told() {
    let mut agent = agent("boot_ms = 300").await;
    agent.until_shown("starting").await;
    agent.write("x").await;
    let lost = Event::Discarded { during: "boot".to_owned(), text: "x".to_owned() };
    agent.record.until("the loss", |events| events.contains(&lost)).await;
    agent.until_shown("? for help").await;
    agent.submit("kept").await;
    agent.until_shown("You said: kept").await;
    assert_eq!(agent.record.submitted(), ["kept"]);
}

#[tokio::test]
async fn it_asks_for_pastes_and_leaves_the_terminal_as_it_was() {
    let mut agent = agent("").await;
    agent.until_printed("\x1b[?2004h").await;
    agent.until_shown("? for help").await;
    agent.submit("/quit").await;
    let exit = agent.exit().await;
    assert_eq!(exit.code, Some(0));
    assert!(String::from_utf8_lossy(&agent.printed).contains("\x1b[?2004l"));

    let mut plain = self::agent("composer.bracketed_paste = false").await;
    plain.until_shown("? for help").await;
    assert!(!String::from_utf8_lossy(&plain.printed).contains("\x1b[?2004h"));
}

#[tokio::test]
async fn a_silent_turn_prints_not_one_byte() {
    let mut agent = agent("turn = { busy_ms = 150, show = 'nothing' }").await;
    agent.until_shown("? for help").await;
    agent.submit("work").await;
    agent.record.until("the turn", |events| matches!(events.last(), Some(Event::Submitted { .. }))).await;
    let before = agent.printed.len();
    agent.read().await;
    let ended = agent.record.events();
    assert!(matches!(ended.last(), Some(Event::TurnEnded { .. })), "it printed before the end: {ended:?}");
    assert!(agent.printed.len() > before);
}

#[tokio::test]
async fn noise_is_printed_while_nothing_changes() {
    let mut agent = agent("screen.noise_ms = 10").await;
    agent.until_shown("? for help").await;
    let rows = agent.rows();
    let before = agent.printed.len();
    for _ in 0..3 {
        agent.read().await;
    }
    assert!(agent.printed.len() > before);
    assert_eq!(agent.rows(), rows);
}

#[tokio::test]
async fn the_terminal_s_answer_turns_reports_on() {
    let mut agent = agent("status = { osc7501 = 'asks' }").await;
    agent.until_printed("\x1b]7501;?\x1b\\").await;
    agent.until_shown("? for help").await;
    assert!(!String::from_utf8_lossy(&agent.printed).contains("state="));
    agent.write("\x1b]7501;?\x1b\\").await;
    agent.until_printed("state=idle").await;
    agent.submit("go").await;
    agent.until_printed("state=done").await;
    let printed = String::from_utf8_lossy(&agent.printed).into_owned();
    assert!(printed.find("state=working") < printed.find("state=done"));
}

#[tokio::test]
async fn ends_are_real_ends() {
    let mut crash = agent("turn = { busy_ms = 0, end = 'crash' }").await;
    crash.until_shown("? for help").await;
    crash.submit("a").await;
    assert_eq!(crash.exit().await.signal, Some(9));

    let mut exit = agent("turn = { busy_ms = 0, end = { exit = 3 } }").await;
    exit.until_shown("? for help").await;
    exit.submit("a").await;
    assert_eq!(exit.exit().await.code, Some(3));

    let mut shell = agent("turn = { busy_ms = 0, end = 'shell' }").await;
    shell.until_shown("? for help").await;
    shell.submit("a").await;
    shell.until_printed("shell> ").await;
    shell.write("echo shell-$((40 + 2))\nexit\n").await;
    shell.until_printed("shell-42").await;
    assert_eq!(shell.exit().await.code, Some(0));
}
