//! What networks and vendors do to clients.

use std::future::poll_fn;
use std::sync::Arc;

use ptyard_backends::e2b::{E2b, Settings};
use ptyard_core::{Cause, ErrorCode, Exit, Size};
use ptyard_terminal::backend::{Backend, Io, StartError, Started, Stdin};
use ptyard_testkit::vendors::Refusal;
use ptyard_testkit::vendors::e2b::{E2bServer, Faults};
use ptyard_testkit::vendors::play::{finish, read_until, spec};
use ptyard_testkit::{soon, until};

use crate::conformance::backend;

const TTY: Io = Io::Tty(Size::DEFAULT);

async fn start(server: &E2bServer, script: &str, io: Io) -> Result<Started, StartError> {
    let backend = backend(server).at("base").unwrap();
    soon("the start", backend.start(spec(script, io))).await
}

#[tokio::test]
async fn messages_may_be_split_anywhere() {
    let server = E2bServer::start().await;
    for (piece, output) in [(1, 1), (1, 3), (7, 2), (13, 100)] {
        server.fail(|faults| {
            faults.stream_piece_bytes = Some(piece);
            faults.output_piece_bytes = Some(output);
        });
        let mut started =
            start(&server, "printf 'héllo 😀\\n'; exit 5", Io::Pipes(Stdin::Null)).await.unwrap();
        assert_eq!(finish(&mut started).await, ("héllo 😀\n".to_owned(), Exit::exited(5)));
    }
}

#[tokio::test]
async fn a_stream_that_is_cut_before_any_message_is_joined_again_or_no_start() {
    let server = E2bServer::start().await;
    // Messages: that it runs, `a`, `b`, the end.
    for message in 0..4 {
        server.fail(|faults| {
            *faults = Faults {
                cut_before_message: Some(message),
                output_piece_bytes: Some(1),
                ..Faults::default()
            };
        });
        let started = start(&server, "printf ab; exit 5", Io::Pipes(Stdin::Null)).await;
        if message == 0 {
            let error = started.err().expect("nobody said that it runs");
            assert_eq!(error.code, ErrorCode::BackendUnreachable, "{error}");
            assert_eq!(server.heard("/Start"), 2, "one look and one start: never a second one");
            continue;
        }
        let (output, exit) = finish(&mut started.unwrap()).await;
        // What was on its way when the connection broke may be gone, and a line says so. The end is kept.
        let (before, after) = output.split_once("\n[ptyard: the connection broke").expect("a line says it");
        assert!("ab"[..message - 1].starts_with(before), "{message}: {output:?}");
        assert!(after.ends_with("]\n") && after.lines().count() == 1, "{message}: {output:?}");
        assert_eq!(exit, Exit::exited(5), "{message}");
    }
    until("what has ended is removed", || server.sandboxes().is_empty()).await;
}

#[tokio::test]
async fn a_program_whose_end_nobody_keeps_is_lost() {
    let server = E2bServer::start().await;
    let mut started = start(&server, "echo here; sleep 600", TTY).await.unwrap();
    read_until(&mut started, "here\r\n").await;
    server.fail(|faults| faults.refuse = Some(Refusal { path: "/Connect", status: 404, times: 1 }));
    server.cut();
    let (output, exit) = finish(&mut started).await;
    assert_eq!((output.as_str(), exit.code, exit.cause), ("", None, Cause::Lost));
    drop(started);
    until("what was lost is removed", || server.sandboxes().is_empty()).await;
    // A gateway cannot tell a sandbox that is gone from one that it cannot reach: the vendor is asked.
    let mut started = start(&server, "echo here; sleep 600", TTY).await.unwrap();
    read_until(&mut started, "here\r\n").await;
    let sandboxes = server.sandboxes();
    server.remove(&sandboxes[0]);
    let (output, exit) = finish(&mut started).await;
    assert_eq!((output.as_str(), exit.code, exit.cause), ("", None, Cause::Lost));
}

#[tokio::test]
async fn an_end_before_the_last_output_or_without_an_end_of_the_stream_is_an_end() {
    let server = E2bServer::start().await;
    for (early, no_end) in [(true, false), (false, true), (true, true)] {
        server.fail(|faults| {
            *faults = Faults {
                end_before_last_output: early,
                no_end_of_stream: no_end,
                output_piece_bytes: Some(2),
                ..Faults::default()
            };
        });
        for io in [TTY, Io::Pipes(Stdin::Null)] {
            let mut started = start(&server, "printf abcdef; exit 5", io).await.unwrap();
            assert_eq!(finish(&mut started).await, ("abcdef".to_owned(), Exit::exited(5)), "{io:?}");
        }
    }
}

#[tokio::test]
async fn what_is_typed_is_typed_once_when_its_answer_is_lost() {
    let server = E2bServer::start().await;
    let script = "stty raw -echo; printf ready; head -c 3; printf .; sleep 600";
    let mut started = start(&server, script, TTY).await.unwrap();
    read_until(&mut started, "ready").await;
    server.fail(|faults| faults.lose_answers_of = Some("SendInput"));
    let sink = started.sink.as_mut().unwrap();
    soon("a write", poll_fn(|cx| sink.poll_write(cx, b"a"))).await.unwrap();
    // Whether the first one was typed nobody knows; the next one says so, and is not typed.
    soon("a write", poll_fn(|cx| sink.poll_write(cx, b"b"))).await.unwrap_err();
    server.fail(|faults| faults.lose_answers_of = None);
    soon("a write", poll_fn(|cx| sink.poll_write(cx, b"cd"))).await.unwrap();
    assert_eq!(read_until(&mut started, ".").await, "acd.");
    assert_eq!(server.heard("/SendInput"), 2);
}

