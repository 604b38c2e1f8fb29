use std::path::Path;

use ptyard_store::sqlite::SqliteStore;
use serde_json::{Value, json};

use super::*;

fn events_in(directory: &Path) -> Events {
    let store = SqliteStore::open(directory.join("ptyard.db")).unwrap();
    Events::open(Arc::new(store), 0).unwrap()
}

#[tokio::test]
async fn case_api02_events_resume_without_gaps_and_tell_what_is_gone() {
    let directory = tempfile::tempdir().unwrap();
    let events = events_in(directory.path());
    // All at once: the oldest leave the memory before anybody could write them down.
    for n in 0..(KEPT as u64 + 10) {
        events.push("started", None, json!(n));
    }
    let mut stream = events.since(Some(0));
    let gap = stream.next().await;
    assert_eq!((gap.kind.as_ref(), gap.seq), ("gap", 10));
    for seq in 11..=(KEPT as u64 + 10) {
        assert_eq!(stream.next().await.seq, seq);
    }
    assert!(stream.next_kept().await.is_none());
    events.push("exited", None, Value::Null);
    assert_eq!(stream.next().await.seq, KEPT as u64 + 11);
}

#[tokio::test]
async fn case_api02_what_left_the_memory_is_read_from_the_store() {
    let directory = tempfile::tempdir().unwrap();
    let events = events_in(directory.path());
    let last = 2 * KEPT as u64 + 100;
    let id = TerminalId::from_bits(9);
    let mut follower = events.since(Some(0));
    for n in 1..=last {
        events.push("resized", Some(id), json!({ "cols": n }));
        // Nobody can be ahead of the saver by more than the memory holds.
        if n % 1_000 == 0 {
            while events.shared.store.events_since(n - 1, 1).await.unwrap().events.is_empty() {
                tokio::task::yield_now().await;
            }
        }
        assert_eq!(follower.next().await.seq, n);
    }
    let mut late = events.since(Some(3));
    for seq in 4..=last {
        let event = late.next().await;
        assert_eq!((event.seq, event.kind.as_ref(), event.id), (seq, "resized", Some(id)));
        assert_eq!(event.data, json!({ "cols": seq }));
    }
    assert!(late.next_kept().await.is_none());
}

#[tokio::test]
async fn case_api02_a_server_that_was_stopped_leaves_its_events_and_no_gap() {
    let directory = tempfile::tempdir().unwrap();
    let events = events_in(directory.path());
    for n in 0..3 {
        events.push("started", None, json!(n));
    }
    events.close().await;
    events.push("exited", None, json!("after the end nothing is told"));
    drop(events);
    let next = events_in(directory.path());
    next.push("started", None, json!(3));
    let mut stream = next.since(Some(1));
    for seq in 2..=4 {
        let event = stream.next().await;
        assert_eq!((event.seq, event.data), (seq, json!(seq - 1)));
    }
    assert!(stream.next_kept().await.is_none());
}

#[tokio::test]
async fn case_api02_after_a_crash_numbers_go_on_and_readers_are_told_what_may_be_missing() {
    let directory = tempfile::tempdir().unwrap();
    let events = events_in(directory.path());
    for n in 0..3 {
        events.push("started", None, json!(n));
    }
    // As after `kill -9`: nobody has closed the first ones.
    let next = events_in(directory.path());
    next.push("started", None, Value::Null);
    let mut stream = next.since(Some(3));
    let gap = stream.next().await;
    assert_eq!((gap.kind.as_ref(), &gap.data["from"]), ("gap", &4.into()));
    assert_eq!(stream.next().await.seq, gap.seq + 1);
    assert!(gap.seq >= 3 + RESERVED - 3, "no number that may have been told is given again");
}

#[tokio::test]
async fn case_api02_a_number_that_was_never_given_misses_nothing() {
    let directory = tempfile::tempdir().unwrap();
    let events = events_in(directory.path());
    let mut early = events.since(Some(u64::MAX));
    events.push("started", None, Value::Null);
    assert_eq!(early.next_kept().await.map(|event| event.seq), Some(1));
    for since in [2, 500, u64::MAX] {
        assert_eq!(events.since(Some(since)).next_kept().await.map(|event| event.seq), Some(1));
    }
    assert!(events.since(Some(1)).next_kept().await.is_none());
}

#[tokio::test]
async fn numbers_of_an_earlier_version_are_not_given_again() {
    let directory = tempfile::tempdir().unwrap();
    let store = SqliteStore::open(directory.path().join("ptyard.db")).unwrap();
    let events = Events::open(Arc::new(store), 700).unwrap();
    let mut stream = events.since(None);
    events.push("started", None, Value::Null);
    assert_eq!(stream.next().await.seq, 701);
}

#[tokio::test]
async fn the_words_of_programs_are_told_and_not_written_down() {
    let directory = tempfile::tempdir().unwrap();
    let events = events_in(directory.path());
    let mut follower = events.since(Some(0));
    let said = [
        ("title", json!({ "title": "secret" })),
        ("notification", json!({ "title": "secret", "body": "secret" })),
        ("program_status", json!({ "state": "working", "message": "secret" })),
    ];
    for (kind, data) in said {
        events.push(kind, None, data.clone());
        assert_eq!(follower.next().await.data, data);
    }
    events.close().await;
    drop((events, follower));
    let mut stream = events_in(directory.path()).since(Some(0));
    for kind in ["title", "notification", "program_status"] {
        let event = stream.next().await;
        assert_eq!(event.kind, kind);
        assert!(!event.data.to_string().contains("secret"), "{}", event.data);
    }
}
