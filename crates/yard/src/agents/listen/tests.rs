//! A listener against a small server of the same protocol.

use std::time::Duration;

use ptyard_core::turn::Status;
use ptyard_providers::launch::Door;
use ptyard_providers::{EventWords, HookSaid};
use ptyard_testkit::events::{EventServer, Play, event_of};
use ptyard_testkit::{PATIENCE, soon};
use serde_json::json;

use super::listener::{Limits, Listener};
use super::sse::LONGEST_EVENT;

const SECRET: &str = "0123abcd";

/// Waits that no test should wait for are long.
const LIMITS: Limits =
    Limits { answer: PATIENCE, silence: PATIENCE, pause: Duration::from_millis(1), tries: 3 };

/// What a test waits for on purpose.
const SHORT: Duration = Duration::from_millis(150);

fn busy() -> Vec<u8> {
    event_of(&json!({"type": "session.status", "properties": {"sessionID": "s", "status": {"type": "busy"}}}))
}

fn idle() -> Vec<u8> {
    event_of(&json!({"type": "session.idle", "properties": {"sessionID": "s"}}))
}

fn connected() -> Vec<u8> {
    event_of(&json!({"type": "server.connected", "properties": {}}))
}

fn listener(server: &EventServer, secret: &str, limits: Limits) -> Listener {
    Listener::new(Door { port: server.port(), secret: secret.to_owned() }, EventWords::Opencode, limits)
}

fn word(said: Option<HookSaid>) -> Option<(Status, String)> {
    said.map(|said| (said.status, said.rule.to_string()))
}

async fn next(listener: &mut Listener) -> Option<(Status, String)> {
    word(soon("something is said, or nothing more is heard", listener.next()).await)
}

fn says(status: Status, rule: &str) -> Option<(Status, String)> {
    Some((status, rule.to_owned()))
}

fn works() -> Option<(Status, String)> {
    says(Status::Processing, "events.busy")
}

fn rests() -> Option<(Status, String)> {
    says(Status::Unknown, "events.idle")
}

fn lost() -> Option<(Status, String)> {
    says(Status::Unknown, "events.lost")
}

#[tokio::test]
async fn what_is_said_is_heard_whatever_stands_between() {
    let huge = format!("data: {}\n\n", "x".repeat(2 * LONGEST_EVENT)).into_bytes();
    let garbage = b"data: {\"type\n\n\xff\xfe\x00\n\ndata: []\n\n: nothing\n\n".to_vec();
    let stream = [connected(), garbage, huge, busy(), idle()].concat();
    let server = EventServer::start(0, SECRET, [Play::Silence(stream)]).await;
    let mut listener = listener(&server, SECRET, LIMITS);
    assert_eq!([next(&mut listener).await, next(&mut listener).await], [works(), rests()]);
    assert_eq!(server.requests(), 1);
}

#[tokio::test]
async fn a_program_that_is_not_up_yet_is_asked_again() {
    let plays = [Play::Hang, Play::Silence(Vec::new()), Play::Raw(b"no\n".to_vec()), Play::Silence(busy())];
    let server = EventServer::start(0, SECRET, plays).await;
    let mut listener = listener(&server, SECRET, Limits { answer: SHORT, tries: 100, ..LIMITS });
    assert_eq!(next(&mut listener).await, works());
    assert!(server.requests() >= 4);
}

#[tokio::test]
async fn one_that_never_answers_is_asked_so_often_and_no_more() {
    let server = EventServer::start(0, SECRET, [Play::Hang]).await;
    let mut heard = listener(&server, SECRET, Limits { answer: SHORT, ..LIMITS });
    assert_eq!(next(&mut heard).await, None);
    assert_eq!(next(&mut heard).await, None);
    server.is_left().await;
    assert_eq!(server.requests(), 3);
    // Nor is one that is not there.
    let port = server.port();
    drop(server);
    let door = Door { port, secret: SECRET.to_owned() };
    assert_eq!(next(&mut Listener::new(door, EventWords::Opencode, LIMITS)).await, None);
}

#[tokio::test]
async fn what_was_said_is_taken_back_when_the_stream_ends() {
    let server = EventServer::start(0, SECRET, [Play::End(busy())]).await;
    let mut listener = listener(&server, SECRET, LIMITS);
    for _ in 0..3 {
        assert_eq!([next(&mut listener).await, next(&mut listener).await], [works(), lost()]);
    }
    assert_eq!(next(&mut listener).await, None);
    assert_eq!(server.requests(), 3);
}

#[tokio::test]
async fn what_was_said_is_taken_back_when_nothing_more_comes() {
    let server = EventServer::start(0, SECRET, [Play::Silence(busy()), Play::Silence(connected())]).await;
    let mut listener = listener(&server, SECRET, Limits { silence: SHORT, ..LIMITS });
    assert_eq!([next(&mut listener).await, next(&mut listener).await], [works(), lost()]);
    assert_eq!(next(&mut listener).await, None, "it says nothing of turns");
}

#[tokio::test]
async fn a_wrong_secret_is_shown_once() {
    let server = EventServer::start(0, SECRET, [Play::Silence(busy())]).await;
    let mut listener = listener(&server, "another", LIMITS);
    assert_eq!(next(&mut listener).await, None);
    assert_eq!(server.requests(), 1);
    assert!(!format!("{listener:?}").contains("another"));
}

#[tokio::test]
async fn whoever_listens_no_more_is_gone() {
    let server = EventServer::start(0, SECRET, [Play::Silence(busy())]).await;
    let mut listener = listener(&server, SECRET, LIMITS);
    assert_eq!(next(&mut listener).await, works());
    drop(listener);
    soon("the connection is closed", server.is_left()).await;
}
