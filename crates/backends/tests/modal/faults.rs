//! What networks and vendors do to clients.

use std::sync::Arc;
use std::time::Duration;

use ptyard_backends::modal::{Modal, Settings};
use ptyard_core::{Cause, ErrorCode, Exit};
use ptyard_terminal::backend::{Backend, Io, Stdin};
use ptyard_testkit::soon;
use ptyard_testkit::vendors::modal::{Break, Faults, ModalServer, Refusal, Wire};
use ptyard_testkit::vendors::play::{end, finish, read_until, rest, spec, type_all};
use tonic::Code;

use crate::conformance::{backend, settings};
use crate::stage::{TTY, all_removed, start, start_at};

const PIPES: Io = Io::Pipes(Stdin::Null);

#[tokio::test]
async fn messages_may_be_split_anywhere() {
    let server = ModalServer::start().await;
    for (frame, output) in [(1, 1), (1, 3), (7, 2), (13, 100)] {
        server.fail(|faults| {
            faults.frame_bytes = Some(frame);
            faults.output_piece_bytes = Some(output);
        });
        let mut started = start(&server, "printf 'héllo 😀\\n'; exit 5", PIPES).await.unwrap();
        assert_eq!(finish(&mut started).await, ("héllo 😀\n".to_owned(), Exit::exited(5)));
    }
}

#[tokio::test]
async fn a_read_that_breaks_before_any_message_goes_on_at_its_byte() {
    let server = ModalServer::start().await;
    for how in [Break::Unavailable, Break::Unauthenticated, Break::Connection] {
        // Messages: each byte, and the end of the stream.
        for message in 0..8 {
            let place = format!("sandbox={}", server.sandbox());
            let backend = backend(&server).at(&place).unwrap();
            let mut started = start_at(&backend, "read -r _; printf héllo!; exit 5", TTY).await.unwrap();
            server.fail(|faults| {
                faults.output_piece_bytes = Some(1);
                faults.break_after_messages = Some((message, how));
            });
            type_all(started.sink.as_mut().unwrap().as_mut(), b"\n").await;
            let (output, exit) = finish(&mut started).await;
            assert_eq!((output.as_str(), exit), ("\r\nhéllo!", Exit::exited(5)), "{how:?} {message}");
        }
    }
    assert!(server.heard("/TaskExecStdioRead") > 24, "the reads broke");
}

#[tokio::test]
async fn r20_the_last_output_may_come_long_after_the_end_is_known() {
    let server = ModalServer::start().await;
    server.fail(|faults| faults.last_output_late_by = Some(Duration::from_secs(1)));
    for io in [TTY, PIPES] {
        let mut started = start(&server, "printf first; sleep .1; printf FINAL; exit 3", io).await.unwrap();
        assert_eq!(end(started.control.as_mut()).await, Exit::exited(3));
        assert_eq!(rest(started.source.as_mut()).await, "firstFINAL", "{io:?}");
    }
}

#[tokio::test]
async fn what_is_typed_is_typed_once_however_often_its_answer_is_lost() {
    let server = ModalServer::start().await;
    let script = "stty raw -echo; printf ready; head -c 6; printf .; sleep 600";
    let mut started = start(&server, script, TTY).await.unwrap();
    read_until(&mut started, "ready").await;
    for piece in [b"ab", b"cd", b"ef"] {
        server.fail(|faults| faults.lose_answers_of = Some(("TaskExecStdinWrite", 2)));
        type_all(started.sink.as_mut().unwrap().as_mut(), piece).await;
        // Taken is what the one before was: wait for this one by what comes of it.
    }
    assert_eq!(read_until(&mut started, ".").await, "abcdef.");
    assert!(server.heard("/TaskExecStdinWrite") > 5);
}

