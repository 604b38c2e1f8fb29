//! Limits in time, to the moment.

use std::time::Duration;

use ptyard_core::{Cause, Exit, Moment};
use ptyard_terminal::{TimeLimits, Typed};
use ptyard_testkit::soon;

use crate::stage::{BOTH, Stage};

const SECOND: Duration = Duration::from_secs(1);

fn wall(seconds: u32) -> impl FnOnce(Moment) -> TimeLimits {
    move |now| TimeLimits { wall: Some(now + seconds * SECOND), idle: None }
}

fn idle(seconds: u32) -> impl FnOnce(Moment) -> TimeLimits {
    move |_| TimeLimits { wall: None, idle: Some(seconds * SECOND) }
}

/// Its end, and after how many seconds on the test's clock it came.
async fn end(stage: &Stage) -> (Exit, f64) {
    let mut progress = stage.terminal.progress();
    let sealed = soon("the end", progress.wait_for(|progress| progress.sealed.is_some())).await.unwrap();
    let sealed = sealed.sealed.clone().unwrap();
    (sealed.exit, sealed.at.since_epoch().as_secs_f64())
}

fn by(exit: &Exit) -> (Cause, Option<&str>) {
    (exit.cause, exit.by.as_deref())
}

#[tokio::test(start_paused = true)]
async fn a_wall_limit_strikes_whatever_the_program_does_and_what_it_printed_is_there() {
    for io in BOTH {
        let stage = Stage::limited(io, wall(10)).await;
        for _ in 0..9 {
            stage.print(b"busy ").await;
            tokio::time::sleep(SECOND).await;
        }
        assert_eq!(stage.script.kills(), 0);
        let (exit, at) = end(&stage).await;
        assert_eq!(by(&exit), (Cause::Killed, Some("limit:wall")));
        assert!((10.0..10.1).contains(&at), "{at}");
        let last = stage.take(stage.call_open()).await;
        assert_eq!((last.text.as_str(), last.exit), ("busy ".repeat(9).as_str(), Some(exit)));
        assert_eq!(stage.script.kills(), 1);
    }
}

#[tokio::test(start_paused = true)]
async fn output_and_typing_each_put_the_idle_limit_off_and_silence_strikes() {
    for io in BOTH {
        let stage = Stage::limited(io, idle(10)).await;
        for round in 0..6 {
            tokio::time::sleep(9 * SECOND).await;
            if round % 2 == 0 {
                stage.print(b"x").await;
            } else {
                stage.terminal.type_in(Typed::raw(&b"y"[..])).await.unwrap();
            }
        }
        assert_eq!(stage.script.kills(), 0, "54 s, never idle for 10");
        let (exit, at) = end(&stage).await;
        assert_eq!(by(&exit), (Cause::Killed, Some("limit:idle")));
        assert!((64.0..64.1).contains(&at), "{at}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_program_that_ended_reaches_no_limit() {
    for io in BOTH {
        for limits in [wall(10)(Moment::EPOCH), idle(10)(Moment::EPOCH)] {
            let stage = Stage::limited(io, |_| limits).await;
            stage.script.exit(Exit::exited(7));
            stage.script.close_output();
            let (exit, _) = end(&stage).await;
            tokio::time::sleep(60 * SECOND).await;
            assert_eq!(exit, Exit::exited(7));
            assert_eq!(stage.script.kills(), 0);
        }
    }
}

#[tokio::test(start_paused = true)]
async fn of_two_limits_the_first_strikes_and_only_it() {
    let stage =
        Stage::limited(BOTH[0], |now| TimeLimits { wall: Some(now + 20 * SECOND), idle: Some(5 * SECOND) })
            .await;
    let (exit, at) = end(&stage).await;
    assert_eq!(by(&exit), (Cause::Killed, Some("limit:idle")));
    assert!((5.0..5.1).contains(&at), "{at}");
    tokio::time::sleep(60 * SECOND).await;
    assert_eq!(stage.script.kills(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_limit_whose_time_was_up_before_the_actor_began_strikes_at_once() {
    let stage = Stage::limited(BOTH[0], |now| TimeLimits { wall: Some(now), idle: None }).await;
    assert_eq!(by(&end(&stage).await.0), (Cause::Killed, Some("limit:wall")));
}
