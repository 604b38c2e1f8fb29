//! Ending whole trees, under both containments.

use std::time::{Duration, Instant};

use ptyard_terminal::local::Containment;

use crate::support::{PIPES, Program, TTY, backend, containments, lives, pids, spec};

const GRACE: Duration = Duration::from_secs(5);

/// Starts a script, waits until it has told `count` process ids as `pid=N`, kills it, and sees that all are gone.
async fn ends_all(script: &str, count: usize) {
    for containment in containments() {
        for io in [TTY, PIPES] {
            let backend = backend(containment);
            let mut program = Program::start(&backend, spec(&["sh", "-c", script], io)).await.unwrap();
            while pids(&program.output(), "pid").len() < count {
                assert!(program.read().await, "{}", program.output());
            }
            let told = pids(&program.output(), "pid");
            let report = program.kill(GRACE).await;
            assert_eq!(report.survivors, Vec::<u32>::new(), "{containment:?} {io:?}");
            assert!(report.found as usize >= count, "{containment:?} {io:?}: {report:?} of {told:?}");
            assert_eq!(told.iter().filter(|&&pid| lives(pid)).count(), 0, "{containment:?} {io:?}");
            assert_eq!(program.control.descendants(), 0);
        }
    }
}

#[tokio::test]
async fn case_s01_children_of_the_program_end_with_it() {
    ends_all("sleep 600 & echo pid=$!; sleep 601 & echo pid=$!; wait", 2).await;
}

#[tokio::test]
async fn case_s02_descendants_that_left_the_session_end_too() {
    let tell = "sh -c 'echo pid=$$; exec sleep 600'";
    ends_all(&format!("setsid {tell} </dev/null & (setsid {tell} &) ; {tell}"), 3).await;
}

#[tokio::test]
async fn case_s02_descendants_that_left_everything_that_can_be_left_end_too() {
    // No parent, session, terminal or environment of the program's remains.
    let tell = "sh -c 'echo pid=$$; exec >/dev/null 2>&1 </dev/null sleep 600'";
    ends_all(
        &format!("(env -i setsid sh -c \"(setsid env -i {} &)\" &) ; exec {tell}", tell.replace('$', "\\$")),
        2,
    )
    .await;
}

#[tokio::test]
async fn case_s02_stopped_processes_end_too() {
    ends_all("sh -c 'echo pid=$$; kill -STOP $$; sleep 600' & echo pid=$$; wait", 2).await;
}

#[tokio::test]
async fn case_s02_the_program_may_have_ended_before_its_descendants_are_killed() {
    for containment in containments() {
        let backend = backend(containment);
        let script = "(env -i setsid sh -c 'echo pid=$$; exec sleep 600' &)";
        let mut program = Program::start(&backend, spec(&["sh", "-c", script], PIPES)).await.unwrap();
        program.read_until("pid=").await;
        assert_eq!(program.exit().await.code, Some(0));
        assert_eq!(program.control.descendants(), 1, "{containment:?}");
        let report = program.kill(GRACE).await;
        assert_eq!((report.found, report.last_signal), (1, Some(15)), "{containment:?}");
        assert!(!lives(pids(&program.output(), "pid")[0]));
    }
}

#[tokio::test]
async fn case_s08_a_program_that_ignores_every_request_is_killed_after_the_grace() {
    let grace = Duration::from_millis(300);
    for containment in containments() {
        let backend = backend(containment);
        let script = "trap '' HUP INT TERM; echo ready; while :; do sleep 1; done";
        let mut program = Program::start(&backend, spec(&["sh", "-c", script], TTY)).await.unwrap();
        program.read_until("ready").await;
        let start = Instant::now();
        let report = program.kill(grace).await;
        let took = start.elapsed();
        assert!(took >= grace && took < grace + Duration::from_secs(2), "{containment:?}: {took:?}");
        assert_eq!((report.last_signal, report.survivors), (Some(9), vec![]));
        assert_eq!(program.exit().await.signal, Some(9));
    }
}

#[tokio::test]
async fn a_program_that_leaves_when_asked_is_not_waited_for_longer() {
    for containment in containments() {
        let backend = backend(containment);
        // The child says it is ready, after its exec: before it, a shell's child still has the shell's traps, and
        // loses a signal that comes then.
        let script = "trap 'exit 7' TERM; trap '' HUP; sh -c 'echo ready; exec sleep 600' & wait";
        let mut program = Program::start(&backend, spec(&["sh", "-c", script], TTY)).await.unwrap();
        program.read_until("ready").await;
        let start = Instant::now();
        let report = program.kill(Duration::from_secs(15)).await;
        assert!(start.elapsed() < Duration::from_secs(10), "{containment:?}");
        assert_eq!((report.last_signal, report.survivors), (Some(15), vec![]));
        assert_eq!(program.exit().await.code, Some(7));
    }
}