#[tokio::test]
async fn a_start_whose_answer_is_lost_is_one_start_in_one_sandbox() {
    let server = ModalServer::start().await;
    let directory = tempfile::tempdir().unwrap();
    let count = directory.path().join("starts");
    let script = format!("echo started >>'{}'; exit 4", count.display());
    for method in ["SandboxCreate", "TaskExecStart", "SandboxGetTaskId", "TaskGetCommandRouterAccess"] {
        server.fail(|faults| faults.lose_answers_of = Some((method, 2)));
        let mut started = start(&server, &script, PIPES).await.unwrap();
        assert_eq!(finish(&mut started).await.1, Exit::exited(4), "{method}");
        assert_eq!(server.sandboxes().len(), 1, "{method}");
        assert_eq!(std::fs::read_to_string(&count).unwrap(), "started\n", "{method}");
        std::fs::remove_file(&count).unwrap();
        drop(started);
        all_removed(&server).await;
    }
}

#[tokio::test]
async fn a_token_is_replaced_when_it_is_refused_and_before_its_end() {
    let server = ModalServer::start().await;
    let mut started = start(&server, "read -r line; echo \"<$line>\"; sleep 600", TTY).await.unwrap();
    let before = server.heard("TaskGetCommandRouterAccess");
    server.revoke_tokens();
    type_all(started.sink.as_mut().unwrap().as_mut(), b"typed\n").await;
    read_until(&mut started, "<typed>").await;
    assert_eq!(
        server.heard("TaskGetCommandRouterAccess") - before,
        1,
        "one new token is enough for all calls"
    );
    drop(started);
    // One that is good for two seconds is replaced after one and a half, and never refused.
    server.fail(|faults| faults.token_life = Some(Duration::from_secs(2)));
    let mut started = start(&server, "while read -r line; do echo \"<$line>\"; done", TTY).await.unwrap();
    tokio::time::sleep(Duration::from_millis(1700)).await;
    let (before, refused) = (server.heard("TaskGetCommandRouterAccess"), server.refused());
    type_all(started.sink.as_mut().unwrap().as_mut(), b"later\n").await;
    read_until(&mut started, "<later>").await;
    assert!(server.heard("TaskGetCommandRouterAccess") > before);
    assert_eq!(server.refused(), refused);
}

#[tokio::test]
async fn a_token_that_is_refused_for_good_is_asked_for_once_more_and_no_longer() {
    let server = ModalServer::start().await;
    let refusal = Refusal { method: "TaskExecStart", code: Code::Unauthenticated, times: 1000 };
    server.fail(|faults| faults.refuse = Some(refusal));
    let error = start(&server, "true", TTY).await.err().expect("it was refused");
    assert_eq!(error.code, ErrorCode::BackendUnauthorized, "{error}");
    assert_eq!(server.heard("/TaskExecStart"), 2);
    all_removed(&server).await;
}

#[tokio::test]
async fn a_clock_that_is_wrong_makes_no_difference() {
    let server = ModalServer::start().await;
    for clock_ahead_secs in [-7200, 7200] {
        for tokens_without_date in [false, true] {
            server.fail(|faults| {
                *faults = Faults { clock_ahead_secs, tokens_without_date, ..Faults::default() };
            });
            let before = server.heard("TaskGetCommandRouterAccess");
            let mut started = start(&server, "echo here; exit 2", PIPES).await.unwrap();
            assert_eq!(finish(&mut started).await, ("here\n".to_owned(), Exit::exited(2)));
            assert_eq!(server.heard("TaskGetCommandRouterAccess") - before, 1, "{clock_ahead_secs}");
        }
    }
}

