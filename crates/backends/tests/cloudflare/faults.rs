//! What networks and the vendor do to clients.

use std::sync::Arc;

use ptyard_backends::cloudflare::{Cloudflare, Settings};
use ptyard_core::{Cause, ErrorCode, Exit, Size};
use ptyard_terminal::backend::{Backend, Io, StartError, Started, Stdin};
use ptyard_testkit::vendors::cloudflare::{CloudflareServer, Faults, Refusal};
use ptyard_testkit::vendors::play::{finish, read_until, spec, type_in};
use ptyard_testkit::{soon, until};

use crate::conformance::{THEIRS, backend};

pub(crate) const TTY: Io = Io::Tty(Size::DEFAULT);
pub(crate) const ALL_IO: [Io; 3] = [TTY, Io::Pipes(Stdin::Null), Io::Pipes(Stdin::Pipe)];

async fn start(server: &CloudflareServer, script: &str, io: Io) -> Result<Started, StartError> {
    let backend = backend(server).at("").unwrap();
    soon("the start", backend.start(spec(script, io))).await
}

/// Cuts all sockets, and waits until another one was asked for.
async fn cut(server: &CloudflareServer) {
    let before = server.heard("/pty");
    server.cut();
    until("another socket", || server.heard("/pty") != before).await;
}

pub(crate) async fn nothing_is_left(server: &CloudflareServer) {
    until("no sandbox is left", || server.sandboxes().is_empty()).await;
    assert_eq!(server.processes(), 0);
}

fn is_lost(exit: &Exit) -> bool {
    (exit.code, exit.signal, exit.cause) == (None, None, Cause::Lost)
}

#[tokio::test]
async fn messages_may_be_split_anywhere() {
    let server = CloudflareServer::start().await;
    for (piece, output) in [(1, 1), (1, 3), (7, 2), (13, 100)] {
        server.fail(|faults| {
            faults.stream_piece_bytes = Some(piece);
            faults.output_piece_bytes = Some(output);
        });
        for io in ALL_IO {
            let mut started = start(&server, "printf 'héllo 😀'; exit 5", io).await.unwrap();
            assert_eq!(finish(&mut started).await, ("héllo 😀".to_owned(), Exit::exited(5)), "{io:?}");
        }
    }
}

#[tokio::test]
async fn a_socket_that_is_cut_before_any_message_is_no_start_or_goes_on_exactly() {
    let server = CloudflareServer::start().await;
    let (mut failed, mut whole) = (0, 0);
    let want: String = (0..40).map(|n| format!("{n} ")).collect();
    for message in 0.. {
        server.fail(|faults| {
            *faults = Faults {
                cut_before_message: Some(message),
                output_piece_bytes: Some(40),
                ..Faults::default()
            };
        });
        let started = start(&server, "for n in $(seq 0 39); do printf '%s ' $n; done; exit 5", TTY).await;
        server.fail(|faults| faults.cut_before_message = None);
        match started {
            // Nobody knows how far it came, and it is not tried again.
            Err(error) => {
                assert_eq!(error.code, ErrorCode::BackendUnreachable, "{message}: {error}");
                failed += 1;
            }
            Ok(mut started) => {
                assert_eq!(finish(&mut started).await, (want.clone(), Exit::exited(5)), "{message}");
                whole += 1;
            }
        }
        let sockets = server.heard("/pty");
        if sockets == failed + whole && whole > 0 {
            // This one was not cut at all.
            break;
        }
        // A socket that was cut under a program is had again, one that was cut before is not.
        assert_eq!(sockets, failed + 2 * whole, "{message}");
        server.forget_what_was_heard();
        (failed, whole) = (0, 0);
    }
    nothing_is_left(&server).await;
}

