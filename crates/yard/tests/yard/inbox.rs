//! Mail, with an agent that does what the test says.

use std::future::{Future as _, poll_fn};
use std::pin::pin;
use std::sync::{Arc, Mutex};
use std::task::Poll;
use std::time::Duration;

use ptyard_core::turn::Epoch;
use ptyard_core::{AttemptId, ErrorCode};
use ptyard_terminal::agent::{Haste, Note};
use ptyard_terminal::backend::BoxFuture;
use ptyard_testkit::soon;
use ptyard_yard::inbox::{
    Batching, Handover, Message, MessageState, Page, Refused, SendSpec, Turn, Until, Urgency, Which, Word,
};
use ptyard_yard::{TerminalRef, Yard, YardConfig};
use tokio::sync::{Notify, mpsc};

use crate::stage::Stage;

/// How the agent takes what it is given.
#[derive(Debug, Clone, PartialEq)]
enum Mood {
    Ready,
    Busy,
    /// It looks ready and refuses.
    Refuses(&'static str),
}

#[derive(Debug)]
struct Desk {
    mood: Mood,
    taken: Vec<(AttemptId, String)>,
    haste: Vec<Haste>,
}

/// The test's end of the agent.
#[derive(Clone)]
struct Agent {
    desk: Arc<Mutex<Desk>>,
    took: Arc<Notify>,
    words: mpsc::Sender<Word>,
}

/// The pump's end.
struct Hand {
    agent: Agent,
    words: mpsc::Receiver<Word>,
}

impl Handover for Hand {
    fn is_ready(&self) -> bool {
        self.agent.desk.lock().unwrap().mood != Mood::Busy
    }

    fn hand_over(&mut self, attempt: AttemptId, text: String) -> BoxFuture<'_, Result<(), Refused>> {
        let mut desk = self.agent.desk.lock().unwrap();
        let answer = match desk.mood {
            Mood::Ready => {
                desk.mood = Mood::Busy;
                desk.taken.push((attempt, text));
                Ok(())
            }
            Mood::Busy => Err(Refused("busy".to_owned())),
            Mood::Refuses(why) => Err(Refused(why.to_owned())),
        };
        self.agent.took.notify_one();
        Box::pin(std::future::ready(answer))
    }

    fn hurry(&mut self, haste: Haste) -> BoxFuture<'_, ()> {
        self.agent.desk.lock().unwrap().haste.push(haste);
        self.agent.took.notify_one();
        Box::pin(std::future::ready(()))
    }

    fn next(&mut self) -> BoxFuture<'_, Option<Word>> {
        Box::pin(self.words.recv())
    }
}

impl Agent {
    fn attend(yard: &Yard, at: &TerminalRef, mood: Mood) -> Self {
        let (words, told) = mpsc::channel(16);
        let desk = Arc::new(Mutex::new(Desk { mood, taken: Vec::new(), haste: Vec::new() }));
        let agent = Self { desk, took: Arc::default(), words };
        yard.hand_over_mail(at, Hand { agent: agent.clone(), words: told }).unwrap();
        agent
    }

    fn set(&self, mood: Mood) {
        self.desk.lock().unwrap().mood = mood;
    }

    fn taken(&self) -> Vec<String> {
        self.desk.lock().unwrap().taken.iter().map(|(_, text)| text.clone()).collect()
    }

    /// The attempt that was taken last, once there are `count`.
    async fn took(&self, count: usize) -> AttemptId {
        let taken = async {
            loop {
                if self.taken().len() == count {
                    return self.desk.lock().unwrap().taken[count - 1].0;
                }
                self.took.notified().await;
            }
        };
        soon("mail is handed over", taken).await
    }

    /// Waits until it was told of haste so often; what it was told.
    async fn hurried(&self, count: usize) -> Vec<Haste> {
        let told = async {
            loop {
                let haste = self.desk.lock().unwrap().haste.clone();
                if haste.len() >= count {
                    return haste;
                }
                self.took.notified().await;
            }
        };
        soon("it is told of haste", told).await
    }

