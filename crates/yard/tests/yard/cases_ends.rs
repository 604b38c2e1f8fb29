//! Ends, codes and deadlines as the field's reports describe them being told wrongly.

use std::time::{Duration, Instant};

use ptyard_core::Cause;
use ptyard_terminal::backend::{Io, Signal, Stdin, Target};
use ptyard_yard::WindowSpec;

use crate::stage::{
    PIPES, Stage, at, bash, brief, chars, code, exec, keys, kill, paste, poll, run, sh, tty, until, wait,
    write,
};

fn within(yield_ms: i64) -> WindowSpec {
    WindowSpec { yield_ms: Some(yield_ms), max_tokens: None, until: vec!["exit".to_owned()] }
}

#[tokio::test]
async fn case_k01_errors_and_lines_without_an_end_are_there_at_the_deadline_too() {
    let stage = Stage::real();
    for io in [tty(), PIPES] {
        for (script, text) in [
            ("printf part; sleep 600", "part"),
            ("echo part >&2; sleep 600", "part"),
            ("printf 'one\\ntwo'; exec sleep 600", "two"),
        ] {
            let window = run(&stage.yard, sh(script, io, within(400))).await;
            assert!(window.output.trim_end().ends_with(text), "{window:?}");
            assert_eq!((window.ended_by, window.exit.is_none()), ("deadline", true));
            let killed = kill(&stage.yard, &window).await;
            assert_eq!(killed.exit.unwrap().cause, Cause::Killed);
            // Nothing that was given is given again, nothing is missing.
            assert_eq!(write(&stage.yard, &window, poll(until("exit"))).await.output, "");
        }
    }
}

#[tokio::test]
async fn case_k02_what_runs_after_a_deadline_is_reported_and_a_kill_leaves_no_loop() {
    let stage = Stage::real();
    for _ in 0..3 {
        let script = "for j in 1 2; do (while :; do :; done) & done; sleep 28";
        let window = run(&stage.yard, sh(script, PIPES, within(200))).await;
        assert!(window.session_id.is_some(), "it is reported as running, with its id");
        assert_eq!(stage.yard.list().iter().filter(|info| info.exit.is_none()).count(), 1);
        let killed = kill(&stage.yard, &window).await;
        assert_eq!((killed.found, killed.survivors.len()), (4, 0), "{killed:?}");
    }
}

#[tokio::test]
async fn case_k04_a_silent_program_does_not_stretch_a_deadline() {
    let stage = Stage::real();
    for io in [tty(), PIPES, Io::Pipes(Stdin::Pipe)] {
        let window = run(&stage.yard, exec(&["sleep", "600"], io, brief())).await;
        for spec in [poll(within(300)), poll(WindowSpec { yield_ms: Some(300), ..until("regex:never") })] {
            let began = Instant::now();
            let silent = write(&stage.yard, &window, spec).await;
            let took = began.elapsed();
            assert_eq!((silent.output.as_str(), silent.ended_by), ("", "deadline"));
            assert!(took >= Duration::from_millis(300) && took < Duration::from_secs(2), "{took:?}");
        }
        kill(&stage.yard, &window).await;
    }
}

#[tokio::test]
async fn case_x05_a_running_program_has_no_code_however_it_is_asked() {
    let stage = Stage::real();
    for io in [tty(), PIPES] {
        let window = run(&stage.yard, exec(&["sleep", "600"], io, brief())).await;
        assert_eq!(wait(&stage.yard, &window, "quiet:10", None, 100).await.exit, None);
        assert_eq!(stage.yard.info(&at(&window)).unwrap().exit, None);
        assert_eq!(write(&stage.yard, &window, poll(brief())).await.exit, None);
        kill(&stage.yard, &window).await;
    }
}

