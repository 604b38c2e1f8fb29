//! What herdr says of an agent hands its mail over: one message for each turn, and none for anything else.

use std::sync::Arc;

use ptyard_core::Moment;
use ptyard_core::turn::{AttemptId, Hold, Outcome, Position, Source, Status};
use ptyard_screen::{Signal, View};
use ptyard_terminal::agent::{
    Agent, Composer, DispatchError, Judge, Mail, Recipe, TurnEvent, TurnEvents, Verdict,
};
use ptyard_terminal::log::{LogConfig, LogWriter};
use ptyard_terminal::{Clock, NoObserver, Pauses, Surroundings, Terminal};
use ptyard_testkit::{soon, until};

use crate::stage::{Stage, spec};

/// Its screen tells nothing, as that of a program of no known kind.
struct Blind;

impl Judge for Blind {
    fn signal(&mut self, _: &Signal, _: Moment) {}

    fn look(&mut self, _: &View, _: u64, _: Moment) {}

    fn verdict(&mut self, _: Moment) -> Verdict {
        Verdict { evidence: Vec::new(), composer: Composer::Unseen, until: None }
    }
}

/// A program that prints what it is given, in a pane.
struct InPane {
    stage: Stage,
    terminal: Terminal,
    turns: TurnEvents,
    label: String,
    directory: tempfile::TempDir,
}

impl InPane {
    async fn new() -> Self {
        let stage = Stage::new();
        let directory = tempfile::tempdir().unwrap();
        let surroundings = Surroundings {
            clock: Clock::start(),
            log: LogConfig::default(),
            observer: Arc::new(NoObserver),
            limits: Default::default(),
            pauses: Pauses::default(),
        };
        let log = LogWriter::create(&directory.path().join("t"), LogConfig::default()).unwrap();
        let script =
            format!("stty raw -echo; echo ready; exec tee {}", directory.path().join("got").display());
        let spec = spec(&["sh", "-c", &script]);
        let label = spec.id.to_string();
        let terminal = soon("the start", Terminal::start(stage.backend.as_ref(), spec, log, surroundings))
            .await
            .unwrap();
        let mut progress = terminal.progress();
        soon("ready", progress.wait_for(|progress| progress.end >= 6)).await.unwrap();
        // It makes its file when it has become what it is: until then a shell stands before it.
        until("the program", || directory.path().join("got").exists()).await;
        let turns = terminal.attend(Agent::new(Box::new(Blind), Recipe::default())).await.unwrap();
        stage.has_looked().await;
        Self { stage, terminal, turns, label, directory }
    }

    /// One that herdr saw finish something.
    async fn ready() -> Self {
        let mut pane = Self::new().await;
        pane.sees("working");
        pane.sees("done");
        pane.until_ready().await;
        pane
    }

    fn sees(&self, status: &str) {
        self.stage.herdr.sees(&self.label, status);
    }

    /// Behind the message with number `at` the connection breaks, and is made again.
    async fn breaks(&self, number: usize, at: usize) {
        if number != at {
            return;
        }
        let herdr = &self.stage.herdr;
        let subscriptions = herdr.subscriptions();
        herdr.cut();
        soon("another subscription", herdr.subscribed(subscriptions + 1)).await;
        self.stage.has_looked().await;
    }

    async fn offer(&self, attempt: u64, text: &str) -> Result<(), Hold> {
        let mail = Mail { attempt: AttemptId::new(attempt), text: text.to_owned() };
        match soon("an answer", self.terminal.dispatch(mail)).await {
            Ok(()) => Ok(()),
            Err(DispatchError::Held(hold)) => Err(hold),
            Err(other) => panic!("{other}"),
        }
    }

    async fn until_ready(&mut self) {
        while soon("ready", self.turns.next()).await.unwrap() != TurnEvent::Ready {}
    }

    async fn delivered(&mut self, attempt: u64) {
        loop {
            if let TurnEvent::Outcome(which, outcome) = soon("an outcome", self.turns.next()).await.unwrap() {
                assert!(matches!(outcome, Outcome::Delivered(_)), "{outcome:?}");
                assert_eq!(which, AttemptId::new(attempt));
                return;
            }
        }
    }