    async fn say(&self, word: Word) {
        self.words.send(word).await.unwrap();
    }

    async fn delivered(&self, attempt: AttemptId) {
        self.say(Word::Delivered { attempt, evidence: "hook".to_owned(), offset: Some(5) }).await;
    }

    /// The turn is over and the next may begin.
    async fn turn_over(&self, attempt: AttemptId) {
        self.set(Mood::Ready);
        self.say(Word::TurnOver { attempt }).await;
        self.say(Word::Ready).await;
    }
}

async fn send(yard: &Yard, to: &TerminalRef, text: &str) -> Message {
    yard.send(to, SendSpec::new(text)).await.unwrap()
}

async fn until(yard: &Yard, message: &Message, until: Until) -> Message {
    soon("the message", yard.await_message(message.id, until, Duration::from_secs(60))).await.unwrap()
}

#[tokio::test]
async fn law_08_one_message_for_each_ready_cycle_in_the_order_in_which_they_were_sent() {
    let stage = Stage::scripted();
    let (at, _script) = stage.play().await;
    let agent = Agent::attend(&stage.yard, &at, Mood::Ready);
    let mut sent = Vec::new();
    for n in 1..=4 {
        sent.push(send(&stage.yard, &at, &format!("message {n}")).await);
    }
    for n in 1..=4 {
        let attempt = agent.took(n).await;
        agent.delivered(attempt).await;
        let told = until(&stage.yard, &sent[n - 1], Until::Delivered).await;
        assert_eq!(
            (told.state, told.turn, told.offset),
            (MessageState::Delivered, Some(Turn::Open), Some(5))
        );
        // Whatever wakes the pump in the middle of a turn, nothing more is handed over.
        agent.say(Word::Ready).await;
        agent.say(Word::Ready).await;
        assert_eq!(agent.taken().len(), n);
        agent.turn_over(attempt).await;
        assert_eq!(until(&stage.yard, &sent[n - 1], Until::Completed).await.turn, Some(Turn::Completed));
    }
    assert_eq!(agent.taken(), ["message 1", "message 2", "message 3", "message 4"]);
}

#[tokio::test]
async fn law_12_mail_whose_sender_does_not_wait_is_told_of_and_handed_over() {
    let stage = Stage::scripted();
    let (at, _script) = stage.play().await;
    let agent = Agent::attend(&stage.yard, &at, Mood::Ready);
    for n in 1..=20 {
        let mut events = stage.yard.events(None);
        {
            let mut sending = pin!(stage.yard.send(&at, SendSpec::new(format!("message {n}"))));
            // As a request whose client is gone: it was begun, and nobody asks for its answer.
            let answered = poll_fn(|cx| Poll::Ready(sending.as_mut().poll(cx).is_ready())).await;
            assert!(!answered, "the store writes on a thread of its own");
        }
        let attempt = agent.took(n).await;
        agent.delivered(attempt).await;
        let mut states = Vec::new();
        while states.last().is_none_or(|state| state != "delivered") {
            let event = soon("an event", events.next()).await;
            if event.kind == "message" && event.data["message"] == format!("m{n}") {
                states.push(event.data["state"].as_str().unwrap().to_owned());
            }
        }
        // Whoever is told that it is handed over has been told of it.
        assert_eq!(states, ["pending", "dispatching", "delivered"]);
        agent.turn_over(attempt).await;
    }
}

