//! What networks and vendors do to clients.

use std::sync::Arc;
use std::time::Duration;

use ptyard_backends::daytona::{Daytona, Settings};
use ptyard_core::{Cause, ErrorCode, Exit, Size};
use ptyard_terminal::backend::{Backend, Io, StartError, Started, Stdin};
use ptyard_testkit::vendors::Refusal;
use ptyard_testkit::vendors::daytona::{DaytonaServer, KEY};
use ptyard_testkit::vendors::play::{finish, read_until, spec, type_in};
use ptyard_testkit::{soon, until};

use crate::conformance::backend;

const TTY: Io = Io::Tty(Size::DEFAULT);
const PIPES: Io = Io::Pipes(Stdin::Null);
const PIPES_WITH_STDIN: Io = Io::Pipes(Stdin::Pipe);
const RAW: &str = "stty raw -echo 2>/dev/null; ";

/// The line in the log where output may be missing.
const GAP: &str = "[ptyard: the connection broke and was made again";

async fn start(server: &DaytonaServer, script: &str, io: Io) -> Result<Started, StartError> {
    let backend = backend(server).at("").unwrap();
    soon("the start", backend.start(spec(&format!("{RAW}{script}"), io))).await
}

/// Waits until no sandbox is left.
async fn nothing_is_left(server: &DaytonaServer) {
    until("no sandbox is left", || server.sandboxes().is_empty()).await;
}

#[tokio::test]
async fn messages_may_be_split_anywhere() {
    let server = DaytonaServer::start().await;
    for piece in [1, 2, 7] {
        server.fail(|faults| faults.output_piece_bytes = Some(piece));
        for io in [TTY, PIPES, PIPES_WITH_STDIN] {
            let mut started = start(&server, "printf 'héllo 😀\\n'; exit 5", io).await.unwrap();
            assert_eq!(finish(&mut started).await, ("héllo 😀\n".to_owned(), Exit::exited(5)), "{io:?}");
        }
    }
}

#[tokio::test]
async fn a_start_whose_connection_breaks_is_no_start_and_leaves_nothing() {
    let server = DaytonaServer::start().await;
    server.fail(|faults| faults.cut_before_message = Some(0));
    let error = start(&server, "true", TTY).await.err().expect("nobody said that it is there");
    assert_eq!(error.code, ErrorCode::BackendUnreachable, "{error}");
    server.fail(|faults| faults.cut_before_message = Some(1));
    let error = start(&server, "true", TTY).await.err().expect("nobody greeted");
    assert_eq!(error.code, ErrorCode::BackendUnreachable, "{error}");
    assert_eq!(server.heard("create-connect"), 2, "each once: never a second one");
    nothing_is_left(&server).await;
}

#[tokio::test]
async fn a_terminal_is_joined_again_and_the_gap_is_told() {
    let server = DaytonaServer::start().await;
    for io in [TTY, PIPES_WITH_STDIN] {
        let script = "echo before; head -n 1; echo after; exit 6";
        let mut started = start(&server, script, io).await.unwrap();
        read_until(&mut started, "before\n").await;
        server.cut();
        read_until(&mut started, GAP).await;
        // It waits for nothing but this: what is typed now is typed once.
        type_in(&mut started, b"typed\n").await.unwrap();
        let (rest, exit) = finish(&mut started).await;
        assert!(rest.ends_with("typed\nafter\n"), "{io:?}: {rest:?}");
        assert_eq!(rest.matches("typed").count(), 1, "{io:?}: {rest:?}");
        assert_eq!(exit, Exit::exited(6), "{io:?}");
    }
}

#[tokio::test]
async fn what_was_typed_before_the_connection_broke_is_not_typed_again_and_that_is_told() {
    let server = DaytonaServer::start().await;
    let script = "stty raw -echo; printf ready; dd bs=1 count=3 2>/dev/null; printf .; sleep 600";
    let mut started = start(&server, script, TTY).await.unwrap();
    read_until(&mut started, "ready").await;
    type_in(&mut started, b"a").await.unwrap();
    assert_eq!(read_until(&mut started, "a").await, "a");
    server.cut();
    read_until(&mut started, GAP).await;
    // That it arrived is shown by the program; the connection did not say so in time.
    let error = type_in(&mut started, b"b").await.unwrap_err();
    assert!(error.to_string().contains("may not have arrived"), "{error}");
    type_in(&mut started, b"bc").await.unwrap();
    assert!(read_until(&mut started, ".").await.ends_with("bc."));
}

