//! Trees of processes, what surrounds a program, and what is left of it, as the field's reports describe them.

use std::time::{Duration, Instant};

use ptyard_terminal::backend::{Signal, Target};
use ptyard_testkit::soon;
use ptyard_yard::{ClientPolicy, ExecSpec, Yard, YardConfig};

use crate::stage::{
    PIPES, Stage, at, brief, chars, code, exec, kill, poll, run, sh, tty, until, wait, write,
};

#[tokio::test]
async fn case_s01_s02_no_way_of_leaving_the_group_outlives_a_kill() {
    let stage = Stage::real();
    for io in [tty(), PIPES] {
        for script in [
            "sleep 600 & sleep 601 & echo up; wait",
            "nohup sleep 600 >/dev/null 2>&1 & echo up; wait",
            "setsid setsid sleep 600 & (setsid sleep 601 &); echo up; sleep 602",
            "trap '' HUP TERM INT; (trap '' HUP TERM; sleep 600) & echo up; wait",
            "(sleep 600 & exec setsid sleep 601) & echo up; exit 0",
        ] {
            let window = run(&stage.yard, sh(script, io, until("regex:up"))).await;
            let began = Instant::now();
            let killed = stage.yard.kill(&at(&window), Some(Duration::from_millis(200))).await.unwrap();
            assert!(killed.survivors.is_empty(), "{script}: {killed:?}");
            // The hang-up of a tty whose program ended may have been faster than the way out.
            assert!(killed.found > 0 || script.ends_with("exit 0"), "{script}: {killed:?}");
            assert!(began.elapsed() < Duration::from_secs(4), "{script}");
            let again = kill(&stage.yard, &window).await;
            assert_eq!((again.found, again.last_signal), (0, None), "{script}: nothing is left to kill");
        }
    }
}

#[tokio::test]
async fn case_s07_an_interrupt_without_a_tty_reaches_every_stage_of_a_pipeline() {
    let stage = Stage::real();
    let script = "sleep 600 | sleep 601; echo not here";
    let window = run(&stage.yard, sh(script, PIPES, brief())).await;
    stage.yard.signal(&at(&window), Signal(2), Target::ForegroundGroup).await.unwrap();
    let end = write(&stage.yard, &window, poll(until("exit"))).await;
    assert_eq!((end.exit.clone().unwrap().signal, end.exit.unwrap().descendants), (Some(2), 0));
    assert!(!end.output.contains("not here"));
}

#[tokio::test]
async fn case_s08_a_deaf_child_of_a_program_that_left_is_killed_after_the_grace() {
    let stage = Stage::real();
    for io in [tty(), PIPES] {
        let script = "(trap '' HUP INT TERM; echo up; while :; do sleep 1; done) & wait";
        let window = run(&stage.yard, sh(script, io, until("regex:up"))).await;
        let began = Instant::now();
        let killed = stage.yard.kill(&at(&window), Some(Duration::from_millis(300))).await.unwrap();
        assert!(began.elapsed() >= Duration::from_millis(300) && began.elapsed() < Duration::from_secs(3));
        assert_eq!((killed.last_signal, killed.survivors.len()), (Some(9), 0), "{killed:?}");
    }
}

#[tokio::test]
async fn case_s12_an_interrupt_ends_what_was_waited_for_and_nothing_else() {
    let stage = Stage::real();
    for io in [tty(), PIPES] {
        let waited = run(&stage.yard, exec(&["sleep", "600"], io, brief())).await;
        let server = run(&stage.yard, exec(&["sleep", "601"], io, brief())).await;
        stage.yard.signal(&at(&waited), Signal(2), Target::ForegroundGroup).await.unwrap();
        let end = write(&stage.yard, &waited, poll(until("exit"))).await;
        assert_eq!(end.exit.unwrap().signal, Some(2));
        let running: Vec<_> = stage.yard.list().into_iter().filter(|info| info.exit.is_none()).collect();
        assert_eq!((running.len(), running[0].id), (1, server.id));
        kill(&stage.yard, &server).await;
        assert!(stage.yard.list().iter().all(|info| info.exit.is_some()));
    }
}

#[tokio::test]
async fn case_s13_a_burst_of_interrupts_is_heard_and_leaves_everybody_alive() {
    let stage = Stage::real();
    let script = r#"trap "echo got" INT; echo up; while :; do sleep .1; done"#;
    let window = run(&stage.yard, sh(script, tty(), until("regex:up"))).await;
    for _ in 0..5 {
        write(&stage.yard, &window, chars("\x03", brief())).await;
    }
    let heard = wait(&stage.yard, &window, "regex:got", Some(0), 10_000).await;
    assert_eq!(heard.ended_by, "regex");
    let echo = run(&stage.yard, sh("echo fine", tty(), until("exit"))).await;
    assert_eq!(echo.output, "fine\r\n");
    assert!(stage.yard.info(&at(&window)).unwrap().exit.is_none());
    kill(&stage.yard, &window).await;
}