#[tokio::test]
async fn law_12_what_was_refused_waits_with_its_reason_and_goes_first_when_the_agent_is_ready() {
    let stage = Stage::scripted();
    let (at, _script) = stage.play().await;
    let agent = Agent::attend(&stage.yard, &at, Mood::Refuses("draft"));
    let first = send(&stage.yard, &at, "first").await;
    soon("the first try", agent.took.notified()).await;
    let second = send(&stage.yard, &at, "second").await;
    soon("the second try", agent.took.notified()).await;
    agent.set(Mood::Ready);
    let held = stage.yard.inbox(&at, Which::Undelivered, Page::default()).await.unwrap();
    assert_eq!(held.len(), 2);
    agent.say(Word::Ready).await;
    let attempt = agent.took(1).await;
    assert_eq!(agent.taken(), ["first"]);
    agent.delivered(attempt).await;
    let told = until(&stage.yard, &first, Until::Delivered).await;
    assert_eq!((told.reason, told.attempts > 1), (None, true));
    agent.turn_over(attempt).await;
    agent.took(2).await;
    assert_eq!(agent.taken()[1], "second");
    assert_eq!(stage.yard.message(second.id).await.unwrap().attempts, 1);
}

#[tokio::test]
async fn case_i04_a_message_that_cannot_be_delivered_is_seen_with_its_reason_and_can_be_retried_or_cancelled()
{
    let stage = Stage::scripted();
    let (at, _script) = stage.play().await;
    let agent = Agent::attend(&stage.yard, &at, Mood::Ready);
    let first = send(&stage.yard, &at, "first").await;
    let second = send(&stage.yard, &at, "second").await;
    let attempt = agent.took(1).await;
    agent.say(Word::Uncertain { attempt, reason: "partly_written".to_owned() }).await;
    let told = until(&stage.yard, &first, Until::Completed).await;
    assert_eq!((told.state, told.reason.as_deref()), (MessageState::Uncertain, Some("partly_written")));
    assert_eq!(stage.yard.cancel_message(second.id).await.unwrap().state, MessageState::Cancelled);
    assert_eq!(stage.yard.retry_message(first.id).await.unwrap().state, MessageState::Pending);
    agent.set(Mood::Ready);
    agent.say(Word::Ready).await;
    let again = agent.took(2).await;
    agent.delivered(again).await;
    until(&stage.yard, &first, Until::Delivered).await;
    let late = stage.yard.cancel_message(first.id).await.unwrap_err();
    assert_eq!(late.code(), ErrorCode::MessageSettled);
    agent.turn_over(again).await;
    assert_eq!(agent.taken(), ["first", "first"], "what was cancelled is not handed over");
    assert_eq!(stage.yard.inbox(&at, Which::Undelivered, Page::default()).await.unwrap(), []);
    assert_eq!(stage.yard.inbox(&at, Which::All, Page::default()).await.unwrap().len(), 2);
}

#[tokio::test]
async fn case_i05_sec06_a_message_to_nobody_to_the_dead_or_to_oneself_is_refused_at_once() {
    let stage = Stage::scripted();
    let (at, script) = stage.play().await;
    let code = |result: Result<Message, ptyard_yard::YardError>| result.unwrap_err().code();
    let nobody = "no-such-agent".parse().unwrap();
    assert_eq!(code(stage.yard.send(&nobody, SendSpec::new("x")).await), ErrorCode::UnknownTerminal);
    let to_oneself = SendSpec { from: Some(at.clone()), ..SendSpec::new("x") };
    assert_eq!(code(stage.yard.send(&at, to_oneself).await), ErrorCode::InvalidArgument);
    assert_eq!(code(stage.yard.send(&at, SendSpec::new(" \n")).await), ErrorCode::InvalidArgument);
    script.exit(ptyard_core::Exit::exited(0));
    script.close_output();
    stage.yard.wait(&at, &["exit".to_owned()], None, None).await.unwrap();
    assert_eq!(code(stage.yard.send(&at, SendSpec::new("x")).await), ErrorCode::TerminalExited);
}

