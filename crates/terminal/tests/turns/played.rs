//! Delivery step by step, against an agent that the test plays. The clock is paused: it moves when everybody waits.

use ptyard_core::turn::{
    Doubt, Evidence, Hold, Outcome, Position, Recovered, Rule, Source, StallReason, Status,
};
use ptyard_core::{Exit, Moment};
use ptyard_screen::keys::parse;
use ptyard_screen::{Signal, View};
use ptyard_terminal::Terminal;
use ptyard_terminal::agent::{Agent, Composer, Earlier, Haste, Judge, Note, Recipe, TurnEvent, Verdict};
use ptyard_testkit::soon;

use crate::judge::Sketch;
use crate::stage::{Played, attempt_id};

const TEXT: &str = "please look at the parser";

async fn ready() -> Played {
    let mut played = Played::new().await;
    played.draws("", "").await;
    played.stage.ready().await;
    played
}

#[tokio::test(start_paused = true)]
async fn law_09_nothing_is_confirmed_by_what_was_printed_before_the_write() {
    let mut played = ready().await;
    played.stage.offer(1, TEXT).await.unwrap();
    played.input(TEXT).await;
    played.input(&format!("{TEXT}\r")).await;
    // An older frame, read after the write: a flicker of work, and ready again.
    played.draws("Working", "").await;
    played.draws("", "").await;
    assert_eq!(played.stage.offer(2, "next").await, Err(Hold::Unconfirmed));
    // The text appears, and leaves the composer.
    played.draws("", TEXT).await;
    played.stage.status(Status::Processing).await;
    assert_eq!(played.stage.offer(3, "next").await, Err(Hold::Unconfirmed));
    played.draws("Working", "").await;
    played.stage.delivered(1).await;
    assert_eq!(played.stage.offer(4, "next").await, Err(Hold::Busy));
    played.draws("", "").await;
    played.stage.ready().await;
    played.stage.offer(5, "next").await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn law_09_an_empty_composer_does_not_stand_beside_a_ready_from_before() {
    let mut played = ready().await;
    played.stage.offer(1, TEXT).await.unwrap();
    played.input(TEXT).await;
    played.draws("", TEXT).await;
    played.input(&format!("{TEXT}\r")).await;
    // It takes the Enter late, and goes to work in the frame in which its composer is empty.
    let looked = || tokio::time::sleep(std::time::Duration::from_millis(300));
    played.draws("", TEXT).await;
    looked().await;
    played.draws("Working (not believed)", "").await;
    looked().await;
    assert_eq!(played.stage.offer(2, "next").await, Err(Hold::Busy));
    played.draws("Working", "").await;
    played.stage.delivered(1).await;
    assert_eq!(played.stage.offer(3, "next").await, Err(Hold::Busy));
}

/// A program may say that it is ready before all of its answer is drawn, and the answer may name a text that is like ours.
#[tokio::test(start_paused = true)]
async fn law_09_what_an_answer_before_shows_late_is_not_our_text() {
    const OTHER: &str = "please look at the parser of numbers";
    for (late, ours) in [(OTHER, "please look at the parser of names"), (TEXT, TEXT)] {
        let mut played = ready().await;
        played.prints("\x1b]7501;state=done\x1b\\").await;
        played.stage.offer(1, ours).await.unwrap();
        played.input(ours).await;
        played.draws(&format!("You said: {late}\r\n"), "").await;
        tokio::time::sleep(std::time::Duration::from_millis(300)).await;
        assert_eq!(played.stage.offer(2, "next").await, Err(Hold::Unconfirmed), "{ours}");
        played.draws(&format!("You said: {late}\r\n"), ours).await;
        played.input(&format!("{ours}\r")).await;
        played.draws(&format!("You said: {late}\r\n> {ours}\r\nWorking"), "").await;
        played.stage.delivered(1).await;
    }
}

#[tokio::test(start_paused = true)]
async fn law_09_what_was_shown_before_the_enter_is_not_what_it_caused() {
    let mut played = ready().await;
    played.prints("\x1b]7501;state=done\x1b\\").await;
    played.stage.offer(1, TEXT).await.unwrap();
    played.input(TEXT).await;
    // It is slow: it ends its answer, which names the text, and reads ours after the Enter that does not wait for ever.
    played.draws(&format!("You said: {TEXT}\r\n"), "").await;
    played.input(&format!("{TEXT}\r")).await;
    played.draws(&format!("You said: {TEXT}\r\nTip: ask more.\r\n"), "").await;
    tokio::time::sleep(std::time::Duration::from_millis(300)).await;
    assert_eq!(played.stage.offer(2, "next").await, Err(Hold::Unconfirmed));
    played.draws(&format!("You said: {TEXT}\r\nTip: ask more.\r\n> {TEXT}\r\n"), "").await;
    played.stage.delivered(1).await;
}

#[tokio::test(start_paused = true)]
async fn i17_a_turn_too_short_to_be_seen_releases() {
    let mut played = ready().await;
    played.stage.offer(1, TEXT).await.unwrap();
    played.input(TEXT).await;
    played.draws("", TEXT).await;
    played.input(&format!("{TEXT}\r")).await;
    played.draws("", "").await;
    played.stage.delivered(1).await;
    played.stage.ready().await;
}

#[tokio::test(start_paused = true)]
async fn reports_confirm_and_end_turns_at_once() {
    let mut played = ready().await;
    played.prints("\x1b]7501;state=idle\x1b\\").await;
    played.stage.offer(1, TEXT).await.unwrap();
    played.input(&format!("{TEXT}\r")).await;
    // `done` again, about the turn before: it says nothing about this one.
    played.prints("\x1b]7501;state=done\x1b\\").await;
    assert_eq!(played.stage.offer(2, "next").await, Err(Hold::Unconfirmed));
    // Both in one chunk: two reports are two.
    played.prints("\x1b]7501;state=working\x1b\\\x1b]7501;state=done\x1b\\").await;
    played.stage.delivered(1).await;
    played.stage.ready().await;
}

#[tokio::test(start_paused = true)]
async fn law_12_a_text_that_stays_in_the_composer_gets_another_enter_and_no_other_paste() {
    let mut played = ready().await;
    played.stage.offer(1, TEXT).await.unwrap();
    played.input(TEXT).await;
    played.draws("", TEXT).await;
    // Nothing comes of the first Enter, nor of the two after it; there is no fourth.
    played.input(&format!("{TEXT}\r\r\r")).await;
    tokio::time::sleep(std::time::Duration::from_secs(600)).await;
    played.input(&format!("{TEXT}\r\r\r")).await;
    let stalled = played.stage.terminal.explain().await.unwrap().unwrap().report.stalled.unwrap();
    assert_eq!((stalled.attempt, stalled.reason), (attempt_id(1), StallReason::NotSubmitted));
    assert!(stalled.age.as_secs() > 500, "{stalled:?}");
    assert_eq!(played.stage.offer(2, "next").await, Err(Hold::Unconfirmed));
    // A person submits it.
    played.draws("Working", "").await;
    played.stage.delivered(1).await;
}

#[tokio::test(start_paused = true)]
async fn law_12_time_alone_releases_nothing_and_a_person_does() {
    let mut played = ready().await;
    played.stage.offer(1, TEXT).await.unwrap();
    played.input(&format!("{TEXT}\r")).await;
    tokio::time::sleep(std::time::Duration::from_secs(86_400)).await;
    assert_eq!(played.stage.offer(2, "next").await, Err(Hold::Unconfirmed));
    let stalled = played.stage.terminal.explain().await.unwrap().unwrap().report.stalled.unwrap();
    assert_eq!(stalled.reason, StallReason::NoEvidence);
    played.stage.terminal.reset_turns().await.unwrap();
    assert_eq!(played.stage.outcome().await, (attempt_id(1), Outcome::Uncertain(Doubt::Reset)));
    played.stage.ready().await;
    played.stage.offer(3, "next").await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn law_07_a_paste_and_its_enter_stay_together() {
    let mut played = ready().await;
    played.prints("\x1b[?2004h").await;
    played.stage.offer(1, TEXT).await.unwrap();
    let pasted = format!("\x1b[200~{TEXT}\x1b[201~");
    played.input(&pasted).await;
    // Somebody types in the pause, and a program's question is to be answered.
    let terminal = played.stage.terminal.clone();
    let person = tokio::spawn(async move {
        terminal.type_in(ptyard_terminal::Typed::raw(b"mine".to_vec())).await.unwrap()
    });
    played.draws("", TEXT).await;
    played.input(&format!("{pasted}\rmine")).await;
    person.await.unwrap();
    played.draws("Working", "mine").await;
    played.stage.delivered(1).await;
    played.draws("", "mine").await;
    played.stage.status(Status::Completed).await;
    assert_eq!(played.stage.offer(2, "next").await, Err(Hold::Draft));
}

#[tokio::test(start_paused = true)]
async fn a_persons_draft_is_never_mixed_with_mail() {
    let mut played = ready().await;
    played.stage.type_in("my own words").await;
    // Not drawn yet, and known all the same.
    assert_eq!(played.stage.offer(1, TEXT).await, Err(Hold::Draft));
    played.draws("", "my own words").await;
    assert_eq!(played.stage.offer(2, TEXT).await, Err(Hold::Draft));
    played.stage.type_in("\r").await;
    assert_eq!(played.stage.offer(3, TEXT).await, Err(Hold::HumanTurn));
    played.draws("Working", "").await;
    played.draws("", "").await;
    played.stage.ready().await;
    played.stage.offer(4, TEXT).await.unwrap();
    played.input(&format!("my own words\r{TEXT}\r")).await;
}

#[tokio::test(start_paused = true)]
async fn i21_a_dialog_takes_no_mail_and_holds_the_enter_back() {
    let mut played = ready().await;
    let dialog = "\x1b[H\x1b[2Jagent\r\nRun command: rm -r build ?\r\n❯ 1. Yes\r\n  2. No\r\nEnter to choose";
    played.stage.offer(1, TEXT).await.unwrap();
    played.input(TEXT).await;
    played.prints(dialog).await;
    played.stage.status(Status::WaitingUserAnswer).await;
    tokio::time::sleep(std::time::Duration::from_secs(3_600)).await;
    played.input(TEXT).await;
    assert_eq!(played.stage.offer(2, "next").await, Err(Hold::Unconfirmed));
    // It closes, and the text is still there.
    played.draws("", TEXT).await;
    played.input(&format!("{TEXT}\r")).await;
    played.draws("", "").await;
    played.stage.delivered(1).await;
    played.stage.ready().await;
    // The frame with the dialog and the offer come together: the screen is judged at the write.
    played.script.print(dialog);
    assert_eq!(played.stage.offer(3, "next").await, Err(Hold::Dialog));
}

#[tokio::test(start_paused = true)]
async fn i22_nothing_is_typed_into_a_bare_shell() {
    let mut played = ready().await;
    played.script.set_foreground("-bash");
    assert_eq!(played.stage.offer(1, TEXT).await, Err(Hold::ShellInForeground));
    played.stage.status(Status::Error).await;
    played.script.set_foreground("agent");
    played.draws("", "").await;
    played.stage.offer(2, TEXT).await.unwrap();
    played.input(TEXT).await;
    // It comes between the paste and its Enter.
    played.script.set_foreground("zsh");
    assert_eq!(played.stage.outcome().await, (attempt_id(2), Outcome::Uncertain(Doubt::ShellInForeground)));
    tokio::time::sleep(std::time::Duration::from_secs(60)).await;
    played.input(TEXT).await;
}

#[tokio::test(start_paused = true)]
async fn law_12_a_shell_that_starts_the_agent_and_becomes_it_strands_no_mail() {
    let mut played = ready().await;
    played.script.set_foreground("bash");
    assert_eq!(played.stage.offer(1, TEXT).await, Err(Hold::ShellInForeground));
    played.stage.status(Status::Error).await;
    tokio::time::sleep(std::time::Duration::from_secs(5)).await;
    played.stage.status(Status::Error).await;
    // Nothing is printed, and nothing tells of it.
    played.script.set_foreground("agent");
    played.stage.ready().await;
    played.stage.offer(2, TEXT).await.unwrap();
    played.input(TEXT).await;
    played.draws("", TEXT).await;
    played.input(&format!("{TEXT}\r")).await;
    played.draws("", "").await;
    played.stage.delivered(2).await;
    played.stage.ready().await;
    // After a turn a shell is what is left of the agent, and whatever runs in it is somebody else's.
    played.script.set_foreground("bash");
    assert_eq!(played.stage.offer(3, TEXT).await, Err(Hold::ShellInForeground));
    played.script.set_foreground("cat");
    tokio::time::sleep(std::time::Duration::from_secs(3_600)).await;
    played.stage.status(Status::Error).await;
}

#[tokio::test(start_paused = true)]
async fn law_10_an_end_takes_the_attempt_with_it() {
    let mut played = ready().await;
    played.stage.offer(1, TEXT).await.unwrap();
    played.input(&format!("{TEXT}\r")).await;
    played.script.exit(Exit::exited(0));
    played.script.close_output();
    assert_eq!(played.stage.outcome().await, (attempt_id(1), Outcome::Uncertain(Doubt::Exited)));
    played.stage.status(Status::Exited).await;
}

#[tokio::test(start_paused = true)]
async fn law_13_a_note_stands_before_the_first_byte_and_not_after_a_refusal() {
    let mut played = ready().await;
    let log = played.stage.directory.path().join("t");
    played.script.take_at_most(Some(0));
    played.stage.offer(1, TEXT).await.unwrap();
    assert_eq!(played.script.input(), b"");
    let note = Terminal::noted(&log).unwrap();
    assert_eq!(note.attempt, attempt_id(1));
    assert_eq!(note.from, played.stage.terminal.progress().borrow().end);
    // The input ends before a byte was taken: it is as if nothing had been tried.
    played.script.exit(Exit::exited(0));
    played.script.close_output();
    assert_eq!(played.stage.outcome().await, (attempt_id(1), Outcome::Refused(Hold::InputNotTaken)));
    assert_eq!(Terminal::noted(&log), None);
}

#[tokio::test(start_paused = true)]
async fn nobody_is_handed_mail_without_an_agent_and_one_at_a_time() {
    let played = ready().await;
    let (first, second) = tokio::join!(played.stage.offer(1, TEXT), played.stage.offer(2, TEXT));
    assert_eq!([first, second], [Ok(()), Err(Hold::Unconfirmed)]);
}

/// Another server goes on with the terminal: what it knows is the note and the text.
async fn server_is_lost(played: &mut Played) {
    server_is_lost_with(played, TEXT).await;
}

async fn server_is_lost_with(played: &mut Played, text: &str) {
    let log = played.stage.directory.path().join("t");
    let Note { attempt, epoch, from, before } = Terminal::noted(&log).unwrap();
    let recovered = Recovered::Noted { attempt, from };
    let earlier = Earlier { epoch, recovered, text: Some(text.to_owned()), before, stopped: false };
    let agent =
        Agent { earlier: Some(earlier), ..Agent::new(Box::new(Sketch::default()), Recipe::default()) };
    played.stage.turns = played.stage.terminal.attend(agent).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn law_13_after_a_crash_a_text_in_the_composer_gets_its_enter() {
    let mut played = ready().await;
    played.stage.offer(1, TEXT).await.unwrap();
    played.input(&format!("{TEXT}\r")).await;
    played.draws("", TEXT).await;
    server_is_lost(&mut played).await;
    played.input(&format!("{TEXT}\r\r")).await;
    played.draws("Working", "").await;
    played.stage.delivered(1).await;
}

#[tokio::test(start_paused = true)]
async fn law_13_after_a_crash_a_report_in_the_log_is_the_proof() {
    let mut played = ready().await;
    played.prints("\x1b]7501;state=idle\x1b\\").await;
    played.stage.offer(1, TEXT).await.unwrap();
    played.input(&format!("{TEXT}\r")).await;
    played.prints("\x1b]7501;state=working\x1b\\").await;
    played.draws("Working", "").await;
    server_is_lost(&mut played).await;
    played.stage.delivered(1).await;
}

#[tokio::test(start_paused = true)]
async fn law_13_after_a_crash_what_nobody_can_tell_is_uncertain_and_never_sent_again() {
    let mut played = ready().await;
    played.stage.offer(1, TEXT).await.unwrap();
    played.input(&format!("{TEXT}\r")).await;
    server_is_lost(&mut played).await;
    assert_eq!(played.stage.outcome().await, (attempt_id(1), Outcome::Uncertain(Doubt::ServerLost)));
    tokio::time::sleep(std::time::Duration::from_secs(86_400)).await;
    assert_eq!(played.stage.offer(2, "next").await, Err(Hold::Unconfirmed));
    played.input(&format!("{TEXT}\r")).await;
    // A person looks, and says so.
    played.stage.terminal.reset_turns().await.unwrap();
    played.stage.ready().await;
    played.stage.offer(3, "next").await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn law_13_after_a_crash_a_text_that_is_new_in_the_transcript_is_the_proof() {
    let mut played = ready().await;
    played.stage.offer(1, TEXT).await.unwrap();
    played.input(&format!("{TEXT}\r")).await;
    server_is_lost(&mut played).await;
    played.draws(&format!("> {TEXT}\r\nDone."), "").await;
    played.stage.delivered(1).await;
}

#[tokio::test(start_paused = true)]
async fn law_13_after_a_crash_a_text_is_told_from_another_that_begins_like_it() {
    const OTHER: &str = "Compare the totals of last year with those of May";
    const OURS: &str = "Compare the totals of last year with those of June";
    let mut played = ready().await;
    played.draws(&format!("> {OTHER}\r\nDone.\r\n"), "").await;
    tokio::time::sleep(std::time::Duration::from_secs(1)).await;
    played.stage.offer(1, OURS).await.unwrap();
    played.input(&format!("{OURS}\r")).await;
    server_is_lost_with(&mut played, OURS).await;
    // The other one is still there, and ours is not.
    played.draws(&format!("> {OTHER}\r\nDone.\r\nAsk more.\r\n"), "").await;
    assert_eq!(played.stage.outcome().await, (attempt_id(1), Outcome::Uncertain(Doubt::ServerLost)));
    // It scrolled away when ours was taken.
    played.draws(&format!("> {OURS}\r\nDone.\r\n"), "").await;
    played.stage.delivered(1).await;
}

#[tokio::test(start_paused = true)]
async fn i23_a_text_that_a_person_took_out_of_the_composer_was_not_taken() {
    let mut played = ready().await;
    played.stage.offer(1, TEXT).await.unwrap();
    played.input(TEXT).await;
    played.draws("", TEXT).await;
    played.input(&format!("{TEXT}\r")).await;
    played.stage.type_in("\x15").await;
    played.draws("", "").await;
    tokio::time::sleep(std::time::Duration::from_secs(10)).await;
    assert_eq!(played.stage.offer(2, "next").await, Err(Hold::Unconfirmed));
    played.stage.terminal.reset_turns().await.unwrap();
    assert_eq!(played.stage.outcome().await, (attempt_id(1), Outcome::Uncertain(Doubt::Reset)));
}

#[tokio::test(start_paused = true)]
async fn law_12_a_program_that_never_rests_is_looked_at_all_the_same() {
    let mut played = ready().await;
    played.stage.offer(1, TEXT).await.unwrap();
    played.input(&format!("{TEXT}\r")).await;
    played.draws("", TEXT).await;
    server_is_lost(&mut played).await;
    // It draws the same again and again, and its text still stands in the composer.
    let drawing = async {
        loop {
            played.draws("", TEXT).await;
            tokio::time::sleep(std::time::Duration::from_millis(500)).await;
        }
    };
    let entered = format!("{TEXT}\r\r");
    tokio::select! {
        () = played.input(&entered) => {}
        () = drawing => {}
    }
}

const STOP: &str = "\x1b";

/// An agent at work on a message, whose turns are stopped by Escape.
async fn at_work() -> Played {
    let mut played = Played::stopped_by("Escape").await;
    played.draws("", "").await;
    played.stage.ready().await;
    played.stage.offer(1, TEXT).await.unwrap();
    played.input(TEXT).await;
    played.draws("", TEXT).await;
    played.input(&format!("{TEXT}\r")).await;
    played.draws("Working", "").await;
    played.stage.delivered(1).await;
    played
}

#[tokio::test(start_paused = true)]
async fn urgent_mail_stops_a_turn_once_and_comes_after_it() {
    let mut played = at_work().await;
    let typed = format!("{TEXT}\r");
    assert_eq!(played.stage.offer(2, "urgent text").await, Err(Hold::Busy), "never into an open turn");
    played.stage.terminal.hurry(Haste::StopsTheTurn).await.unwrap();
    played.input(&format!("{typed}{STOP}")).await;
    // It goes on: the same keys again would do no more.
    played.draws("Working still", "").await;
    tokio::time::sleep(std::time::Duration::from_secs(60)).await;
    played.input(&format!("{typed}{STOP}")).await;
    played.draws("", "").await;
    played.stage.ready().await;
    played.stage.offer(3, "urgent text").await.unwrap();
    played.input(&format!("{typed}{STOP}urgent text\r")).await;
}

#[tokio::test(start_paused = true)]
async fn a_turn_that_an_earlier_server_stopped_is_not_stopped_again() {
    let mut played = at_work().await;
    let log = played.stage.directory.path().join("t");
    let typed = format!("{TEXT}\r");
    assert!(!Terminal::is_stopped(&log));
    played.stage.terminal.hurry(Haste::StopsTheTurn).await.unwrap();
    played.input(&format!("{typed}{STOP}")).await;
    let recovered = Recovered::Taken { attempt: attempt_id(1), at: 0 };
    let Note { epoch, before, .. } = Terminal::noted(&log).unwrap();
    let stopped = Terminal::is_stopped(&log);
    let recipe = Recipe { interrupt: parse("Escape").unwrap(), ..Recipe::default() };
    let earlier = Earlier { epoch, recovered, text: Some(TEXT.to_owned()), before, stopped };
    let agent = Agent { earlier: Some(earlier), ..Agent::new(Box::new(Sketch::default()), recipe) };
    played.stage.turns = played.stage.terminal.attend(agent).await.unwrap();
    played.draws("Working still", "").await;
    played.stage.status(Status::Processing).await;
    played.stage.terminal.hurry(Haste::StopsTheTurn).await.unwrap();
    tokio::time::sleep(std::time::Duration::from_secs(60)).await;
    played.input(&format!("{typed}{STOP}")).await;
    played.draws("", "").await;
    played.stage.ready().await;
    played.stage.offer(2, "urgent text").await.unwrap();
    played.input(&format!("{typed}{STOP}urgent text\r")).await;
    assert!(!Terminal::is_stopped(&log), "the next turn is another one");
}

#[tokio::test(start_paused = true)]
async fn i21_a_dialog_and_a_draft_are_not_dismissed_for_urgent_mail() {
    let played = at_work().await;
    let typed = format!("{TEXT}\r");
    played.draws("Enter to choose", "").await;
    played.stage.status(Status::WaitingUserAnswer).await;
    played.stage.terminal.hurry(Haste::StopsTheTurn).await.unwrap();
    tokio::time::sleep(std::time::Duration::from_secs(60)).await;
    played.input(&typed).await;
    // The question is answered, but a person writes what is not submitted.
    played.draws("Working", "my own words").await;
    tokio::time::sleep(std::time::Duration::from_secs(60)).await;
    played.input(&typed).await;
    played.draws("Working", "").await;
    played.input(&format!("{typed}{STOP}")).await;
}

#[tokio::test(start_paused = true)]
async fn a_turn_that_nothing_is_known_to_stop_is_waited_for() {
    let mut played = ready().await;
    played.stage.offer(1, TEXT).await.unwrap();
    played.input(TEXT).await;
    played.draws("", TEXT).await;
    played.input(&format!("{TEXT}\r")).await;
    played.draws("Working", "").await;
    played.stage.delivered(1).await;
    played.stage.terminal.hurry(Haste::StopsTheTurn).await.unwrap();
    tokio::time::sleep(std::time::Duration::from_secs(60)).await;
    played.input(&format!("{TEXT}\r")).await;
}

/// Ready when the clock says so, whatever is printed.
struct Alarm(Moment);

impl Judge for Alarm {
    fn signal(&mut self, _: &Signal, _: Moment) {}

    fn look(&mut self, _: &View, _: u64, _: Moment) {}

    fn verdict(&mut self, now: Moment) -> Verdict {
        let status = if now < self.0 { Status::Processing } else { Status::Idle };
        let evidence = Evidence::new(Source::Screen, Position::Offset(0), status, Rule::named("alarm"));
        Verdict { evidence: vec![evidence], composer: Composer::Empty, until: Some(self.0) }
    }
}

#[tokio::test(start_paused = true)]
async fn i25_readiness_that_comes_by_time_alone_is_told() {
    let mut played = Played::new().await;
    // The clock of the terminal began a little before.
    let alarm = Alarm(Moment::from_millis(60_000));
    played.stage.turns =
        played.stage.terminal.attend(Agent::new(Box::new(alarm), Recipe::default())).await.unwrap();
    assert_eq!(played.stage.offer(1, TEXT).await, Err(Hold::Busy));
    // Not a byte is printed.
    let ready = async { while played.stage.turns.next().await != Some(TurnEvent::Ready) {} };
    tokio::time::timeout(std::time::Duration::from_secs(120), ready).await.unwrap();
    assert_eq!(played.stage.terminal.progress().borrow().end, 0);
    played.stage.offer(2, TEXT).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn i28_a_terminal_has_one_judge_and_one_machine() {
    let mut played = ready().await;
    let again = Agent::new(Box::new(Sketch::default()), Recipe::default());
    let turns = played.stage.terminal.attend(again).await.unwrap();
    let mut before = std::mem::replace(&mut played.stage.turns, turns);
    let over = async { while before.next().await.is_some() {} };
    soon("the one before is told nothing more", over).await;
    // What is on the screen was judged anew, and one text is typed once.
    played.stage.offer(1, TEXT).await.unwrap();
    assert_eq!(played.stage.offer(2, TEXT).await, Err(Hold::Unconfirmed));
    played.input(&format!("{TEXT}\r")).await;
}