#[tokio::test]
async fn case_x06_an_end_that_was_ours_is_told_from_one_that_was_not() {
    let stage = Stage::real();
    for io in [tty(), PIPES] {
        for signal in ["TERM", "KILL", "INT", "HUP", "SEGV"] {
            let own =
                run(&stage.yard, sh(&format!("kill -{signal} $$"), io, until("exit"))).await.exit.unwrap();
            assert_eq!(
                (own.cause, own.by.clone(), own.code),
                (Cause::Signaled, None, None),
                "{signal}: {own:?}"
            );
        }
        for target in [Target::Program, Target::ForegroundGroup] {
            let window = run(&stage.yard, exec(&["sleep", "600"], io, brief())).await;
            stage.yard.signal(&at(&window), Signal(15), target).await.unwrap();
            let ours = write(&stage.yard, &window, poll(until("exit"))).await.exit.unwrap();
            assert_eq!((ours.cause, ours.by.as_deref()), (Cause::Killed, Some("signal")), "{target:?}");
        }
        // A program that tidies up and ends with a code of its own when it is asked to end.
        let tidy = run(
            &stage.yard,
            sh("trap 'exit 0' HUP TERM; echo up; while :; do sleep .05; done", io, until("regex:up")),
        )
        .await;
        let killed = stage.yard.kill(&at(&tidy), None).await.unwrap();
        let exit = killed.exit.unwrap();
        assert_eq!((exit.cause, exit.by.as_deref(), exit.code), (Cause::Killed, Some("kill"), Some(0)));
    }
}

#[tokio::test]
async fn case_x08_a_pipeline_fails_as_its_shell_says() {
    let stage = Stage::real();
    for io in [tty(), PIPES] {
        assert_eq!(code(&run(&stage.yard, sh("false | cat", io, until("exit"))).await), Some(0));
        let strict = exec(&["bash", "-o", "pipefail", "-c", "false | cat"], io, until("exit"));
        assert_eq!(code(&run(&stage.yard, strict).await), Some(1));
        let strict = exec(&["bash", "-c", "set -o pipefail; (exit 7) | tail"], io, until("exit"));
        assert_eq!(code(&run(&stage.yard, strict).await), Some(7));
    }
}

#[tokio::test]
async fn case_x09_output_without_a_newline_hides_no_prompt() {
    let stage = Stage::real();
    let shell = bash(&stage).await;
    let answer = write(&stage.yard, &shell, chars("printf no-newline\r", until("prompt"))).await;
    assert_eq!(answer.ended_by, "prompt", "{answer:?}");
    assert!(answer.output.trim_start_matches("printf no-newline").contains("no-newline"), "{answer:?}");
    let status = write(&stage.yard, &shell, chars("echo \"[$?]\"\r", until("regex:^\\[0\\]$"))).await;
    assert_eq!(status.ended_by, "regex", "{status:?}");
    kill(&stage.yard, &shell).await;
}

#[tokio::test]
async fn case_x11_a_shell_that_ends_says_so_to_whoever_waits_for_its_prompt() {
    let stage = Stage::real();
    for (line, expected) in [("exit 42", 42), ("set -e; false", 1), ("exec true", 0)] {
        let shell = bash(&stage).await;
        // `set -e` ends the shell in the prompt after it, so the prompt may come first.
        write(&stage.yard, &shell, chars(&format!("{line}\r"), until("exit"))).await;
        let end = write(&stage.yard, &shell, poll(until("prompt"))).await;
        assert_eq!((code(&end), end.ended_by, end.session_id), (Some(expected), "exit", None), "{line}");
    }
}

#[tokio::test]
async fn case_x12_incomplete_input_is_seen_and_left_with_control_c() {
    let stage = Stage::real();
    let shell = bash(&stage).await;
    for line in ["echo \"abc", "cat <<EOF", "echo $(", "for i in 1 2; do"] {
        let began = Instant::now();
        let waiting = write(&stage.yard, &shell, chars(&format!("{line}\r"), until("prompt"))).await;
        assert_eq!(waiting.ended_by, "prompt", "the second prompt ends the window: {waiting:?}");
        assert!(waiting.output.contains("\n") && began.elapsed() < Duration::from_secs(5));
        write(&stage.yard, &shell, keys("C-c", until("prompt"))).await;
        let works = write(&stage.yard, &shell, chars("echo wor''ks\r", until("regex:^works$"))).await;
        assert_eq!(works.ended_by, "regex", "after {line:?}: {works:?}");
    }
    kill(&stage.yard, &shell).await;
}