#[tokio::test]
async fn refusals_that_pass_are_waited_for() {
    let server = ModalServer::start().await;
    server.fail(|faults| faults.questions_before_task = 1);
    for (method, code) in [
        ("SandboxCreate", Code::ResourceExhausted),
        ("TaskExecStart", Code::Unavailable),
        ("TaskExecStdioRead", Code::Internal),
        ("TaskExecWait", Code::Unknown),
        ("SandboxTerminate", Code::Unavailable),
    ] {
        server.fail(|faults| faults.refuse = Some(Refusal { method, code, times: 2 }));
        let mut started = start(&server, "echo here; exit 2", PIPES).await.unwrap();
        assert_eq!(finish(&mut started).await, ("here\n".to_owned(), Exit::exited(2)), "{method}");
        drop(started);
        all_removed(&server).await;
    }
}

#[tokio::test]
async fn refusals_of_a_start_are_told_and_leave_nothing() {
    let server = ModalServer::start().await;
    for (method, code, told) in [
        ("SandboxCreate", Code::Unauthenticated, ErrorCode::BackendUnauthorized),
        ("SandboxCreate", Code::NotFound, ErrorCode::PlaceNotFound),
        ("SandboxCreate", Code::AlreadyExists, ErrorCode::SpawnFailed),
        ("SandboxGetTaskId", Code::PermissionDenied, ErrorCode::BackendUnauthorized),
        ("TaskGetCommandRouterAccess", Code::FailedPrecondition, ErrorCode::SpawnFailed),
        ("TaskExecStart", Code::InvalidArgument, ErrorCode::SpawnFailed),
        ("TaskExecStart", Code::ResourceExhausted, ErrorCode::BackendUnreachable),
    ] {
        server.fail(|faults| faults.refuse = Some(Refusal { method, code, times: 4 }));
        let error = start(&server, "true", TTY).await.err().expect("it was refused");
        assert_eq!(error.code, told, "{method} {code:?}: {error}");
        assert!(error.message.contains("refused on purpose"), "{error}");
        server.fail(|faults| faults.refuse = None);
        all_removed(&server).await;
    }
}

#[tokio::test]
async fn a_sandbox_that_ends_takes_its_programs_along() {
    let server = ModalServer::start().await;
    let sandbox = server.sandbox();
    let place = backend(&server).at(&format!("sandbox={sandbox}")).unwrap();
    let mut started = start_at(&place, "echo here; sleep 600", TTY).await.unwrap();
    read_until(&mut started, "here").await;
    server.terminate(&sandbox);
    let (_, exit) = finish(&mut started).await;
    // Whether it is seen that the vendor killed it, or that it is gone, is a matter of luck.
    assert!(exit.signal == Some(9) || exit.cause == Cause::Lost, "{exit:?}");
    let error = start_at(&place, "true", TTY).await.err().expect("it is gone");
    assert_eq!(error.code, ErrorCode::PlaceNotFound, "{error}");
}

#[tokio::test]
async fn a_vendor_that_answers_no_more_loses_the_program() {
    let server = ModalServer::start().await;
    let mut settings = settings(&server);
    settings.patience = Duration::from_millis(500);
    let backend = Arc::new(Modal::new(settings)).at("debian:12").unwrap();
    let mut started = start_at(&backend, "echo here; sleep 600", TTY).await.unwrap();
    read_until(&mut started, "here").await;
    drop(server);
    let (_, exit) = finish(&mut started).await;
    assert_eq!((exit.code, exit.signal, exit.cause), (None, None, Cause::Lost));
}

