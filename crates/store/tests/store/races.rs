//! Many callers at once.

use std::sync::Arc;

use ptyard_store::Inbox;
use tokio::task::JoinSet;

use crate::support::{Place, message, next, receipt};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn r_i1_ten_callers_take_each_message_once() {
    let place = Place::new();
    let store = Arc::new(place.store);
    for _ in 0..200 {
        store.post(message(1, "x")).await.unwrap();
    }
    let mut callers = JoinSet::new();
    for _ in 0..10 {
        let store = Arc::clone(&store);
        callers.spawn(async move {
            let mut taken = Vec::new();
            while store.mailbox(next(1).receiver).await.unwrap().pending > 0 {
                if let Some(attempt) = store.claim(next(1)).await.unwrap() {
                    taken.extend(attempt.messages.iter().map(|message| message.seq));
                    store.confirm(attempt.id, receipt()).await.unwrap();
                }
            }
            taken
        });
    }
    let mut all: Vec<u64> = callers.join_all().await.into_iter().flatten().collect();
    all.sort_unstable();
    assert_eq!(all, (1..=200).collect::<Vec<_>>());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn posts_of_many_callers_are_numbered_without_gaps_also_when_some_are_refused() {
    let place = Place::new();
    let store = Arc::new(place.store);
    let mut callers = JoinSet::new();
    for n in 0..400 {
        let store = Arc::clone(&store);
        let text = if n % 4 == 0 { "x".repeat(2 << 20) } else { n.to_string() };
        callers.spawn(async move { store.post(message(1, &text)).await.map(|posted| posted.seq) });
    }
    let mut seqs: Vec<u64> = callers.join_all().await.into_iter().filter_map(Result::ok).collect();
    seqs.sort_unstable();
    assert_eq!(seqs, (1..=300).collect::<Vec<_>>());
}

#[tokio::test]
async fn an_answer_that_nobody_waits_for_is_given_all_the_same() {
    let place = Place::new();
    for _ in 0..50 {
        let mut post = place.store.post(message(1, "x"));
        // Polled once, it is queued; dropped then, nobody waits.
        let _pending =
            std::future::poll_fn(|context| std::task::Poll::Ready(post.as_mut().poll(context))).await;
        drop(post);
    }
    let last = place.store.post(message(1, "x")).await.unwrap();
    assert_eq!(last.seq, 51);
}