    /// What herdr says now, as the machine has it.
    async fn said(&self) -> Option<(Status, Position)> {
        let explained = self.terminal.explain().await.unwrap().unwrap();
        let said = explained.sources.into_iter().find(|said| said.source == Source::Hook)?;
        Some((said.status, said.position))
    }

    async fn until_said(&self, status: Status, writes: u64) {
        let want = Some((status, Position::Sequence(writes)));
        soon("it is said", async {
            while self.said().await != want {
                tokio::task::yield_now().await;
            }
        })
        .await;
    }

    /// What the program was given.
    fn got(&self) -> Vec<u8> {
        std::fs::read(self.directory.path().join("got")).unwrap_or_default()
    }

    async fn until_got(&self, bytes: usize) {
        soon("the input", async {
            while self.got().len() < bytes {
                tokio::time::sleep(std::time::Duration::from_millis(5)).await;
            }
        })
        .await;
    }
}

#[tokio::test]
async fn law_08_one_message_for_each_turn_that_herdr_sees() {
    let mut pane = InPane::ready().await;
    for attempt in 1..=3 {
        pane.offer(attempt, &format!("message {attempt}")).await.unwrap();
        // The Enter was written, and herdr asked behind it.
        pane.until_said(Status::Completed, attempt).await;
        assert_eq!(pane.offer(100 + attempt, "too early").await, Err(Hold::Unconfirmed));
        pane.sees("working");
        pane.delivered(attempt).await;
        assert_eq!(pane.offer(200 + attempt, "too early").await, Err(Hold::Busy));
        pane.sees("done");
        pane.until_ready().await;
    }
    pane.until_got(30).await;
    assert_eq!(String::from_utf8(pane.got()).unwrap(), "message 1\rmessage 2\rmessage 3\r");
}

#[tokio::test]
async fn law_09_what_herdr_told_before_it_was_asked_behind_the_write_confirms_nothing() {
    let mut pane = InPane::ready().await;
    pane.stage.herdr.hold_snapshots(true);
    pane.offer(1, "message 1").await.unwrap();
    pane.until_got(10).await;
    // It may have seen this before the write, and told it late.
    pane.sees("working");
    pane.until_said(Status::Processing, 0).await;
    pane.sees("done");
    pane.until_said(Status::Completed, 0).await;
    assert_eq!(pane.offer(2, "message 2").await, Err(Hold::Unconfirmed));
    pane.stage.herdr.hold_snapshots(false);
    pane.until_said(Status::Completed, 1).await;
    assert_eq!(pane.offer(3, "message 3").await, Err(Hold::Unconfirmed));
    pane.sees("working");
    pane.delivered(1).await;
    assert_eq!(pane.got(), b"message 1\r");
}

/// Work that goes on when herdr is asked is from behind the write.
#[tokio::test]
async fn i11_work_that_was_told_while_herdr_was_asked_is_not_lost() {
    let mut pane = InPane::ready().await;
    pane.stage.herdr.hold_snapshots(true);
    pane.offer(1, "message 1").await.unwrap();
    pane.until_got(10).await;
    pane.sees("working");
    pane.until_said(Status::Processing, 0).await;
    pane.stage.herdr.hold_snapshots(false);
    pane.delivered(1).await;
    pane.sees("idle");
    pane.until_ready().await;
}

/// A snapshot that is long on its way is older than what was told meanwhile.
#[tokio::test]
async fn an_answer_from_before_what_was_told_says_nothing() {
    let pane = InPane::ready().await;
    let herdr = &pane.stage.herdr;
    pane.stage.has_looked().await;
    let made = herdr.snapshots();
    soon("all snapshots are made", herdr.made(made)).await;
    herdr.delay_snapshots(true);
    herdr.tell(b"{\"event\":\"pane_closed\",\"data\":{\"pane_id\":\"0-0\"}}\n");
    soon("the agent is seen as it was", herdr.made(made + 1)).await;
    pane.sees("working");
    pane.until_said(Status::Processing, 0).await;
    herdr.delay_snapshots(false);
    soon("another look", herdr.made(made + 2)).await;
    assert_eq!(pane.said().await, Some((Status::Processing, Position::Sequence(0))));
    pane.stage.has_looked().await;
    assert_eq!(pane.offer(1, "message 1").await, Err(Hold::Busy));
}