#[tokio::test]
async fn a_token_that_is_missing_or_wrong_is_told_in_one_line_and_never_shown() {
    let server = ModalServer::start().await;
    let ask = async |token: Option<(&str, &str)>| {
        let modal = Modal::new(Settings::from_variables(|name| match name {
            "MODAL_TOKEN_ID" => token.map(|(id, _)| id.to_owned()),
            "MODAL_TOKEN_SECRET" => token.map(|(_, secret)| secret.to_owned()),
            "MODAL_SERVER_URL" => Some(server.url()),
            "HOME" => Some("/nonexistent".to_owned()),
            _ => None,
        }));
        soon("an answer", modal.version()).await
    };
    let missing = ask(None).await.unwrap_err();
    assert_eq!(missing.code, ErrorCode::BackendNotSetUp);
    let missing = missing.to_string();
    assert_eq!(missing, "MODAL_TOKEN_ID is not set and /nonexistent/.modal.toml does not exist");
    let wrong = ask(Some(("ak-wrong", "as-wrongwrong"))).await.unwrap_err();
    assert_eq!(wrong.code, ErrorCode::BackendUnauthorized);
    let wrong = wrong.to_string();
    assert!(wrong.contains("Token ID or secret is wrong (401") && !wrong.contains('\n'), "{wrong}");
    assert!(!wrong.contains("wrongwrong"), "{wrong}");
    let right = soon("an answer", backend(&server).version()).await.unwrap();
    assert_eq!(right, format!("{} takes the token", server.url()));
}

#[tokio::test]
async fn machines_are_believed_by_their_certificate() {
    let server = ModalServer::start().await;
    let mut unknown = settings(&server);
    unknown.authorities = None;
    let backend = Arc::new(Modal::new(unknown)).at("debian:12").unwrap();
    let error = start_at(&backend, "true", TTY).await.err().expect("nobody knows its authority");
    assert_eq!(error.code, ErrorCode::BackendUnreachable, "{error}");
    all_removed(&server).await;
    // On this machine, where the vendor is then too, it may be without.
    let plain = ModalServer::start_with(Wire::Plain).await;
    let mut started = start(&plain, "echo here", PIPES).await.unwrap();
    assert_eq!(finish(&mut started).await, ("here\n".to_owned(), Exit::exited(0)));
}

#[tokio::test]
async fn a_place_is_an_image_or_a_sandbox() {
    let server = ModalServer::start().await;
    for bad in ["", "sandbox=", "sandbox=a/b", "a b", "a\n", "../x?y", "a\nRUN evil"] {
        let error = backend(&server).at(bad).err().expect("no such place");
        assert_eq!(error.code, ErrorCode::InvalidArgument, "{bad:?}");
    }
    let missing = backend(&server).at("sandbox=nobody").unwrap();
    let error = missing.start(spec("true", TTY)).await.err().expect("no such sandbox");
    assert_eq!(error.code, ErrorCode::PlaceNotFound, "{error}");
    let image = backend(&server).at("no-such-image").unwrap();
    let error = image.start(spec("true", TTY)).await.err().expect("no such image");
    assert!(error.message.contains("it cannot be pulled"), "{error}");
}

#[tokio::test]
async fn an_image_that_is_new_is_waited_for() {
    let server = ModalServer::start().await;
    server.fail(|faults| faults.questions_before_image = 2);
    let mut started = start(&server, "echo here", PIPES).await.unwrap();
    assert_eq!(finish(&mut started).await.0, "here\n");
    let known = backend(&server).at("im-0123456789abcdefABCDEF").unwrap();
    let mut started = start_at(&known, "echo there", PIPES).await.unwrap();
    assert_eq!(finish(&mut started).await.0, "there\n");
    assert_eq!(server.heard("ImageGetOrCreate"), 1, "one that has a name at the vendor is not built");
}

#[tokio::test]
async fn a_slow_reader_loses_nothing_and_holds_up_nobody() {
    let server = ModalServer::start().await;
    let place = backend(&server).at(&format!("sandbox={}", server.sandbox())).unwrap();
    let mut started = start_at(&place, "seq 1 400000; exit 3", PIPES).await.unwrap();
    // Others are served meanwhile.
    let mut other = start_at(&place, "echo other", PIPES).await.unwrap();
    assert_eq!(finish(&mut other).await.0, "other\n");
    let (output, exit) = finish(&mut started).await;
    let want: String = (1..=400_000).map(|n| format!("{n}\n")).collect();
    assert!(output == want, "{} bytes of {}", output.len(), want.len());
    assert_eq!(exit, Exit::exited(3));
}