#[tokio::test]
async fn the_signal_a_program_died_of_is_the_one_that_was_needed() {
    for containment in containments() {
        for (argv, signal) in [
            (&["sh", "-c", "echo ready; exec sleep 600"][..], 15),
            // It ignores TERM, as interactive shells do. One that becomes another program loses a HUP that comes while it does,
            // so it has when it is ready.
            (&["bash", "--norc", "-i", "-c", "trap '' TERM; exec sh -c 'echo ready; exec sleep 600'"], 1),
        ] {
            let mut program = Program::start(&backend(containment), spec(argv, TTY)).await.unwrap();
            program.read_until("ready").await;
            let report = program.kill(Duration::from_secs(15)).await;
            let died_of = program.exit().await.signal;
            assert_eq!(
                (died_of, report.last_signal),
                (Some(signal), Some(signal)),
                "{argv:?}: {containment:?}"
            );
        }
    }
}

#[tokio::test]
async fn r19_a_kill_goes_on_when_nobody_waits_for_it() {
    for containment in containments() {
        let backend = backend(containment);
        let script = "trap '' HUP TERM; echo ready; while :; do sleep 600 & wait; done";
        let mut program = Program::start(&backend, spec(&["sh", "-c", script], PIPES)).await.unwrap();
        program.read_until("ready").await;
        drop(program.control.kill(Duration::from_millis(50)));
        assert_eq!(program.exit().await.signal, Some(9), "{containment:?}");
    }
}

#[tokio::test]
async fn killing_one_program_leaves_its_siblings_alone() {
    for containment in containments() {
        let backend = backend(containment);
        let script = "sleep 600 & echo ready; wait";
        let mut first = Program::start(&backend, spec(&["sh", "-c", script], PIPES)).await.unwrap();
        let mut second = Program::start(&backend, spec(&["sh", "-c", script], TTY)).await.unwrap();
        first.read_until("ready").await;
        second.read_until("ready").await;
        assert_eq!(first.kill(GRACE).await.found, 2, "{containment:?}");
        assert_eq!(second.control.descendants(), 1, "{containment:?}");
        assert!(lives(second.pid));
    }
}

#[tokio::test]
async fn a_program_that_forks_all_the_time_ends_too() {
    for containment in containments() {
        let backend = backend(containment);
        // Each one leaves the session and starts the next before it ends; the last one after some ten seconds.
        let script = r#"trap '' HUP TERM
            next='[ $1 -gt 0 ] || exit; sleep 0.01; exec setsid -f sh -c "$0" "$0" $(($1 - 1))'
            setsid -f sh -c "$next" "$next" 1000
            echo ready
            while :; do sleep 600; done"#;
        let mut program = Program::start(&backend, spec(&["sh", "-c", script], PIPES)).await.unwrap();
        program.read_until("ready").await;
        let report = program.kill(Duration::from_millis(100)).await;
        assert_eq!((report.last_signal, report.survivors), (Some(9), vec![]), "{containment:?}");
    }
}

#[test]
fn a_runtime_that_shuts_down_leaves_nothing_of_its_programs() {
    for containment in [Containment::Cgroup, Containment::Walk] {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let told = runtime.block_on(async {
            if !containments().contains(&containment) {
                return Vec::new();
            }
            let backend = backend(containment);
            // The last child is started while the rest is killed, or not any more.
            let script =
                "trap '' HUP TERM; (setsid sh -c 'echo ready; exec sleep 600' &) ; echo ready; sleep 601";
            let (one, other) = (spec(&["sh", "-c", script], PIPES), spec(&["sh", "-c", script], PIPES));
            let ids = [one.id, other.id];
            let mut dropped = Program::start(&backend, one).await.unwrap();
            let mut killed = Program::start(&backend, other).await.unwrap();
            for program in [&mut dropped, &mut killed] {
                program.read_until("ready\nready").await;
            }
            drop(killed.control.kill(Duration::from_secs(600)));
            ids.map(|id| format!("PTYARD_TERMINAL={id}")).to_vec()
        });
        drop(runtime);
        let end = Instant::now() + Duration::from_secs(20);
        while told.iter().any(|variable| any_has(variable)) {
            assert!(Instant::now() < end, "{containment:?}: {told:?}");
            std::thread::yield_now();
        }
    }
}

/// Whether a living process was started with this in its environment.
fn any_has(variable: &str) -> bool {
    std::fs::read_dir("/proc").unwrap().flatten().any(|entry| {
        std::fs::read(entry.path().join("environ"))
            .is_ok_and(|environ| environ.split(|&byte| byte == 0).any(|entry| entry == variable.as_bytes()))
    })
}

#[test]
fn both_containments_are_tested_where_cgroups_can_be_had() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let _guard = runtime.enter();
    let all = containments();
    assert!(all.contains(&Containment::Walk));
    if !all.contains(&Containment::Cgroup) {
        eprintln!("no cgroup can be used here: only the walk was tested");
    }
}
