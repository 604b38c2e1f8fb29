//! R13 to R16, R22, R24, R25: callers who vanish, and callers who meet.

use ptyard_core::Exit;
use ptyard_terminal::{WindowCall, WindowCursor};
use ptyard_testkit::soon;

use crate::stage::{BOTH, Stage};

/// Every point of a window at which its caller can vanish.
const POINTS: [&str; 5] = [
    "window.before_turn",
    "window.after_turn",
    "window.before_step",
    "window.waiting",
    "window.before_handover",
];

#[tokio::test(start_paused = true)]
async fn r13_to_r16_a_caller_who_vanishes_anywhere_costs_nothing() {
    for io in BOTH {
        for point in POINTS {
            for (old, new, want) in [
                (&b"OLD"[..], &b"NEW"[..], "OLDNEW"),
                (b"\xc3", b"\xa9", "é"),
                (b"x\xf0\x9f", b"\x98\x80y", "x😀y"),
            ] {
                let stage = Stage::new(io).await;
                stage.print(old).await;
                for _ in 0..3 {
                    let hold = stage.pauses.hold(point);
                    // A window that would end at once comes to every point but "waiting".
                    let call = if point == "window.waiting" { stage.call_open() } else { stage.call_now() };
                    let terminal = stage.terminal.clone();
                    let window =
                        tokio::spawn(async move { terminal.window(call).await.map(|ready| ready.commit()) });
                    soon("a task comes to the pause point", hold.reached()).await;
                    window.abort();
                    assert!(window.await.unwrap_err().is_cancelled());
                }
                stage.print(new).await;
                assert_eq!(stage.window().await.text, want, "at {point}");
            }
        }
    }
}

#[tokio::test(start_paused = true)]
async fn r22_bytes_that_come_at_the_deadline_are_in_this_window_or_the_next() {
    for io in BOTH {
        let stage = Stage::new(io).await;
        stage.print(b"early").await;
        let hold = stage.pauses.hold("window.before_step");
        let (terminal, call) = (stage.terminal.clone(), stage.call_now());
        let window = tokio::spawn(async move { terminal.window(call).await.unwrap().commit() });
        soon("a task comes to the pause point", hold.reached()).await;
        stage.print(b" late\xc3").await;
        drop(hold);
        let mut text = window.await.unwrap().text;
        stage.print(b"\xa9").await;
        text += &stage.window().await.text;
        assert_eq!(text, "early lateé");
    }
}

#[tokio::test(start_paused = true)]
async fn r24_a_window_that_was_not_handed_over_comes_again() {
    for io in BOTH {
        let stage = Stage::new(io).await;
        stage.print(b"whole window").await;
        for _ in 0..3 {
            let lost = stage.ready(stage.call_now()).await;
            assert_eq!(lost.collected().text, "whole window");
            drop(lost);
        }
        assert_eq!(stage.window().await.text, "whole window");
        assert_eq!(stage.window().await.text, "");
        // And what was handed over can be had again by its offset.
        let again = WindowCall { cursor: WindowCursor::Own(6), ..stage.call_now() };
        assert_eq!(stage.take(again).await.text, "window");
    }
}

#[tokio::test(start_paused = true)]
async fn r25_two_callers_take_turns_on_the_shared_cursor() {
    for io in BOTH {
        let stage = Stage::new(io).await;
        let waiting = stage.pauses.hold("window.waiting");
        let spawn = |call: WindowCall| {
            let terminal = stage.terminal.clone();
            tokio::spawn(async move { terminal.window(call).await.unwrap().commit() })
        };
        let first = spawn(stage.call_until("regex:two"));
        soon("a task comes to the pause point", waiting.reached()).await;
        let second = spawn(stage.call_until("regex:four"));
        waiting.release_one();
        stage.print(b"one two ").await;
        drop(waiting);
        let first = first.await.unwrap();
        assert_eq!(first.text, "one two ");
        stage.print(b"three four").await;
        let second = second.await.unwrap();
        assert_eq!((second.text.as_str(), second.from), ("three four", first.next));
    }
}

#[tokio::test(start_paused = true)]
async fn r25_a_cursor_of_ones_own_disturbs_nobody() {
    for io in BOTH {
        let stage = Stage::new(io).await;
        stage.print(b"shared").await;
        let own = WindowCall { cursor: WindowCursor::Own(0), ..stage.call_now() };
        assert_eq!(stage.take(own.clone()).await.text, "shared");
        assert_eq!(stage.take(own).await.text, "shared");
        assert_eq!(stage.window().await.text, "shared");
    }
}

#[tokio::test(start_paused = true)]
async fn r26_a_waiting_caller_is_told_at_once_when_the_terminal_is_ended() {
    for io in BOTH {
        let stage = Stage::new(io).await;
        let waiting = stage.pauses.hold("window.waiting");
        let (terminal, call) = (stage.terminal.clone(), stage.call_open());
        let window = tokio::spawn(async move { terminal.window(call).await.unwrap().commit() });
        soon("a task comes to the pause point", waiting.reached()).await;
        drop(waiting);
        stage.terminal.kill(std::time::Duration::ZERO, ptyard_terminal::KilledBy("kill")).await;
        let exit = window.await.unwrap().exit.unwrap();
        assert_eq!((exit.signal, exit.by.as_deref()), (Some(9), Some("kill")));
        assert_ne!(exit, Exit::signaled(9));
    }
}
