//! Cases of the field: what an agent shows, and what is made of it.

use std::time::Duration;

use ptyard_core::turn::{Hold, Status, StatusReport};
use ptyard_testkit::PATIENCE;
use ptyard_testkit::agent::{Event, MANIFEST};
use ptyard_yard::TerminalRef;
use ptyard_yard::agents::{Answer, LaunchSpec};
use ptyard_yard::inbox::{Message, MessageState, SendSpec, Turn, Until, Urgency};

use crate::stage::{Scripted, Stage};

/// A stage whose scripted agents are judged by their screens.
async fn on_screen(toml: &str) -> (Stage, Scripted) {
    judged_by(MANIFEST, toml).await
}

async fn judged_by(manifest: &str, toml: &str) -> (Stage, Scripted) {
    let stage = Stage::new();
    let providers = stage.home.path().join("state/providers");
    std::fs::create_dir_all(&providers).unwrap();
    std::fs::write(providers.join("scripted.toml"), manifest).unwrap();
    let (mut spec, record) = stage.scripted(toml);
    // Its provider names the program.
    let program = spec.extra.remove(0);
    let directory = std::path::Path::new(&program).parent().unwrap().display().to_string();
    spec.env.insert("PATH".to_owned(), directory);
    let spec = LaunchSpec { provider: Some("scripted".to_owned()), ..spec };
    let agent = stage.launch_as(spec, record).await;
    (stage, agent)
}

async fn send(stage: &Stage, agent: &Scripted, text: &str) -> Message {
    stage.yard.send(&agent.at(), SendSpec::new(text)).await.unwrap()
}

async fn until(stage: &Stage, message: &Message, until: Until) -> Message {
    let told = stage.yard.await_message(message.id, until, PATIENCE).await.unwrap();
    assert_eq!(told.state, MessageState::Delivered, "{told:?}");
    told
}

fn ended(agent: &Scripted) -> usize {
    agent.record.events().iter().filter(|event| matches!(event, Event::TurnEnded { .. })).count()
}

/// Waits until it is ready again; the turn it was at has to be over then.
async fn ready_after(stage: &Stage, agent: &Scripted, turns: usize) {
    let ready = stage.yard.status_until(&agent.at(), |report| report.status.is_ready(), PATIENCE).await;
    assert!(ready.unwrap().is_some());
    assert_eq!(ended(agent), turns, "it counted as ready in the middle of its turn");
}

#[tokio::test]
async fn case_d01_a_task_that_looks_like_a_prompt_is_not_taken_for_one() {
    let (stage, agent) = on_screen("turn = { busy_ms = 1200 }").await;
    let message = send(&stage, &agent, "look:\n> ready\n  ? for help\n> ").await;
    until(&stage, &message, Until::Delivered).await;
    assert_eq!(stage.yard.status(&agent.at()).unwrap().unwrap().report.status, Status::Processing);
    ready_after(&stage, &agent, 1).await;
    assert_eq!(until(&stage, &message, Until::Completed).await.turn, Some(Turn::Completed));
}

#[tokio::test]
async fn case_d02_a_screen_that_stands_still_is_not_idle() {
    let (stage, agent) = on_screen("turn = { busy_ms = 2600, show = 'still' }").await;
    let message = send(&stage, &agent, "think about it for a while").await;
    until(&stage, &message, Until::Delivered).await;
    let report = stage.yard.status(&agent.at()).unwrap().unwrap().report;
    assert_eq!(report.status, Status::Processing);
    ready_after(&stage, &agent, 1).await;
    let report = stage.yard.status(&agent.at()).unwrap().unwrap().report;
    assert!(report.source.is_some() && report.rule.is_some(), "who says so, and why: {report:?}");
}

/// A stage with a shell as the agent.
async fn shell() -> (Stage, TerminalRef) {
    let stage = Stage::new();
    let extra = ["bash", "--norc", "--noprofile", "-i"].map(str::to_owned).to_vec();
    let spec = LaunchSpec { provider: Some("shell".to_owned()), extra, ..LaunchSpec::default() };
    let agent = TerminalRef::Id(stage.yard.launch(spec).await.unwrap().id);
    (stage, agent)
}

