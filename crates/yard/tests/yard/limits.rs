//! Limits of one terminal, on real programs.

use std::time::Duration;

use ptyard_core::{Cause, Limit, Limits};
use ptyard_terminal::backend::Unheld;
use ptyard_yard::{ExecSpec, LimitSpec, Window};

use ptyard_testkit::soon;

use crate::stage::{PIPES, Stage, at, brief, chars, poll, run, sh, tty, until, wait, write};

fn limited(limits: Limits, spec: ExecSpec) -> ExecSpec {
    ExecSpec { limits: LimitSpec { limits, unheld: Unheld::Refuse }, ..spec }
}

fn wall(ms: u64) -> Limits {
    Limits { wall: Some(Duration::from_millis(ms)), ..Limits::default() }
}

fn idle(ms: u64) -> Limits {
    Limits { idle: Some(Duration::from_millis(ms)), ..Limits::default() }
}

fn killed_by(window: &Window) -> Option<&str> {
    window.exit.as_ref().filter(|exit| exit.cause == Cause::Killed).and_then(|exit| exit.by.as_deref())
}

#[tokio::test]
async fn case_k01_a_wall_limit_ends_the_whole_tree_and_gives_what_was_printed() {
    let stage = Stage::real();
    for io in [tty(), PIPES] {
        let script = "setsid sleep 600 & echo $!; printf part; exec sleep 600";
        let window = run(&stage.yard, limited(wall(300), sh(script, io, until("exit")))).await;
        assert_eq!(killed_by(&window), Some("limit:wall"), "{window:?}");
        assert!(window.output.ends_with("part"), "{window:?}");
        let detached: u32 = window.output.lines().next().unwrap().trim().parse().unwrap();
        let info = stage.yard.info(&at(&window)).unwrap();
        assert_eq!(info.limits.unwrap().limits, wall(300));
        // The end of the program is told when it has ended; the rest was killed and is on its way.
        soon("the end of what it started", async {
            let runs = || {
                let stat = std::fs::read_to_string(format!("/proc/{detached}/stat")).unwrap_or_default();
                stat.rsplit(')')
                    .next()
                    .and_then(|rest| rest.trim().chars().next())
                    .is_some_and(|state| state != 'Z')
            };
            while runs() {
                tokio::task::yield_now().await;
            }
        })
        .await;
    }
    let mut events = Vec::new();
    let mut stream = stage.yard.events(Some(0));
    while let Ok(event) = tokio::time::timeout(Duration::from_millis(200), stream.next()).await {
        events.push((event.kind, event.data));
    }
    assert!(events.contains(&("limit".into(), serde_json::json!({ "limit": Limit::Wall }))), "{events:?}");
}

#[tokio::test]
async fn case_k04_an_idle_limit_ends_a_silent_program_and_none_that_is_fed() {
    let stage = Stage::real();
    let window = run(&stage.yard, limited(idle(3_000), sh("cat", tty(), brief()))).await;
    for _ in 0..8 {
        // Typing and its echo come more often than the limit would allow silence.
        let fed = write(&stage.yard, &window, chars("x\n", until("quiet:500"))).await;
        assert_eq!(fed.exit, None);
    }
    let end = write(&stage.yard, &window, poll(until("exit"))).await;
    assert_eq!(killed_by(&end), Some("limit:idle"), "{end:?}");
}

#[tokio::test]
async fn a_program_that_ignores_the_question_is_killed_after_a_grace() {
    let stage = Stage::real();
    let script = "trap '' TERM HUP; echo ready; while :; do sleep 0.1; done";
    let window = run(&stage.yard, limited(wall(500), sh(script, PIPES, until("exit")))).await;
    assert_eq!(killed_by(&window), Some("limit:wall"));
    assert_eq!(window.exit.unwrap().signal, Some(9));
}