#[tokio::test]
async fn a_program_that_prints_on_while_the_connection_breaks_again_and_again_is_heard_whole() {
    let server = Arc::new(CloudflareServer::start().await);
    for io in ALL_IO {
        let script = "stty raw 2>/dev/null; for n in $(seq 1 2000); do echo $n; [ $((n % 20)) = 0 ] && sleep .01; done; exit 3";
        let mut started = start(&server, script, io).await.unwrap();
        let cutting = Arc::clone(&server);
        let cuts = tokio::spawn(async move {
            for _ in 0..8 {
                tokio::time::sleep(std::time::Duration::from_millis(70)).await;
                cutting.cut();
            }
        });
        let want: String = (1..=2000).map(|n| format!("{n}\n")).collect();
        let (output, exit) = finish(&mut started).await;
        assert!(output == want, "{io:?}: {} bytes of {}", output.len(), want.len());
        assert_eq!(exit, Exit::exited(3), "{io:?}");
        cuts.await.unwrap();
    }
    assert!(server.heard("/pty") > 10, "it was cut: {}", server.heard("/pty"));
}

#[tokio::test]
async fn what_cannot_be_joined_is_lost_and_not_made_up() {
    let server = CloudflareServer::start().await;
    // More than a replay holds, and none of it unlike the rest.
    server.fail(|faults| faults.replay_bytes = Some(1 << 10));
    let mut started =
        start(&server, "stty raw; yes | head -c 600000; printf end; sleep 600", TTY).await.unwrap();
    read_until(&mut started, "end").await;
    server.cut();
    let (output, exit) = finish(&mut started).await;
    assert!(is_lost(&exit), "{exit:?}");
    assert_eq!(output, "");
    drop(started);
    nothing_is_left(&server).await;
}

#[tokio::test]
async fn a_long_output_goes_on_where_its_replay_is_known() {
    let server = CloudflareServer::start().await;
    let script = "stty raw -echo; seq 1 100000; printf first; head -c 1; printf second; exit 4";
    let mut started = start(&server, script, TTY).await.unwrap();
    read_until(&mut started, "first").await;
    cut(&server).await;
    // It waits for the line.
    type_in(&mut started, b"x").await.unwrap();
    assert_eq!(finish(&mut started).await, ("xsecond".to_owned(), Exit::exited(4)));
}

#[tokio::test]
async fn what_was_typed_before_the_connection_broke_is_not_typed_again_and_that_is_told() {
    let server = CloudflareServer::start().await;
    let script = "stty raw -echo; printf ready; dd bs=1 count=3 2>/dev/null; printf .; sleep 600";
    let mut started = start(&server, script, TTY).await.unwrap();
    read_until(&mut started, "ready").await;
    type_in(&mut started, b"a").await.unwrap();
    assert_eq!(read_until(&mut started, "a").await, "a");
    cut(&server).await;
    // That it arrived is shown by the program; the connection did not say so in time.
    let error = soon("that it may not have arrived", async {
        loop {
            match type_in(&mut started, b"").await {
                Ok(_) => tokio::task::yield_now().await,
                Err(error) => break error,
            }
        }
    })
    .await;
    assert!(error.to_string().contains("may not have arrived"), "{error}");
    type_in(&mut started, b"bc").await.unwrap();
    assert_eq!(read_until(&mut started, ".").await, "bc.");
}

#[tokio::test]
async fn a_socket_that_is_closed_or_complains_before_it_is_ready_is_no_start_and_no_end() {
    let server = CloudflareServer::start().await;
    server.fail(|faults| faults.close_before_ready = 1);
    let error = start(&server, "true", TTY).await.err().expect("it was closed");
    assert_eq!(error.code, ErrorCode::BackendUnreachable, "{error}");
    server.fail(|faults| faults.error_before_ready = 1);
    let error = start(&server, "true", TTY).await.err().expect("it complained");
    assert!(error.message.contains("failed on purpose"), "{error}");
    // Under a program, what is closed is had again, and what complains is lost.
    let script = "stty raw -echo; printf ready; head -c 1; exit 6";
    let mut started = start(&server, script, TTY).await.unwrap();
    read_until(&mut started, "ready").await;
    server.fail(|faults| faults.close_before_ready = 2);
    cut(&server).await;
    type_in(&mut started, b"x").await.unwrap();
    assert_eq!(finish(&mut started).await, ("x".to_owned(), Exit::exited(6)));
    drop(started);
    let mut started = start(&server, "printf ready; sleep 600", TTY).await.unwrap();
    read_until(&mut started, "ready").await;
    server.fail(|faults| faults.error_before_ready = 1);
    server.cut();
    let (_, exit) = finish(&mut started).await;
    assert!(is_lost(&exit), "{exit:?}");
    drop(started);
    nothing_is_left(&server).await;
}