#[tokio::test]
async fn a_history_that_is_told_again_and_a_new_connection_hand_nothing_over_twice() {
    let mut pane = InPane::ready().await;
    pane.offer(1, "message 1").await.unwrap();
    pane.until_said(Status::Completed, 1).await;
    pane.sees("working");
    pane.delivered(1).await;
    // It finishes while nobody listens.
    pane.stage.herdr.cut();
    pane.sees("done");
    soon("another subscription", pane.stage.herdr.subscribed(2)).await;
    pane.until_ready().await;
    for times in 3..6 {
        pane.stage.herdr.cut();
        soon("another subscription", pane.stage.herdr.subscribed(times)).await;
        pane.until_said(Status::Completed, 1).await;
    }
    pane.offer(2, "message 2").await.unwrap();
    pane.until_said(Status::Completed, 2).await;
    assert_eq!(pane.offer(3, "message 3").await, Err(Hold::Unconfirmed));
    pane.sees("working");
    pane.delivered(2).await;
    pane.until_got(20).await;
    assert_eq!(String::from_utf8(pane.got()).unwrap(), "message 1\rmessage 2\r");
}

#[tokio::test]
async fn law_08_a_connection_that_breaks_behind_any_message_hands_nothing_over_twice() {
    for at in 0..6 {
        let mut pane = InPane::ready().await;
        pane.breaks(0, at).await;
        pane.until_said(Status::Completed, 0).await;
        pane.offer(1, "message 1").await.unwrap();
        pane.breaks(1, at).await;
        pane.until_said(Status::Completed, 1).await;
        pane.breaks(2, at).await;
        pane.until_said(Status::Completed, 1).await;
        assert_eq!(pane.offer(2, "too early").await, Err(Hold::Unconfirmed), "{at}");
        pane.sees("working");
        pane.breaks(3, at).await;
        pane.delivered(1).await;
        pane.breaks(4, at).await;
        pane.sees("done");
        pane.breaks(5, at).await;
        pane.until_ready().await;
        assert_eq!(pane.got(), b"message 1\r", "{at}");
    }
}

#[tokio::test]
async fn while_herdr_is_gone_it_says_nothing() {
    let pane = InPane::ready().await;
    pane.stage.herdr.stop();
    pane.until_said(Status::Unknown, 0).await;
    assert_eq!(pane.offer(1, "message 1").await, Err(Hold::Unknown));
}

#[tokio::test]
async fn case_p03_a_question_that_herdr_sees_holds_mail_back() {
    let pane = InPane::ready().await;
    pane.sees("blocked");
    pane.until_said(Status::WaitingUserAnswer, 0).await;
    assert_eq!(pane.offer(1, "message 1").await, Err(Hold::Dialog));
    assert_eq!(pane.got(), b"");
}

#[tokio::test]
async fn an_agent_that_herdr_does_not_see_is_not_taken_for_ready() {
    let pane = InPane::new().await;
    for status in ["unknown", "idle", "a new word"] {
        pane.sees(status);
        pane.stage.has_looked().await;
        pane.until_said(Status::Unknown, 0).await;
        assert!(pane.offer(1, "message 1").await.is_err(), "{status}");
    }
}

/// As one argument it would be refused from 128 KiB on; nothing of it is an argument here.
#[tokio::test]
async fn case_w15_a_message_of_200_kib_is_handed_over_whole() {
    let mut pane = InPane::ready().await;
    let text: String =
        (0..).map(|n| format!("word{n} ")).take(30_000).collect::<String>()[..200 << 10].to_owned();
    pane.offer(1, &text).await.unwrap();
    pane.until_got(text.len() + 1).await;
    pane.until_said(Status::Completed, 1).await;
    pane.sees("working");
    pane.delivered(1).await;
    assert_eq!(pane.got(), format!("{text}\r").as_bytes());
}
