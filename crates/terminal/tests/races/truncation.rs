//! R7 to R10: one truncation, of the whole, tail included.

use ptyard_core::Exit;
use ptyard_terminal::WindowCall;
use ptyard_terminal::backend::Io;
use ptyard_testkit::soon;

use crate::stage::{BOTH, Stage};

/// A window that is open while the program prints `pieces` one by one and ends.
async fn capped(io: Io, cap_tokens: i64, pieces: &[&[u8]]) -> (String, Option<u64>) {
    let stage = Stage::new(io).await;
    // A pattern makes the window look at every piece as it comes.
    let call = WindowCall { cap_tokens: Some(cap_tokens), ..stage.call_until("regex:never printed") };
    let waiting = stage.pauses.hold("window.waiting");
    let terminal = stage.terminal.clone();
    let window = tokio::spawn(async move { terminal.window(call).await.unwrap().commit() });
    for piece in pieces {
        soon("a task comes to the pause point", waiting.reached()).await;
        stage.print(piece).await;
        waiting.release_one();
    }
    soon("a task comes to the pause point", waiting.reached()).await;
    stage.script.exit(Exit::exited(0));
    stage.script.close_output();
    drop(waiting);
    let collected = window.await.unwrap();
    assert!(collected.exit.is_some());
    (collected.text, collected.original_token_count)
}

#[tokio::test(start_paused = true)]
async fn r07_the_tail_obeys_the_cap() {
    for io in BOTH {
        let (text, count) = capped(io, 0, &[b"hi", b"\xc3"]).await;
        assert_eq!((text.as_str(), count), ("", Some(2)), "2 + 3 bytes are two tokens, and none is shown");
    }
}

#[tokio::test(start_paused = true)]
async fn r08_counts_are_never_taken_from_a_display() {
    for io in BOTH {
        let (text, count) = capped(io, 10, &["A".repeat(100).as_bytes(), b"\xc3"]).await;
        assert_eq!((text.as_str(), count), ("AAAAAAA…22 tokens truncated…AAAAA\u{fffd}", Some(26)));
    }
}

#[tokio::test(start_paused = true)]
async fn r09_the_tail_is_part_of_what_is_kept() {
    for io in BOTH {
        let (text, count) = capped(io, 10, &["A".repeat(100).as_bytes(), b"<<<FINAL-ERROR>>>"]).await;
        assert_eq!((text.as_str(), count), ("AAAAAAA…26 tokens truncated…ERROR>>>", Some(30)));
    }
}

#[tokio::test(start_paused = true)]
async fn r10_the_count_covers_everything_that_was_flushed() {
    for io in BOTH {
        let pieces: Vec<Vec<u8>> = (0..9).map(|n| vec![b'a' + n; 41]).collect();
        let refs: Vec<&[u8]> = pieces.iter().map(Vec::as_slice).collect();
        let (_, count) = capped(io, 5, &refs).await;
        assert_eq!(count, Some((9 * 41u64).div_ceil(4)));
    }
}