#[tokio::test]
async fn a_terminal_that_tells_of_its_shells_exit_tells_nothing_of_the_program() {
    let server = CloudflareServer::start().await;
    for tells_exits in [true, false] {
        server.fail(|faults| faults.tells_exits = tells_exits);
        let mut started = start(&server, "printf abc; exit 5", TTY).await.unwrap();
        assert_eq!(finish(&mut started).await, ("abc".to_owned(), Exit::exited(5)));
    }
    server.fail(|faults| faults.tells_exits = true);
    // The shell is ended under its program, which was all that would have told the code.
    let mut started = start(&server, "printf abc; kill -KILL $PPID; exit 5", TTY).await.unwrap();
    let (output, exit) = finish(&mut started).await;
    assert_eq!(output, "abc");
    assert!(is_lost(&exit), "{exit:?}");
    drop(started);
    nothing_is_left(&server).await;
}

#[tokio::test]
async fn what_had_no_effect_is_done_again() {
    let server = CloudflareServer::start().await;
    let refuse =
        |path, status, times| server.fail(|faults| faults.refuse = Some(Refusal { path, status, times }));
    for path in ["/v1/sandbox", "/session"] {
        refuse(path, 429, 2);
        let mut started = start(&server, "exit 3", TTY).await.unwrap();
        assert_eq!(finish(&mut started).await.1, Exit::exited(3));
    }
    // Naming one makes none, and a removal is as good twice as once.
    refuse("/v1/sandbox", 503, 2);
    let mut started = start(&server, "exit 3", TTY).await.unwrap();
    assert_eq!(finish(&mut started).await.1, Exit::exited(3));
    refuse("/v1/sandbox", 503, 2);
    drop(started);
    nothing_is_left(&server).await;
}

#[tokio::test]
async fn refusals_of_a_start_are_told_and_leave_nothing() {
    let server = CloudflareServer::start().await;
    let refused = [
        ("/v1/sandbox", 401, ErrorCode::BackendUnauthorized),
        ("/v1/sandbox", 409, ErrorCode::SpawnFailed),
        ("/session", 404, ErrorCode::PlaceNotFound),
        ("/session", 502, ErrorCode::BackendUnreachable),
        ("/session", 503, ErrorCode::BackendUnreachable),
        ("/pty", 401, ErrorCode::BackendUnauthorized),
        ("/pty", 404, ErrorCode::PlaceNotFound),
        ("/pty", 429, ErrorCode::BackendUnreachable),
        ("/pty", 503, ErrorCode::BackendUnreachable),
    ];
    for (path, status, code) in refused {
        server.fail(|faults| faults.refuse = Some(Refusal { path, status, times: 1 }));
        let error = start(&server, "true", TTY).await.err().expect("it was refused");
        assert_eq!(error.code, code, "{path} {status}: {error}");
        assert!(error.message.contains(&status.to_string()), "{error}");
    }
    server.fail(|faults| {
        faults.refuse = None;
        faults.lose_answers_of = Some("/session");
    });
    let error = start(&server, "true", TTY).await.err().expect("the answer was lost");
    assert_eq!(error.code, ErrorCode::BackendUnreachable, "{error}");
    nothing_is_left(&server).await;
}