#[tokio::test]
async fn a_sender_waits_no_longer_than_it_said_and_no_longer_than_there_is_hope() {
    let stage = Stage::scripted();
    let (at, script) = stage.play().await;
    let message = send(&stage.yard, &at, "nobody is there to take it").await;
    let told =
        stage.yard.await_message(message.id, Until::Delivered, Duration::from_millis(1)).await.unwrap();
    assert_eq!(told.state, MessageState::Pending);
    let (yard, id) = (stage.yard.clone(), message.id);
    let waits =
        tokio::spawn(async move { yard.await_message(id, Until::Completed, Duration::from_secs(600)).await });
    script.exit(ptyard_core::Exit::exited(0));
    script.close_output();
    // The end of the program is the end of hope: its mail is settled before anybody removes it.
    let told = soon("the end of the wait", waits).await.unwrap().unwrap();
    assert_eq!((told.state, told.reason.as_deref()), (MessageState::Failed, Some("receiver_exited")));
    stage.yard.remove(&at).await.unwrap();
    let told = stage.yard.await_message(message.id, Until::Delivered, Duration::ZERO).await.unwrap();
    assert_eq!((told.state, told.reason.as_deref()), (MessageState::Failed, Some("receiver_exited")));
}

#[tokio::test]
async fn law_13_after_a_restart_untyped_mail_waits_and_what_may_have_been_typed_is_uncertain() {
    let stage = Stage::scripted();
    let mut sent = Vec::new();
    for is_noted in [true, false] {
        let (at, _script) = stage.play().await;
        let agent = Agent::attend(&stage.yard, &at, Mood::Ready);
        sent.push(send(&stage.yard, &at, "under way").await);
        let attempt = agent.took(1).await;
        if is_noted {
            let note = Note { attempt, epoch: Epoch(1), from: 0, before: Default::default() };
            let file = stage.log_directory(sent[0].to).join("attempt");
            std::fs::write(file, serde_json::to_vec(&note).unwrap()).unwrap();
        }
        sent.push(send(&stage.yard, &at, "waiting").await);
    }
    let state = stage.directory.path().join("state");
    let Stage { yard, backend, directory, .. } = stage;
    drop(yard);
    let again = async {
        loop {
            match Yard::with_backends(YardConfig::new(&state), vec![Box::new(backend.clone())]) {
                Ok(yard) => break yard,
                Err(_) => tokio::task::yield_now().await,
            }
        }
    };
    let yard = soon("the lock is free", again).await;
    let mut told = Vec::new();
    for message in sent {
        let found = yard.message(message.id).await.unwrap();
        assert_eq!((found.seq, &found.text), (message.seq, &message.text));
        told.push((found.state, found.reason));
    }
    let why = Some("server_died".to_owned());
    let waiting = (MessageState::Pending, None);
    assert_eq!(
        told,
        [(MessageState::Uncertain, why.clone()), waiting.clone(), (MessageState::Pending, why), waiting]
    );
    drop(directory);
}

#[tokio::test]
async fn what_happens_to_mail_is_told_as_events() {
    let stage = Stage::scripted();
    let (at, _script) = stage.play().await;
    let mut events = stage.yard.events(None);
    let agent = Agent::attend(&stage.yard, &at, Mood::Ready);
    let message = send(&stage.yard, &at, "x").await;
    let attempt = agent.took(1).await;
    agent.delivered(attempt).await;
    until(&stage.yard, &message, Until::Delivered).await;
    let mut states = Vec::new();
    while states.len() < 3 {
        let event = soon("an event", events.next()).await;
        if event.kind == "message" {
            assert_eq!(event.data["message"], message.id.to_string());
            states.push(event.data["state"].as_str().unwrap().to_owned());
        }
    }
    assert_eq!(states, ["pending", "dispatching", "delivered"]);
}

async fn urgent(yard: &Yard, to: &TerminalRef, text: &str) -> Message {
    yard.send(to, SendSpec { urgency: Urgency::Now, ..SendSpec::new(text) }).await.unwrap()
}