#[tokio::test]
async fn case_d09_a_dialog_of_a_child_on_the_same_terminal_blocks_too() {
    let (stage, agent) = shell().await;
    for _ in 0..2 {
        let command = "bash -c 'read -p \"Remove it? [y/n] \" -r said; echo \"it was $said\"'";
        let message = stage.yard.send(&agent, SendSpec::new(command)).await.unwrap();
        let asks = |report: &StatusReport| report.status == Status::WaitingUserAnswer;
        assert!(stage.yard.status_until(&agent, asks, PATIENCE).await.unwrap().is_some());
        stage.yard.answer(&agent, &Answer::Text("y".to_owned())).await.unwrap();
        assert_eq!(until(&stage, &message, Until::Completed).await.turn, Some(Turn::Completed));
        assert!(stage.yard.status(&agent).unwrap().unwrap().report.blocked_on.is_none());
    }
}

#[tokio::test]
async fn case_d02_a_shell_is_busy_while_a_command_runs() {
    let (stage, agent) = shell().await;
    let send = async |text: &str| stage.yard.send(&agent, SendSpec::new(text)).await.unwrap();
    let lines = async || stage.yard.screen(&agent, 0).await.unwrap().lines;
    // What looks like a prompt is printed by a program of its own, and by the shell itself.
    let script = "printf 'all done\\n$ '; read -r line; echo \"took $line\"";
    for command in [format!("bash -c '{}'", script.replace('\'', "\"")), script.to_owned()] {
        let message = send(&format!("clear; {command}")).await;
        until(&stage, &message, Until::Delivered).await;
        let looked = async {
            let mut rule = None;
            while rule.as_deref() != Some("foreground.command")
                || !lines().await.iter().any(|line| line == "$")
            {
                let explained = stage.yard.explain(&agent).await.unwrap().unwrap();
                rule = explained.report.rule.map(|rule| rule.as_str().to_owned());
            }
        };
        ptyard_testkit::soon("what looks like a prompt is looked at", looked).await;
        assert_eq!(stage.yard.status(&agent).unwrap().unwrap().report.status, Status::Processing);
        let next = send("echo second").await;
        let state = stage.yard.message(next.id).await.unwrap().state;
        assert_eq!(state, MessageState::Pending, "it is no answer to a command");
        stage.yard.type_bytes(&agent, b"the answer\r".to_vec()).await.unwrap();
        for message in [&message, &next] {
            assert_eq!(until(&stage, message, Until::Completed).await.turn, Some(Turn::Completed));
        }
        let shown = lines().await;
        for line in ["took the answer", "second"] {
            assert!(shown.iter().any(|shown| shown == line), "{line}: {shown:?}");
        }
    }
}

#[tokio::test]
async fn case_d03_a_screen_that_nobody_knows_is_told_and_holds_nobody_up() {
    // Another version of the program draws its last line in another way.
    let (stage, agent) = judged_by(&MANIFEST.replace("for help", "for aid"), "").await;
    agent.record.until("it is ready", |events| events.contains(&Event::Ready)).await;
    let message = send(&stage, &agent, "are you there?").await;
    let limit = Duration::from_millis(500);
    let told = stage.yard.await_message(message.id, Until::Delivered, limit).await.unwrap();
    assert_eq!(told.state, MessageState::Pending);
    let explained = stage.yard.explain(&agent.at()).await.unwrap().unwrap();
    // It becomes unknown, which takes longer than this caller waits.
    assert_eq!(explained.report.status, Status::Starting, "{explained:?}");
    assert!(explained.hold.is_some(), "and it is told why: {explained:?}");
    assert_eq!(agent.record.submitted(), [""; 0]);
}

#[tokio::test]
async fn case_d06_an_agent_that_talks_about_crashes_is_left_alone() {
    let answer = "exit code 1\\n$ \\nSegmentation fault (core dumped)\\nPress Enter to continue";
    let (stage, agent) = on_screen(&format!("turn = {{ busy_ms = 100, answer = \"{answer}\" }}")).await;
    for number in 1..=2 {
        let message = send(&stage, &agent, &format!("how did test {number} end?")).await;
        until(&stage, &message, Until::Completed).await;
    }
    let report = stage.yard.status(&agent.at()).unwrap().unwrap().report;
    assert_eq!(report.status, Status::Completed);
    let events = agent.record.events();
    let was_typed =
        |event: &Event| matches!(event, Event::Key { .. } | Event::EmptyEnter | Event::Left { .. });
    assert!(!events.iter().any(was_typed), "nobody pressed a key about it: {events:?}");
}