#[tokio::test]
async fn a_session_of_ours_in_a_sandbox_of_theirs_is_closed_and_the_sandbox_stays() {
    let server = CloudflareServer::start().await;
    let place = backend(&server).at(&format!("sandbox={THEIRS}")).unwrap();
    let no_sessions = async || {
        until("no session is left", || server.sessions().is_empty()).await;
    };
    let mut two = Vec::new();
    for script in ["printf one; sleep 600", "printf two; sleep 600"] {
        two.push(soon("the start", place.start(spec(script, TTY))).await.unwrap());
    }
    assert_eq!(server.sessions().len(), 2, "each has its own");
    assert_eq!(read_until(&mut two[0], "one").await, "one");
    assert_eq!(read_until(&mut two[1], "two").await, "two");
    drop(two);
    no_sessions().await;
    // One that failed leaves none either.
    server.fail(|faults| faults.error_before_ready = 1);
    soon("the start", place.start(spec("true", TTY))).await.err().expect("it failed");
    no_sessions().await;
    until("nothing of it lives", || server.processes() == 0).await;
    assert_eq!(server.sandboxes(), [THEIRS]);
}

#[tokio::test]
async fn a_key_that_is_missing_or_wrong_is_told_in_one_line_and_never_shown() {
    let server = CloudflareServer::start().await;
    let ask = async |url: Option<String>, key: Option<&str>| {
        let key = key.map(str::to_owned);
        let cloudflare = Cloudflare::new(Settings::from_variables(|name| match name {
            "CLOUDFLARE_SANDBOX_API_KEY" => key.clone(),
            "CLOUDFLARE_SANDBOX_WORKER_URL" => url.clone(),
            "HOME" => Some("/nonexistent".to_owned()),
            _ => None,
        }));
        soon("an answer", cloudflare.version()).await
    };
    let nowhere = ask(None, None).await.unwrap_err();
    assert_eq!(nowhere.code, ErrorCode::BackendNotSetUp);
    let nowhere = nowhere.to_string();
    assert_eq!(
        nowhere,
        "CLOUDFLARE_SANDBOX_WORKER_URL is not set: it names the worker that bridges to the sandboxes"
    );
    let missing = ask(Some(server.url()), None).await.unwrap_err();
    assert_eq!(missing.code, ErrorCode::BackendNotSetUp);
    let missing = missing.to_string();
    assert_eq!(
        missing,
        "CLOUDFLARE_SANDBOX_API_KEY is not set and /nonexistent/.config/ptyard/cloudflare.key does not exist"
    );
    let wrong = ask(Some(server.url()), Some("wrongwrong")).await.unwrap_err();
    assert_eq!(wrong.code, ErrorCode::BackendUnauthorized);
    let wrong = wrong.to_string();
    assert!(wrong.contains("Unauthorized (401 unauthorized)") && !wrong.contains('\n'), "{wrong}");
    assert!(!wrong.contains("wrongwrong"), "{wrong}");
    let right = soon("an answer", backend(&server).version()).await.unwrap();
    assert_eq!(right, format!("{} takes the key", server.url()));
    assert_eq!(server.sandboxes(), Vec::<String>::new(), "a question makes nothing");
}

#[tokio::test]
async fn a_place_is_nothing_or_a_sandbox() {
    let server = CloudflareServer::start().await;
    for bad in ["image", "sandbox=", "sandbox=a/b", "sandbox=UPPER", "sandbox=a1", "a b", "../x?y"] {
        let error = backend(&server).at(bad).err().expect("no such place");
        assert_eq!(error.code, ErrorCode::InvalidArgument, "{bad:?}");
    }
}

#[tokio::test]
async fn a_slow_reader_slows_the_program_and_loses_nothing() {
    let server = CloudflareServer::start().await;
    let mut started = start(&server, "seq 1 200000; exit 3", Io::Pipes(Stdin::Null)).await.unwrap();
    // Others are served meanwhile.
    let mut other = start(&server, "echo other", Io::Pipes(Stdin::Null)).await.unwrap();
    assert_eq!(finish(&mut other).await.0, "other\n");
    let (output, exit) = finish(&mut started).await;
    let want: String = (1..=200_000).map(|n| format!("{n}\n")).collect();
    assert!(output == want, "{} bytes of {}", output.len(), want.len());
    assert_eq!(exit, Exit::exited(3));
}