#[tokio::test]
async fn urgent_mail_goes_first_and_stops_a_turn_that_is_not_as_urgent() {
    let stage = Stage::scripted();
    let (at, _script) = stage.play().await;
    let agent = Agent::attend(&stage.yard, &at, Mood::Ready);
    send(&stage.yard, &at, "work").await;
    let work = agent.took(1).await;
    send(&stage.yard, &at, "later").await;
    agent.delivered(work).await;
    assert_eq!(agent.desk.lock().unwrap().haste, [], "what can wait stops nothing");
    urgent(&stage.yard, &at, "stop").await;
    assert_eq!(agent.hurried(1).await, [Haste::StopsTheTurn]);
    assert_eq!(agent.taken().len(), 1, "nothing is pasted into the turn");
    agent.turn_over(work).await;
    let stop = agent.took(2).await;
    assert_eq!(agent.taken()[1], "stop");
    assert_eq!(agent.hurried(2).await[1..], [Haste::None]);
    // As urgent as the turn that runs: it waits for its end, and goes before the rest.
    let third = urgent(&stage.yard, &at, "and this").await;
    agent.delivered(stop).await;
    assert_eq!(stage.yard.message(third.id).await.unwrap().state, MessageState::Pending);
    agent.turn_over(stop).await;
    let third = agent.took(3).await;
    assert_eq!(agent.taken()[2], "and this");
    assert_eq!(agent.hurried(2).await.len(), 2, "it was not hurried again");
    agent.delivered(third).await;
    agent.turn_over(third).await;
    agent.took(4).await;
    assert_eq!(agent.taken()[3], "later");
}

#[tokio::test]
async fn urgent_mail_that_is_taken_back_hurries_nobody_any_more() {
    let stage = Stage::scripted();
    let (at, _script) = stage.play().await;
    let agent = Agent::attend(&stage.yard, &at, Mood::Busy);
    let message = urgent(&stage.yard, &at, "stop").await;
    agent.hurried(1).await;
    stage.yard.cancel_message(message.id).await.unwrap();
    assert_eq!(agent.hurried(2).await, [Haste::StopsTheTurn, Haste::None]);
}

#[tokio::test]
async fn a_drained_inbox_hands_over_all_that_waits_in_a_row_from_one_sender() {
    let stage = Stage::scripted();
    let (at, _script) = stage.play().await;
    let (other, _other) = stage.play().await;
    let agent = Agent::attend(&stage.yard, &at, Mood::Busy);
    let from = async |sender: Option<&TerminalRef>, text: &str| {
        let spec = SendSpec { from: sender.cloned(), ..SendSpec::new(text) };
        stage.yard.send(&at, spec).await.unwrap()
    };
    from(None, "a").await;
    from(None, "b").await;
    from(Some(&other), "c").await;
    let last = from(None, "d").await;
    stage.yard.set_batching(&at, Batching::Drain).await.unwrap();
    agent.set(Mood::Ready);
    agent.say(Word::Ready).await;
    for turn in 1..=3 {
        let attempt = agent.took(turn).await;
        agent.delivered(attempt).await;
        agent.turn_over(attempt).await;
    }
    assert_eq!(until(&stage.yard, &last, Until::Completed).await.turn, Some(Turn::Completed));
    assert_eq!(agent.taken(), ["a\n\nb", "c", "d"]);
    let inbox = stage.yard.mailbox(&at).await.unwrap();
    assert_eq!((inbox.mailbox.batching, inbox.mailbox.pending), (Batching::Drain, 0));
}

#[tokio::test]
async fn what_waits_for_a_program_that_ends_is_a_dead_letter_with_its_reason() {
    let stage = Stage::scripted();
    for has_agent in [true, false] {
        let (at, script) = stage.play().await;
        let agent = has_agent.then(|| Agent::attend(&stage.yard, &at, Mood::Refuses("busy")));
        let mut sent = Vec::new();
        for n in 0..3 {
            sent.push(send(&stage.yard, &at, &format!("{n}")).await);
        }
        script.exit(ptyard_core::Exit::exited(0));
        script.close_output();
        for message in &sent {
            let told = until(&stage.yard, message, Until::Delivered).await;
            assert_eq!((told.state, told.reason.as_deref()), (MessageState::Failed, Some("receiver_exited")));
        }
        drop(agent);
        let again = stage.yard.retry_message(sent[0].id).await.unwrap_err();
        assert_eq!(again.code(), ErrorCode::TerminalExited, "nobody can take it any more");
        assert_eq!(stage.yard.cancel_message(sent[0].id).await.unwrap().state, MessageState::Cancelled);
    }
}