#[tokio::test]
async fn case_v01_programs_find_a_terminal_a_path_a_home_and_utf_8() {
    let stage = Stage::real();
    let cols = run(&stage.yard, exec(&["tput", "cols"], tty(), until("exit"))).await;
    assert_eq!((cols.output.as_str(), code(&cols)), ("80\r\n", Some(0)));
    for io in [tty(), PIPES] {
        let script =
            r#"printf '%s\n' "${TERM:?}" "${LANG:?}" "${HOME:?}" "${PATH:?}" "${USER:?}"; printf é | wc -m"#;
        let window = run(&stage.yard, exec(&["bash", "-c", script], io, until("exit"))).await;
        assert_eq!(code(&window), Some(0), "{window:?}");
        assert_eq!(
            window.output.trim_end().lines().last().unwrap().trim(),
            "1",
            "the locale is UTF-8: {window:?}"
        );
    }
}

#[tokio::test]
async fn case_v06_a_long_git_log_ends_without_a_pager() {
    let stage = Stage::real();
    let repository = stage.directory.path().join("repository");
    let make = "git init -q . && for i in $(seq 1 60); do \
                git -c user.name=n -c user.email=e -c commit.gpgsign=false commit -q --allow-empty -m \"entry $i\"; done; git log";
    std::fs::create_dir(&repository).unwrap();
    let spec = ExecSpec { cwd: Some(repository.clone()), ..sh(make, tty(), until("exit")) };
    let window = run(&stage.yard, spec).await;
    assert_eq!(code(&window), Some(0), "{window:?}");
    assert!(window.output.contains("entry 60") && window.output.contains("entry 1\r\n"));
    // Whoever wants a pager gets one, and can see that it waits.
    let pager = ExecSpec {
        cwd: Some(repository),
        env: [("GIT_PAGER".to_owned(), "less".to_owned()), ("LESS".to_owned(), String::new())].into(),
        ..exec(&["git", "log"], tty(), until("prompt"))
    };
    let pager = run(&stage.yard, pager).await;
    assert!(pager.exit.is_none(), "{pager:?}");
    let end = write(&stage.yard, &pager, chars("q", until("exit"))).await;
    assert_eq!(code(&end), Some(0));
}

#[tokio::test]
async fn case_z04_a_client_that_forgets_its_programs_does_not_pile_them_up() {
    let stage = Stage::real();
    let policy = Some(ClientPolicy { client: "forgetful".to_owned(), max_terminals: Some(12) });
    let mut warned = 0;
    for _ in 0..50 {
        let spec = ExecSpec { policy: policy.clone(), ..exec(&["sleep", "600"], PIPES, brief()) };
        warned += run(&stage.yard, spec).await.warnings.len();
    }
    assert!(warned > 30, "the client is told: {warned}");
    let settled = async {
        while stage.yard.list().iter().filter(|info| info.exit.is_none()).count() > 12 {
            tokio::task::yield_now().await;
        }
    };
    soon("the least used ones end", settled).await;
    let mut events = stage.yard.events(Some(0));
    let mut pruned = 0;
    while let Some(event) = events.next_kept().await {
        if event.kind == "pruned" {
            assert_eq!(
                (event.data["client"].as_str(), event.data["max_terminals"].as_u64()),
                (Some("forgetful"), Some(12))
            );
            pruned += 1;
        }
    }
    assert_eq!(pruned, 38);
    let why: Vec<_> =
        stage.yard.list().into_iter().filter_map(|info| info.exit).map(|exit| exit.by).collect();
    assert!(why.len() == 38 && why.iter().all(|by| by.as_deref() == Some("prune")), "{why:?}");
    stage.yard.shutdown().await;
}

#[tokio::test]
async fn case_z05_programs_that_ended_count_against_no_limit() {
    let directory = tempfile::tempdir().unwrap();
    let config = YardConfig { max_running: 4, ..YardConfig::new(directory.path().join("state")) };
    let yard = Yard::open(config).unwrap();
    for _ in 0..3 {
        for io in [tty(), PIPES] {
            for _ in 0..4 {
                // Nobody takes the end of these.
                let window = run(&yard, exec(&["true"], io, brief())).await;
                yard.wait(&at(&window), &["exit".to_owned()], None, None).await.unwrap();
            }
        }
    }
    let mut running = Vec::new();
    for _ in 0..4 {
        running.push(run(&yard, exec(&["sleep", "600"], PIPES, brief())).await);
    }
    let fifth = yard.exec(exec(&["true"], PIPES, brief())).await.err().unwrap();
    assert_eq!(fifth.code(), ptyard_core::ErrorCode::TooManyTerminals);
    kill(&yard, &running[0]).await;
    assert_eq!(code(&run(&yard, exec(&["true"], PIPES, until("exit"))).await), Some(0));
    yard.shutdown().await;
}
