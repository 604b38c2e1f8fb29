//! Law 4: how programs end.

use std::sync::Arc;
use std::time::{Duration, Instant};

use ptyard_core::{Cause, Exit};
use ptyard_terminal::backend::{CodeKnown, EndsWith};

use super::stage::{all_gone, all_there, unique};
use super::{Ground, Verdict};

/// Whether an end is that of a program that returned `code`, as far as the backend can know.
fn is_code(ground: &Ground, exit: &Exit, code: i32) -> bool {
    match ground.backend.abilities().code {
        CodeKnown::CodeOrSignal | CodeKnown::ShellCode => {
            exit.code == Some(code) && exit.cause == Cause::Exited
        }
        CodeKnown::Nothing => exit.code.is_none() && exit.cause == Cause::Unknown,
    }
}

fn knows_codes(ground: &Ground) -> Verdict {
    match ground.backend.abilities().code {
        CodeKnown::CodeOrSignal | CodeKnown::ShellCode => Verdict::Works,
        CodeKnown::Nothing => Verdict::Weaker("`unknown`"),
    }
}

pub(super) async fn law_04_the_code_comes_with_the_last_bytes(ground: Arc<Ground>) -> Verdict {
    for io in ground.all_io() {
        for code in [0, 3, 255] {
            let script = format!("echo begin; sleep .05; echo last; exit {code}");
            let stage = ground.raw(io, &script).await;
            let window = stage.take(stage.call_until("exit")).await;
            assert!(window.text.contains("last"), "{io:?}: {window:?}");
            let exit = window.exit.expect("the window has the end");
            assert!(is_code(&ground, &exit, code), "{io:?} {code}: {exit:?}");
        }
    }
    knows_codes(&ground)
}

pub(super) async fn law_04_quick_programs_lose_nothing(ground: Arc<Ground>) -> Verdict {
    for io in ground.all_io() {
        for round in 0..5 {
            let argv = format!("printf '%s' tail-{round}; exit {round}");
            let (output, exit) = ground.script(io, &argv).await.finish().await;
            let text = String::from_utf8_lossy(&output).into_owned();
            if ground.is_exact() {
                assert_eq!(text, format!("tail-{round}"), "{io:?}");
            }
            assert!(is_code(&ground, &exit, round), "{io:?}: {exit:?}");
        }
        let nothing = ground.start(ground.spec(&["true"], io)).await.expect("true starts");
        let (output, exit) = nothing.finish().await;
        assert!(is_code(&ground, &exit, 0), "{io:?}: {exit:?}");
        if ground.is_exact() {
            assert_eq!(output, b"", "{io:?}");
        }
    }
    Verdict::Works
}

pub(super) async fn law_04_a_signal_is_told_as_far_as_it_is_known(ground: Arc<Ground>) -> Verdict {
    let known = ground.backend.abilities().code;
    for io in ground.all_io() {
        let (_, exit) =
            ground.raw(io, "sh -c 'kill -TERM $$'; code=$?; echo; exit $code").await.finish().await;
        assert!(is_code(&ground, &exit, 143), "{io:?}: {exit:?}");
        // The first process of a container is out of reach of its own signals, so it is a child that is asked.
        let (_, exit) = ground.raw(io, "exec sh -c 'kill -KILL $$'").await.finish().await;
        match known {
            CodeKnown::CodeOrSignal => {
                assert_eq!((exit.code, exit.signal, exit.cause), (None, Some(9), Cause::Signaled), "{io:?}");
            }
            CodeKnown::ShellCode => assert_eq!((exit.code, exit.signal), (Some(137), None), "{io:?}"),
            CodeKnown::Nothing => assert_eq!((exit.code, exit.cause), (None, Cause::Unknown), "{io:?}"),
        }
    }
    match known {
        CodeKnown::CodeOrSignal => Verdict::Works,
        CodeKnown::ShellCode => Verdict::Weaker("128 + N"),
        CodeKnown::Nothing => Verdict::Weaker("`unknown`"),
    }
}

pub(super) async fn law_04_a_child_that_holds_the_output_does_not_hold_the_end(
    ground: Arc<Ground>,
) -> Verdict {
    for io in ground.all_io() {
        let mark = unique();
        let script = format!("trap '' HUP; sleep {mark} & echo started; exit 5");
        let stage = ground.script(io, &script).await;
        let began = Instant::now();
        let (output, exit) = stage.finish().await;
        // The drain limit is 5 s; the child sleeps for years.
        assert!(began.elapsed() < Duration::from_secs(15), "{io:?}");
        assert!(String::from_utf8_lossy(&output).contains("started"), "{io:?}");
        assert!(is_code(&ground, &exit, 5), "{io:?}: {exit:?}");
        stage.kill(Duration::ZERO).await;
        soon_gone(&ground, mark).await;
    }
    knows_codes(&ground)
}

/// Ends what a backend that cannot kill trees leaves, and else sees that nothing is left.
async fn soon_gone(ground: &Ground, mark: u32) {
    if ground.kills_trees() {
        all_gone(mark).await;
    } else {
        super::stage::clear(mark);
    }
}

pub(super) async fn law_04_closed_output_ends_nothing(ground: Arc<Ground>) -> Verdict {
    let mark = unique();
    for io in ground.all_io() {
        if !matches!(io, ptyard_terminal::backend::Io::Pipes(_)) {
            continue;
        }
        let script = format!("echo here; exec >/dev/null 2>&1; sleep {mark} & wait $!; exit 9");
        let stage = ground.script(io, &script).await;
        all_there(mark, 1).await;
        assert!(stage.for_ms(300).await.exit.is_none(), "{io:?}: the program lives");
        super::stage::clear(mark);
        let (output, exit) = stage.finish().await;
        assert_eq!(output, b"here\n", "{io:?}");
        assert!(is_code(&ground, &exit, 9), "{io:?}: {exit:?}");
    }
    if ground.has_pipes() { Verdict::Works } else { Verdict::NoMatter }
}

pub(super) async fn law_04_a_broken_connection_is_never_an_exit_code(ground: Arc<Ground>) -> Verdict {
    let Some(cut) = &ground.cut else { return Verdict::NoMatter };
    let ends_with = ground.backend.abilities().ends_with;
    for io in ground.all_io() {
        let mark = unique();
        let stage = ground.raw(io, &format!("echo here; sleep {mark}")).await;
        stage.until("here").await;
        cut().await;
        match ends_with {
            EndsWith::Server | EndsWith::Connection => {
                let (output, exit) = stage.finish().await;
                assert!(String::from_utf8_lossy(&output).contains("here"), "{io:?}");
                assert_eq!((exit.code, exit.signal, exit.cause), (None, None, Cause::Lost), "{io:?}");
            }
            EndsWith::Nothing => {
                assert!(stage.for_ms(300).await.exit.is_none(), "{io:?}");
                stage.kill(Duration::ZERO).await;
            }
        }
        // A later start works again.
        let again = ground.raw(io, "echo again").await;
        again.until("again").await;
        super::stage::clear(mark);
    }
    match ends_with {
        EndsWith::Server | EndsWith::Connection => Verdict::Weaker("`lost`"),
        EndsWith::Nothing => Verdict::Works,
    }
}