#[tokio::test]
async fn an_attempt_that_the_end_overtakes_is_settled_too() {
    let stage = Stage::scripted();
    let (at, script) = stage.play().await;
    let agent = Agent::attend(&stage.yard, &at, Mood::Ready);
    let message = send(&stage.yard, &at, "x").await;
    let attempt = agent.took(1).await;
    script.exit(ptyard_core::Exit::exited(0));
    script.close_output();
    stage.yard.wait(&at, &["exit".to_owned()], None, None).await.unwrap();
    // Not a byte was typed: it waits again, and nobody is there.
    agent.say(Word::Refused { attempt, reason: "exited".to_owned() }).await;
    drop(agent);
    let told = until(&stage.yard, &message, Until::Delivered).await;
    assert_eq!((told.state, told.reason.as_deref()), (MessageState::Failed, Some("receiver_exited")));
}

#[tokio::test]
async fn mail_for_a_program_whose_end_nobody_saw_says_so() {
    let stage = Stage::scripted();
    let (at, _script) = stage.play().await;
    let message = send(&stage.yard, &at, "x").await;
    // The state as a killed server leaves it: one that is dropped ends its programs, and may write that down.
    let home = stage.directory.path();
    let (state, left) = (home.join("state"), home.join("left"));
    let copied = std::process::Command::new("cp").arg("-a").args([&state, &left]).status().unwrap();
    assert!(copied.success());
    // Another backend: nobody kept the program.
    let backend = ptyard_testkit::ScriptedBackend::default();
    let yard = Yard::with_backends(YardConfig::new(&left), vec![Box::new(backend)]).unwrap();
    let told = until(&yard, &message, Until::Delivered).await;
    assert_eq!((told.state, told.reason.as_deref()), (MessageState::Failed, Some("receiver_lost")));
}

/// What a person can do in each state.
#[tokio::test]
async fn messages_are_retried_and_taken_back_in_the_states_in_which_they_can_be() {
    use MessageState::{Cancelled, Delivered, Dispatching, Failed, Pending, Uncertain};
    let settled = Err(ErrorCode::MessageSettled);
    for (state, retried, cancelled) in [
        (Pending, Ok(Pending), Ok(Cancelled)),
        (Dispatching, settled, settled),
        (Delivered, settled, settled),
        (Uncertain, Ok(Pending), Ok(Cancelled)),
        (Cancelled, Ok(Pending), Ok(Cancelled)),
    ] {
        for is_retry in [true, false] {
            let stage = Stage::scripted();
            let (at, _script) = stage.play().await;
            let mood = if matches!(state, Pending | Cancelled) { Mood::Busy } else { Mood::Ready };
            let agent = Agent::attend(&stage.yard, &at, mood);
            let message = send(&stage.yard, &at, "x").await;
            match state {
                Cancelled => drop(stage.yard.cancel_message(message.id).await.unwrap()),
                Dispatching => drop(agent.took(1).await),
                Delivered => {
                    agent.delivered(agent.took(1).await).await;
                    until(&stage.yard, &message, Until::Delivered).await;
                }
                Uncertain => {
                    let attempt = agent.took(1).await;
                    agent.say(Word::Uncertain { attempt, reason: "reset".to_owned() }).await;
                    until(&stage.yard, &message, Until::Delivered).await;
                }
                Pending | Failed => {}
            }
            let done = if is_retry {
                stage.yard.retry_message(message.id).await
            } else {
                stage.yard.cancel_message(message.id).await
            };
            let done = done.map(|message| message.state).map_err(|error| error.code());
            assert_eq!(done, if is_retry { retried } else { cancelled }, "{state} {is_retry}");
        }
    }
}