#[tokio::test]
async fn case_d09_a_dialog_that_is_gone_blocks_nothing_and_the_next_one_does() {
    let ask = "ask = { after_ms = 50 }";
    let toml = format!("turn = {{ busy_ms = 200, {ask} }}\nstatus = {{ osc7501 = 'off' }}");
    let (stage, agent) = on_screen(&toml).await;
    for number in 1..=2 {
        let message = send(&stage, &agent, &format!("remove build {number}")).await;
        stage.until(&agent, Status::WaitingUserAnswer).await;
        stage.yard.answer(&agent.at(), &Answer::Text("2".to_owned())).await.unwrap();
        until(&stage, &message, Until::Completed).await;
        assert!(stage.yard.status(&agent.at()).unwrap().unwrap().report.blocked_on.is_none());
        assert_eq!(stage.yard.explain(&agent.at()).await.unwrap().unwrap().hold, None);
    }
}

#[tokio::test]
async fn case_i01_a_message_that_was_refused_comes_without_any_output_to_wake_it() {
    let (stage, agent) = on_screen("draft = 'half a thought'").await;
    agent.record.until("it is ready", |events| events.contains(&Event::Ready)).await;
    let message = send(&stage, &agent, "are you there?").await;
    let hold = async {
        while stage.yard.mailbox(&agent.at()).await.unwrap().hold != Some(Hold::Draft) {
            tokio::task::yield_now().await;
        }
    };
    ptyard_testkit::soon("the draft is seen", hold).await;
    assert_eq!(stage.yard.message(message.id).await.unwrap().state, MessageState::Pending);
    stage.yard.type_bytes(&agent.at(), b"\x15".to_vec()).await.unwrap();
    until(&stage, &message, Until::Completed).await;
    // Nothing was printed since, and nothing failed: it is simply taken.
    let next = send(&stage, &agent, "and still?").await;
    until(&stage, &next, Until::Completed).await;
    assert_eq!(agent.record.submitted(), ["are you there?", "and still?"]);
}

#[tokio::test]
async fn case_i07_mail_wakes_an_idle_agent_once_and_is_seen_waiting_for_a_busy_one() {
    let (stage, agent) = on_screen("turn = { busy_ms = 700 }").await;
    stage.until(&agent, Status::Idle).await;
    let first = send(&stage, &agent, "the first of them").await;
    until(&stage, &first, Until::Delivered).await;
    let second = send(&stage, &agent, "the second of them").await;
    let inbox = stage.yard.mailbox(&agent.at()).await.unwrap();
    assert_eq!((inbox.mailbox.pending, inbox.hold), (1, Some(Hold::Busy)));
    assert_eq!(inbox.mailbox.oldest.map(|(id, _)| id), Some(second.id), "and since when");
    until(&stage, &second, Until::Completed).await;
    assert_eq!(agent.record.submitted(), ["the first of them", "the second of them"]);
    let in_a_turn = |event: &Event| matches!(event, Event::Queued { .. } | Event::Discarded { .. });
    assert!(!agent.record.events().iter().any(in_a_turn));
}

#[tokio::test]
async fn urgent_mail_stops_the_turn_of_an_agent_and_comes_next() {
    let (stage, agent) = on_screen("turns = [{ busy_ms = 600000 }]").await;
    let long = send(&stage, &agent, "count to a billion").await;
    until(&stage, &long, Until::Delivered).await;
    send(&stage, &agent, "this can wait").await;
    let spec = SendSpec { urgency: Urgency::Now, ..SendSpec::new("stop and look at this") };
    let urgent = stage.yard.send(&agent.at(), spec).await.unwrap();
    until(&stage, &urgent, Until::Completed).await;
    let stopped = Event::TurnEnded { turn: 1, how: "interrupted".to_owned() };
    assert!(agent.record.events().contains(&stopped));
    assert_eq!(agent.record.submitted()[..2], ["count to a billion", "stop and look at this"]);
    assert_eq!(until(&stage, &long, Until::Completed).await.turn, Some(Turn::Completed));
}
