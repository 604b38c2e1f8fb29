//! R5, R6, R11, R12, R20, R23: one end, after the last byte.

use std::time::Duration;

use ptyard_core::Exit;
use ptyard_core::window::EndedBy;
use ptyard_testkit::soon;

use crate::stage::{BOTH, Stage};

#[tokio::test(start_paused = true)]
async fn r05_an_exit_between_two_polls_shows_the_held_byte() {
    for io in BOTH {
        let stage = Stage::new(io).await;
        stage.print(b"hi\xc3").await;
        let first = stage.window().await;
        assert_eq!((first.text.as_str(), first.exit), ("hi", None));
        stage.script.exit(Exit::exited(3));
        stage.script.close_output();
        let last = stage.take(stage.call_open()).await;
        assert_eq!((last.text.as_str(), last.exit), ("\u{fffd}", Some(Exit::exited(3))));
    }
}

#[tokio::test(start_paused = true)]
async fn r06_a_chunk_after_the_exit_is_in_the_last_window() {
    for io in BOTH {
        let stage = Stage::new(io).await;
        stage.print(b"hi").await;
        let waiting = stage.pauses.hold("window.waiting");
        let (terminal, call) = (stage.terminal.clone(), stage.call_open());
        let window = tokio::spawn(async move { terminal.window(call).await.unwrap().commit() });
        soon("a task comes to the pause point", waiting.reached()).await;
        stage.script.exit(Exit::exited(0));
        stage.print(b" late\xc3").await;
        stage.script.close_output();
        drop(waiting);
        let collected = window.await.unwrap();
        assert_eq!(collected.text, "hi late\u{fffd}");
        assert_eq!((collected.exit, collected.ended_by), (Some(Exit::exited(0)), EndedBy::Exit));
    }
}

#[tokio::test(start_paused = true)]
async fn r11_an_exit_code_that_is_visible_early_ends_nothing() {
    for io in BOTH {
        let stage = Stage::new(io).await;
        stage.print(b"\xc3").await;
        stage.script.exit(Exit::exited(0));
        let first = stage.window().await;
        assert_eq!(
            (first.text.as_str(), first.exit, first.next),
            ("", None, 0),
            "reaped, not drained: it runs"
        );
        stage.print(b"\xa9").await;
        stage.script.close_output();
        let last = stage.take(stage.call_open()).await;
        assert_eq!((last.text.as_str(), last.exit), ("é", Some(Exit::exited(0))));
    }
}

#[tokio::test(start_paused = true)]
async fn r12_an_end_of_output_without_an_exit_ends_nothing() {
    for io in BOTH {
        let stage = Stage::new(io).await;
        stage.print(b"out").await;
        stage.script.close_output();
        let first = stage.window().await;
        assert_eq!((first.text.as_str(), first.exit), ("out", None));
        stage.script.exit(Exit::signaled(9));
        let last = stage.take(stage.call_open()).await;
        assert_eq!((last.text.as_str(), last.exit), ("", Some(Exit::signaled(9))));
    }
}

#[tokio::test(start_paused = true)]
async fn r20_no_data_yet_is_not_the_end() {
    for io in BOTH {
        let stage = Stage::new(io).await;
        stage.print(b"first ").await;
        stage.script.exit(Exit::exited(0));
        assert!(stage.window().await.exit.is_none());
        // The relay delivers the last chunk half a second after the exit.
        tokio::time::sleep(Duration::from_millis(500)).await;
        stage.print(b"FINAL\n").await;
        stage.script.close_output();
        let last = stage.take(stage.call_open()).await;
        assert_eq!((last.text.as_str(), last.exit), ("FINAL\n", Some(Exit::exited(0))));
    }
}

#[tokio::test(start_paused = true)]
async fn r23_a_descendant_that_holds_the_terminal_does_not_hold_the_end() {
    for io in BOTH {
        let stage = Stage::new(io).await;
        stage.script.set_descendants(1);
        stage.print(b"started\n").await;
        let began = stage.clock.now();
        stage.script.exit(Exit::exited(0));
        let last = stage.take(stage.call_open()).await;
        assert_eq!(last.text, "started\n");
        assert_eq!(last.exit, Some(Exit { descendants: 1, ..Exit::exited(0) }));
        let took = stage.clock.now().since(began);
        assert!(took <= Duration::from_millis(500), "{took:?}");
        // What the descendant prints later is in the log and can be read by offset.
        stage.print(b"late").await;
        let mut late = Vec::new();
        stage.terminal.log().read(8, 100, &mut late).unwrap();
        assert_eq!(late, b"late");
    }
}

#[tokio::test(start_paused = true)]
async fn law_04_the_end_is_reported_once_and_asked_again_stays_the_same() {
    for io in BOTH {
        let stage = Stage::new(io).await;
        stage.print(b"bye").await;
        stage.script.exit(Exit::exited(7));
        stage.script.close_output();
        let last = stage.take(stage.call_open()).await;
        assert_eq!((last.text.as_str(), last.exit), ("bye", Some(Exit::exited(7))));
        let again = stage.take(stage.call_open()).await;
        assert_eq!((again.text.as_str(), again.exit, again.from), ("", Some(Exit::exited(7)), 3));
    }
}