#[tokio::test]
async fn case_x13_a_program_that_was_ended_is_never_completed() {
    let stage = Stage::real();
    let script = "for i in 1 2 3 4 5; do echo $i; sleep .2; done; echo DONE";
    for io in [tty(), PIPES] {
        let window = run(&stage.yard, sh(script, io, until("regex:^2"))).await;
        let killed = kill(&stage.yard, &window).await;
        let exit = killed.exit.unwrap();
        assert_eq!((exit.cause, exit.code, exit.signal), (Cause::Killed, None, Some(9)));
        let end = write(&stage.yard, &window, poll(until("exit"))).await;
        assert_eq!(end.exit.as_ref(), Some(&exit));
        assert!(!format!("{}{}", window.output, end.output).contains("DONE"));
        let mut events = stage.yard.events(Some(0));
        let mut told = None;
        while let Some(event) = events.next_kept().await {
            if event.kind == "exited" && event.id == Some(window.id) {
                told = Some(event.data["exit"].clone());
            }
        }
        assert_eq!(told.unwrap(), serde_json::to_value(&exit).unwrap(), "the event says the same");
    }
}

#[tokio::test]
async fn case_api05_commands_after_a_heredoc_run() {
    let stage = Stage::real();
    let text = "cat <<EOF\nhello\nEOF\necho after\n";
    for io in [tty(), PIPES] {
        let window = run(&stage.yard, exec(&["bash", "-c", text], io, until("exit"))).await;
        assert_eq!(window.output.replace('\r', ""), "hello\nafter\n");
    }
    let shell = bash(&stage).await;
    let pasted = write(&stage.yard, &shell, paste(text, until("quiet:100"))).await;
    assert!(pasted.exit.is_none());
    let ran = write(&stage.yard, &shell, keys("Enter", until("regex:^after$"))).await;
    assert_eq!(ran.ended_by, "regex", "{ran:?}");
    assert!(ran.output.contains("hello\r\nafter\r\n"), "{ran:?}");
    let typed =
        write(&stage.yard, &shell, chars("cat <<EOF\rtyped\rEOF\recho be''hind\r", until("regex:^behind$")))
            .await;
    assert_eq!(typed.ended_by, "regex", "{typed:?}");
    kill(&stage.yard, &shell).await;
}

#[tokio::test]
async fn case_n03_whoever_attaches_while_the_program_ends_gets_all_of_it_500_times() {
    let stage = Stage::real();
    for round in 0..500 {
        // It ends when it likes: before, while and after somebody attaches.
        let script = format!("echo begun; read x; echo said $x; exit {}", round % 256);
        let spec =
            sh(&script, if round % 2 == 0 { tty() } else { Io::Pipes(Stdin::Pipe) }, until("regex:begun"));
        let window = run(&stage.yard, spec).await;
        let yard = stage.yard.clone();
        let target = at(&window);
        let typing = tokio::spawn(async move { yard.type_bytes(&target, b"bye\n".to_vec()).await.unwrap() });
        for _ in 0..round % 8 {
            tokio::task::yield_now().await;
        }
        let mut follow = stage.yard.follow(&at(&window), Some(0)).unwrap();
        let (mut bytes, mut ends) = (Vec::new(), Vec::new());
        while let Some(item) = ptyard_testkit::soon("the end", follow.next()).await {
            match item {
                ptyard_yard::FollowItem::Bytes { at, data } => {
                    assert_eq!(at, bytes.len() as u64, "round {round}: a gap or a repetition");
                    bytes.extend(data);
                }
                ptyard_yard::FollowItem::Exit { exit, offset } => ends.push((exit.code, offset)),
                other => panic!("round {round}: {other:?}"),
            }
        }
        typing.await.unwrap();
        let text = String::from_utf8(bytes).unwrap();
        assert!(text.trim_end().ends_with("said bye"), "round {round}: {text:?}");
        assert_eq!(
            ends,
            [(Some(round % 256), text.len() as u64)],
            "round {round}: one end, after the last byte"
        );
        // Nor does one who comes when it is over miss anything.
        let mut late = stage.yard.follow(&at(&window), None).unwrap();
        assert!(matches!(late.next().await, Some(ptyard_yard::FollowItem::Exit { .. })), "round {round}");
        stage.yard.remove(&at(&window)).await.unwrap();
    }
}
