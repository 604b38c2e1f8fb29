//! Many programs at once, and much output: every byte and every code.

use std::collections::BTreeMap;

use ptyard_terminal::backend::Io;
use ptyard_yard::Yard;
use tokio::task::JoinSet;

use crate::stage::{PIPES, Stage, at, poll, sh, tty, until};

/// Programs at a time: enough to keep both cores busy.
const AT_A_TIME: usize = 16;

/// Runs a program to its end and gives everything it printed, and its code.
async fn whole(yard: &Yard, text: &str, io: Io) -> (String, Option<i32>) {
    let mut window = yard.exec(sh(text, io, until("exit"))).await.unwrap().commit();
    let mut output = window.output.clone();
    while window.exit.is_none() {
        window = yard.write(&at(&window), poll(until("exit"))).await.unwrap().commit();
        output += &window.output;
    }
    (output, window.exit.and_then(|exit| exit.code))
}

async fn storm(count: usize, text: &'static str, io: Io, want: &(String, Option<i32>)) {
    let stage = Stage::real();
    let mut running = JoinSet::new();
    let mut wrong = BTreeMap::new();
    for n in 0..count {
        if running.len() == AT_A_TIME
            && let Some(done) = running.join_next().await
            && let (n, got) = done.unwrap()
            && got != *want
        {
            wrong.insert(n, got);
        }
        let yard = stage.yard.clone();
        running.spawn(async move { (n, whole(&yard, text, io).await) });
    }
    while let Some(done) = running.join_next().await {
        let (n, got) = done.unwrap();
        if got != *want {
            wrong.insert(n, got);
        }
    }
    assert!(
        wrong.is_empty(),
        "{} of {count} are wrong, for example {:?}",
        wrong.len(),
        wrong.first_key_value()
    );
    stage.yard.shutdown().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn ten_thousand_short_programs_lose_nothing() {
    storm(4_000, "printf x; exit 3", PIPES, &("x".to_owned(), Some(3))).await;
    storm(4_000, "printf x; exit 3", tty(), &("x".to_owned(), Some(3))).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn bursts_of_64_kib_arrive_whole() {
    // 8,192 lines of 7 digits and a newline; one line more than the default cap shows, so read by windows of the log.
    const BURST: &str = "seq 1000000 1008191; exit 4";
    for io in [PIPES, tty()] {
        let stage = Stage::real();
        let mut running = JoinSet::new();
        for _ in 0..1_000 {
            if running.len() == AT_A_TIME {
                running.join_next().await.unwrap().unwrap();
            }
            let yard = stage.yard.clone();
            running.spawn(async move {
                let window = yard.exec(sh(BURST, io, until("exit"))).await.unwrap().commit();
                assert_eq!(window.exit.as_ref().and_then(|exit| exit.code), Some(4));
                let range = yard.read(&at(&window), Some(0), 1 << 20).await.unwrap();
                let newline = if matches!(io, Io::Tty(_)) { "\r\n" } else { "\n" };
                let want: String = (1_000_000..=1_008_191).map(|n| format!("{n}{newline}")).collect();
                assert_eq!(range.data.len(), want.len());
                assert!(range.data == want.as_bytes(), "the burst arrives as it was printed");
                assert_eq!(
                    window.original_token_count,
                    Some((want.len() as u64).div_ceil(4)),
                    "and is counted whole"
                );
            });
        }
        while let Some(done) = running.join_next().await {
            done.unwrap();
        }
        stage.yard.shutdown().await;
    }
}