#[tokio::test]
async fn a_log_limit_keeps_the_newest_and_tells_the_gap() {
    let stage = Stage::real();
    let limits = Limits { log_bytes: Some(256 << 10), ..Limits::default() };
    let script = "head -c 4000000 /dev/zero | tr '\\0' x; echo end";
    let window = run(&stage.yard, limited(limits, sh(script, PIPES, brief()))).await;
    wait(&stage.yard, &window, "exit", None, 20_000).await;
    let rest = stage.yard.read(&at(&window), Some(0), 1 << 20).await.unwrap();
    let info = stage.yard.info(&at(&window)).unwrap();
    let kept = info.log_end - info.log_start;
    assert_eq!(info.log_end, 4_000_004);
    // The ring, and a segment that is not full, come on top.
    assert!((128 << 10..=512 << 10).contains(&kept), "{kept}");
    assert_eq!((rest.from, rest.evicted), (info.log_start, info.log_start));
    assert!(rest.data.ends_with(b"end\n"));
}

#[tokio::test]
async fn limits_that_cannot_be_held_are_refused_unless_that_is_well() {
    // Scripts have no ceilings.
    let stage = Stage::scripted();
    let limits = Limits { memory_bytes: Some(1 << 30), processes: Some(10), ..Limits::default() };
    let refused = stage.yard.exec(limited(limits, sh("x", PIPES, brief()))).await.err().unwrap();
    assert_eq!(refused.code().as_str(), "limit_unavailable", "{refused}");
    assert!(refused.to_string().contains("memory"), "{refused}");
    assert!(stage.yard.list().is_empty());
    let spec = ExecSpec { limits: LimitSpec { limits, unheld: Unheld::Tell }, ..sh("x", PIPES, brief()) };
    let window = run(&stage.yard, spec).await;
    assert_eq!(window.warnings.len(), 2, "{window:?}");
    let info = stage.yard.info(&at(&window)).unwrap().limits.unwrap();
    assert_eq!(
        info.unheld.iter().map(|(limit, _)| *limit).collect::<Vec<_>>(),
        [Limit::Memory, Limit::Processes]
    );
    let low = Limits { wall: Some(Duration::ZERO), ..Limits::default() };
    let refused = stage.yard.exec(limited(low, sh("x", PIPES, brief()))).await.err().unwrap();
    assert_eq!(refused.code().as_str(), "invalid_argument");
}

/// Whether this machine lends a real program such a limit; else the test says that it showed nothing.
async fn held(stage: &Stage, limits: Limits) -> bool {
    match stage.yard.exec(limited(limits, sh("true", PIPES, until("exit")))).await {
        Ok(window) => {
            assert_eq!(window.commit().exit.unwrap().code, Some(0));
            true
        }
        Err(error) => {
            assert_eq!(error.code().as_str(), "limit_unavailable", "{error}");
            eprintln!("SKIPPED, not shown here: {error}");
            false
        }
    }
}

#[tokio::test]
async fn a_memory_limit_ends_the_program_that_wants_more() {
    let stage = Stage::real();
    let limits = Limits { memory_bytes: Some(64 << 20), ..Limits::default() };
    if !held(&stage, limits).await {
        return;
    }
    let script = "echo begun; exec tail /dev/zero";
    let window = run(&stage.yard, limited(limits, sh(script, PIPES, until("exit")))).await;
    assert_eq!(killed_by(&window), Some("limit:memory"), "{window:?}");
    assert_eq!(window.output, "begun\n");
}

#[tokio::test]
async fn a_process_limit_ends_the_program_that_wants_more() {
    let stage = Stage::real();
    let limits = Limits { processes: Some(8), ..Limits::default() };
    if !held(&stage, limits).await {
        return;
    }
    let script = "echo begun; for i in 1 2 3 4 5 6 7 8 9 10; do sleep 600 & done; wait";
    let window = run(&stage.yard, limited(limits, sh(script, PIPES, until("exit")))).await;
    assert_eq!(killed_by(&window), Some("limit:processes"), "{window:?}");
    assert!(window.output.starts_with("begun\n"));
}