#[tokio::test]
async fn an_end_that_nobody_heard_is_said_again() {
    let server = DaytonaServer::start().await;
    for io in [TTY, PIPES, PIPES_WITH_STDIN] {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("ended");
        // The connection is refused until the program has ended.
        let script = format!("echo ready; read x < {0}.go; : > {0}; exit 9", path.display());
        let made = std::process::Command::new("mkfifo").arg(path.with_extension("go")).status().unwrap();
        assert!(made.success());
        let mut started = start(&server, &script, io).await.unwrap();
        read_until(&mut started, "ready\n").await;
        server.fail(|faults| {
            faults.refuse = Some(Refusal { path: "/connect", status: 503, times: u32::MAX });
        });
        server.cut();
        std::fs::write(path.with_extension("go"), "\n").unwrap();
        soon("the program is done", async {
            while !path.exists() {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
            tokio::time::sleep(Duration::from_millis(200)).await;
        })
        .await;
        server.fail(|faults| faults.refuse = None);
        let (output, exit) = finish(&mut started).await;
        assert!(output.contains(GAP), "{io:?}: {output:?}");
        assert_eq!(exit, Exit::exited(9), "{io:?}: {output:?}");
    }
}

#[tokio::test]
async fn a_program_whose_sandbox_is_gone_is_lost() {
    let server = DaytonaServer::start().await;
    let id = server.sandbox();
    for io in [TTY, PIPES] {
        let backend = backend(&server).at(&format!("sandbox={id}")).unwrap();
        let mut started = soon("the start", backend.start(spec("echo here; sleep 600", io))).await.unwrap();
        read_until(&mut started, "here").await;
        // It is woken for the next start.
        server.stop(&id);
        let (_, exit) = finish(&mut started).await;
        assert_eq!((exit.code, exit.signal, exit.cause), (None, None, Cause::Lost), "{io:?}");
    }
}

#[tokio::test]
async fn who_is_let_go_for_being_slow_joins_again_and_hears_of_the_end() {
    let server = DaytonaServer::start().await;
    server.fail(|faults| faults.most_pieces_behind = 1);
    let mut started = start(&server, "seq 1 200000; echo; echo last; exit 3", PIPES).await.unwrap();
    let (output, exit) = finish(&mut started).await;
    assert_eq!(exit, Exit::exited(3));
    let whole: String = (1..=200_000).map(|n| format!("{n}\n")).collect();
    assert!(output.contains(GAP) || output == whole + "\nlast\n", "what is missing is told");
}

#[tokio::test]
async fn a_slow_reader_slows_nobody_else() {
    let server = DaytonaServer::start().await;
    let mut started = start(&server, "seq 1 100000; exit 3", PIPES).await.unwrap();
    let mut other = start(&server, "echo other", PIPES).await.unwrap();
    assert_eq!(finish(&mut other).await.0, "other\n");
    let (output, exit) = finish(&mut started).await;
    let want: String = (1..=100_000).map(|n| format!("{n}\n")).collect();
    assert!(output == want, "{} bytes of {}", output.len(), want.len());
    assert_eq!(exit, Exit::exited(3));
}

#[tokio::test]
async fn a_sandbox_whose_making_was_not_answered_is_found_by_its_name() {
    let server = DaytonaServer::start().await;
    server.fail(|faults| (faults.lose_makes, faults.looks_until_started) = (1, 1));
    let mut started = start(&server, "echo here", PIPES).await.unwrap();
    assert_eq!(finish(&mut started).await.0, "here\n");
    assert_eq!((server.heard("POST /api/sandbox"), server.sandboxes().len()), (2, 1));
    drop(started);
    nothing_is_left(&server).await;
}

#[tokio::test]
async fn what_had_no_effect_is_done_again() {
    let server = DaytonaServer::start().await;
    let refuse =
        |path, status, times| server.fail(|faults| faults.refuse = Some(Refusal { path, status, times }));
    refuse("/create-connect", 429, 2);
    let started = start(&server, "true", TTY).await.unwrap();
    // A removal is as good twice as once, and waits for what the vendor does.
    refuse("/api/sandbox", 503, 2);
    drop(started);
    nothing_is_left(&server).await;
    let started = start(&server, "true", TTY).await.unwrap();
    refuse("/api/sandbox", 409, 2);
    drop(started);
    nothing_is_left(&server).await;
}

#[tokio::test]
async fn refusals_of_a_start_are_told_and_leave_nothing() {
    let server = DaytonaServer::start().await;
    let refused = [
        ("POST /api/sandbox", 401, ErrorCode::BackendUnauthorized),
        ("POST /api/sandbox", 404, ErrorCode::PlaceNotFound),
        ("POST /api/sandbox", 400, ErrorCode::SpawnFailed),
        ("/create-connect", 401, ErrorCode::BackendUnauthorized),
        ("/create-connect", 409, ErrorCode::SpawnFailed),
        ("/create-connect", 502, ErrorCode::BackendUnreachable),
    ];
    for (path, status, code) in refused {
        server.fail(|faults| faults.refuse = Some(Refusal { path, status, times: 1 }));
        let error = start(&server, "true", TTY).await.err().expect("it was refused");
        assert_eq!(error.code, code, "{path} {status}: {error}");
        assert!(error.message.contains(&status.to_string()), "{error}");
        assert!(!error.message.contains(KEY), "{error}");
    }
    nothing_is_left(&server).await;
}

#[tokio::test]
async fn a_key_that_is_missing_or_wrong_is_told_in_one_line_and_never_shown() {
    let server = DaytonaServer::start().await;
    let ask = async |key: Option<&str>| {
        let (url, key) = (server.url(), key.map(str::to_owned));
        let daytona = Daytona::new(Settings::from_variables(|name| match name {
            "DAYTONA_API_KEY" => key.clone(),
            "DAYTONA_API_URL" => Some(url.clone()),
            "HOME" => Some("/nonexistent".to_owned()),
            _ => None,
        }));
        soon("an answer", daytona.version()).await
    };
    let missing = ask(None).await.unwrap_err();
    assert_eq!(missing.code, ErrorCode::BackendNotSetUp);
    let missing = missing.to_string();
    let want = "DAYTONA_API_KEY is not set and /nonexistent/.config/ptyard/daytona.key does not exist";
    assert_eq!(missing, want);
    let wrong = ask(Some("dtn_wrongwrong")).await.unwrap_err();
    assert_eq!(wrong.code, ErrorCode::BackendUnauthorized);
    let wrong = wrong.to_string();
    assert!(wrong.contains("invalid API key (401)") && !wrong.contains('\n'), "{wrong}");
    assert!(!wrong.contains("wrongwrong"), "{wrong}");
    let right = soon("an answer", backend(&server).version()).await.unwrap();
    assert_eq!(right, format!("{} takes the key", server.url()));
}

#[tokio::test]
async fn a_place_is_a_snapshot_or_a_sandbox() {
    let server = DaytonaServer::start().await;
    for bad in ["sandbox=", "sandbox=a/b", "sandbox=..", "a b", "a\n", "../x?y", "a//b"] {
        let error = backend(&server).at(bad).err().expect("no such place");
        assert_eq!(error.code, ErrorCode::InvalidArgument, "{bad:?}");
    }
    for missing in ["sandbox=nobody", "no-such-snapshot"] {
        let missing: Arc<dyn Backend> = backend(&server).at(missing).unwrap();
        let error = missing.start(spec("true", TTY)).await.err().expect("no such place");
        assert_eq!(error.code, ErrorCode::PlaceNotFound, "{error}");
    }
}