#[tokio::test]
async fn what_had_no_effect_is_done_again() {
    let server = E2bServer::start().await;
    let refuse =
        |path, status, times| server.fail(|faults| faults.refuse = Some(Refusal { path, status, times }));
    refuse("/sandboxes", 429, 2);
    let script = "stty raw -echo; printf ready; head -c 1";
    let mut started = start(&server, script, TTY).await.unwrap();
    read_until(&mut started, "ready").await;
    refuse("/SendInput", 429, 2);
    let sink = started.sink.as_mut().unwrap();
    soon("a write", poll_fn(|cx| sink.poll_write(cx, b"x"))).await.unwrap();
    assert_eq!(finish(&mut started).await, ("x".to_owned(), Exit::exited(0)));
    // A removal is as good twice as once.
    refuse("/sandboxes", 503, 2);
    drop(started);
    until("the sandbox is removed", || server.sandboxes().is_empty()).await;
}

#[tokio::test]
async fn refusals_of_a_start_are_told_and_leave_nothing() {
    let server = E2bServer::start().await;
    let refused = [
        ("/sandboxes", 401, ErrorCode::BackendUnauthorized),
        ("/sandboxes", 404, ErrorCode::PlaceNotFound),
        ("/sandboxes", 409, ErrorCode::SpawnFailed),
        ("/sandboxes", 500, ErrorCode::BackendUnreachable),
        ("/Start", 401, ErrorCode::BackendUnauthorized),
        ("/Start", 429, ErrorCode::BackendUnreachable),
        ("/Start", 502, ErrorCode::BackendUnreachable),
    ];
    for (path, status, code) in refused {
        server.fail(|faults| faults.refuse = Some(Refusal { path, status, times: 1 }));
        let error = start(&server, "true", TTY).await.err().expect("it was refused");
        assert_eq!(error.code, code, "{path} {status}: {error}");
        assert!(error.message.contains(&status.to_string()), "{error}");
    }
    until("no sandbox is left", || server.sandboxes().is_empty()).await;
}

#[tokio::test]
async fn a_key_that_is_missing_or_wrong_is_told_in_one_line_and_never_shown() {
    let server = E2bServer::start().await;
    let ask = async |key: Option<&str>| {
        let (url, key) = (server.url(), key.map(str::to_owned));
        let e2b = E2b::new(Settings::from_variables(|name| match name {
            "E2B_API_KEY" => key.clone(),
            "E2B_API_URL" | "E2B_SANDBOX_URL" => Some(url.clone()),
            "HOME" => Some("/nonexistent".to_owned()),
            _ => None,
        }));
        soon("an answer", e2b.version()).await
    };
    let missing = ask(None).await.unwrap_err();
    assert_eq!(missing.code, ErrorCode::BackendNotSetUp);
    let missing = missing.to_string();
    assert_eq!(missing, "E2B_API_KEY is not set and /nonexistent/.config/ptyard/e2b.key does not exist");
    let wrong = ask(Some("e2b_wrongwrong")).await.unwrap_err();
    assert_eq!(wrong.code, ErrorCode::BackendUnauthorized);
    let wrong = wrong.to_string();
    assert!(wrong.contains("invalid API key (401)") && !wrong.contains('\n'), "{wrong}");
    assert!(!wrong.contains("wrongwrong"), "{wrong}");
    let right = soon("an answer", backend(&server).version()).await.unwrap();
    assert_eq!(right, format!("{} takes the key; sandboxes that run: 0", server.url()));
}

#[tokio::test]
async fn a_place_is_a_template_or_a_sandbox() {
    let server = E2bServer::start().await;
    for bad in ["", "sandbox=", "sandbox=a/b", "a b", "a\n", "../x?y"] {
        let error = backend(&server).at(bad).err().expect("no such place");
        assert_eq!(error.code, ErrorCode::InvalidArgument, "{bad:?}");
    }
    let missing: Arc<dyn Backend> = backend(&server).at("sandbox=nobody").unwrap();
    let error = missing.start(spec("true", TTY)).await.err().expect("no such sandbox");
    assert_eq!(error.code, ErrorCode::PlaceNotFound, "{error}");
}

#[tokio::test]
async fn a_slow_reader_slows_the_program_and_loses_nothing() {
    let server = E2bServer::start().await;
    let mut started = start(&server, "seq 1 200000; exit 3", Io::Pipes(Stdin::Null)).await.unwrap();
    // Others are served meanwhile.
    let mut other = start(&server, "echo other", Io::Pipes(Stdin::Null)).await.unwrap();
    assert_eq!(finish(&mut other).await.0, "other\n");
    let (output, exit) = finish(&mut started).await;
    let want: String = (1..=200_000).map(|n| format!("{n}\n")).collect();
    assert!(output == want, "{} bytes of {}", output.len(), want.len());
    assert_eq!(exit, Exit::exited(3));
}
