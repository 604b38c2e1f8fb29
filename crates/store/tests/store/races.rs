//! Many callers at once.

use std::sync::{Arc, Mutex};

use ptyard_store::Inbox;
use ptyard_store::inbox::{Posted, Tell};
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

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_is_told_of_a_message_is_told_before_what_came_later_is_answered() {
    let place = Place::new();
    let store = &place.store;
    for _ in 0..100 {
        let said = Arc::new(Mutex::new(Vec::new()));
        let told = Arc::clone(&said);
        let posting = store
            .post_and_tell(message(1, "x"), Box::new(move |posted| told.lock().unwrap().push(posted.seq)));
        let claiming = async {
            let attempt = store.claim(next(1)).await.unwrap().unwrap();
            assert_eq!(*said.lock().unwrap(), [attempt.messages[0].seq]);
            attempt.id
        };
        let (_, attempt) = tokio::join!(biased; posting, claiming);
        store.confirm(attempt, receipt()).await.unwrap();
    }
}

#[tokio::test]
async fn a_store_ends_also_when_its_last_handle_goes_on_its_own_thread() {
    let store = Arc::new(Place::new().store);
    let last = Arc::clone(&store);
    let (gone, is_gone) = tokio::sync::oneshot::channel();
    let tell = move |_: &Posted| {
        drop(last);
        let _nobody_waits = gone.send(());
    };
    // The store's thread is held until this handle is gone.
    let (go, held) = std::sync::mpsc::sync_channel::<()>(1);
    let hold = Box::new(move |_: &Posted| {
        let _let_go = held.recv();
    });
    for tell in [hold as Tell, Box::new(tell)] {
        let mut post = store.post_and_tell(message(1, "x"), tell);
        let _pending =
            std::future::poll_fn(|context| std::task::Poll::Ready(post.as_mut().poll(context))).await;
    }
    let dropped = std::thread::spawn(move || drop(store));
    dropped.join().unwrap();
    drop(go);
    is_gone.await.unwrap();
}
