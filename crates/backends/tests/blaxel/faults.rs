//! What networks and the vendor do to clients.

use std::sync::Arc;
use std::time::Duration;

use ptyard_backends::blaxel::{Blaxel, Settings};
use ptyard_core::{Cause, ErrorCode, Exit, Size};
use ptyard_terminal::backend::{Backend, Io, StartError, Started, Stdin};
use ptyard_testkit::vendors::Refusal;
use ptyard_testkit::vendors::blaxel::{BlaxelServer, Faults};
use ptyard_testkit::vendors::play::{exit, finish, read_until, spec, type_all, type_in};
use ptyard_testkit::{soon, until};

use crate::conformance::backend;

pub(crate) const TTY: Io = Io::Tty(Size::DEFAULT);
pub(crate) const ALL_IO: [Io; 3] = [TTY, Io::Pipes(Stdin::Null), Io::Pipes(Stdin::Pipe)];

async fn start(server: &BlaxelServer, script: &str, io: Io) -> Result<Started, StartError> {
    let backend = backend(server).at("").unwrap();
    soon("the start", backend.start(spec(script, io))).await
}

/// Cuts all sockets, and waits until another one was asked for.
async fn cut(server: &BlaxelServer) {
    let before = server.heard("/terminal/ws");
    server.cut();
    until("another socket", || server.heard("/terminal/ws") != before).await;
}

/// Waits until there are so many sandboxes with nothing in them.
pub(crate) async fn nothing_is_left(server: &BlaxelServer, sandboxes: usize) {
    until("no sandbox is left", || server.sandboxes().len() == sandboxes).await;
    until("nothing lives", || server.living() == 0).await;
}

#[tokio::test]
async fn output_is_exact_whatever_the_vendor_does_to_it() {
    let server = BlaxelServer::start().await;
    let faults: [fn(&mut Faults); 5] = [
        |faults| faults.output_piece_bytes = Some(1),
        |faults| faults.output_piece_bytes = Some(7),
        |faults| faults.capital_keys = true,
        |faults| faults.odd_messages = true,
        |faults| faults.replay_twice_bytes = 5000,
    ];
    for (number, fault) in faults.into_iter().enumerate() {
        server.fail(|faults| {
            *faults = Faults::default();
            fault(faults);
        });
        for io in ALL_IO {
            let script = r"stty raw 2>/dev/null; printf 'héllo \303\377😀'; exit 5";
            let mut started = start(&server, script, io).await.unwrap();
            let want = ("héllo \u{fffd}\u{fffd}😀".to_owned(), Exit::exited(5));
            assert_eq!(finish(&mut started).await, want, "{number} {io:?}");
        }
    }
    nothing_is_left(&server, 0).await;
}

#[tokio::test]
async fn pieces_that_the_vendor_drops_are_had_again() {
    let server = BlaxelServer::start().await;
    for io in ALL_IO {
        let script = "stty raw 2>/dev/null; head -c 1 >/dev/null; seq 1 20000; exit 3";
        let script = if io == Io::Pipes(Stdin::Null) {
            script.replace("head -c 1 >/dev/null", "sleep .3")
        } else {
            script.to_owned()
        };
        let mut started = start(&server, &script, io).await.unwrap();
        server.fail(|faults| faults.drop_every = Some(7));
        if let Some(sink) = &mut started.sink {
            type_all(sink.as_mut(), b"x").await;
        }
        let (output, exit) = finish(&mut started).await;
        server.fail(|faults| faults.drop_every = None);
        let want: String = (1..=20_000).map(|n| format!("{n}\n")).collect();
        let output = output.trim_start_matches('x');
        assert!(output == want, "{io:?}: {} bytes of {}", output.len(), want.len());
        assert_eq!(exit, Exit::exited(3), "{io:?}");
    }
    nothing_is_left(&server, 0).await;
}

#[tokio::test]
async fn the_last_word_of_a_program_is_had_again_when_it_was_dropped() {
    let server = BlaxelServer::start().await;
    let script = "stty raw -echo; printf abc; head -c 1 >/dev/null; exit 3";
    let mut started = start(&server, script, TTY).await.unwrap();
    read_until(&mut started, "abc").await;
    // Nothing comes behind it by which it would be missed.
    server.fail(|faults| faults.drop_with = Some(" x 3 c 3\n"));
    type_in(&mut started, b"x").await.unwrap();
    assert_eq!(finish(&mut started).await, (String::new(), Exit::exited(3)));
    server.fail(|faults| assert_eq!(faults.drop_with, None, "it was dropped"));
    drop(started);
    nothing_is_left(&server, 0).await;
}

#[tokio::test]
async fn a_socket_that_is_cut_before_any_message_is_no_start_or_goes_on_exactly() {
    let server = BlaxelServer::start().await;
    let want: String = (0..40).map(|n| format!("{n} ")).collect();
    let mut whole = 0;
    for message in 0..60 {
        server.fail(|faults| {
            *faults = Faults {
                cut_before_message: Some(message),
                output_piece_bytes: Some(60),
                ..Faults::default()
            };
        });
        let started = start(&server, "for n in $(seq 0 39); do printf '%s ' $n; done; exit 5", TTY).await;
        server.fail(|faults| faults.cut_before_message = None);
        match started {
            // Nobody knows how far it came, and it is not tried again.
            Err(error) => assert_eq!(error.code, ErrorCode::BackendUnreachable, "{message}: {error}"),
            Ok(mut started) => {
                assert_eq!(finish(&mut started).await, (want.clone(), Exit::exited(5)), "{message}");
                whole += 1;
                if whole == 8 {
                    break;
                }
            }
        }
    }
    assert_eq!(whole, 8, "some were cut behind the start");
    nothing_is_left(&server, 0).await;
}

#[tokio::test]
async fn a_program_is_heard_whole_while_the_connection_breaks_again_and_again() {
    let server = Arc::new(BlaxelServer::start().await);
    server.fail(|faults| faults.replay_twice_bytes = 3000);
    for io in ALL_IO {
        let script = "stty raw 2>/dev/null; for n in $(seq 1 2000); do echo $n; [ $((n % 20)) = 0 ] && sleep .01; done; exit 3";
        let mut started = start(&server, script, io).await.unwrap();
        let cutting = Arc::clone(&server);
        let cuts = tokio::spawn(async move {
            for _ in 0..8 {
                tokio::time::sleep(Duration::from_millis(70)).await;
                cutting.cut();
            }
        });
        let want: String = (1..=2000).map(|n| format!("{n}\n")).collect();
        let (output, exit) = finish(&mut started).await;
        assert!(output == want, "{io:?}: {} bytes of {}", output.len(), want.len());
        assert_eq!(exit, Exit::exited(3), "{io:?}");
        cuts.await.unwrap();
    }
    assert!(server.heard("/terminal/ws") > 10, "it was cut: {}", server.heard("/terminal/ws"));
}

#[tokio::test]
async fn what_is_typed_while_the_connection_breaks_is_typed_once() {
    let server = Arc::new(BlaxelServer::start().await);
    for io in [TTY, Io::Pipes(Stdin::Pipe)] {
        let raw = if io == TTY { "stty raw -echo; " } else { "" };
        let script = format!("{raw}printf ready; head -c 60000 | cksum; printf .; sleep 600");
        let mut started = start(&server, &script, io).await.unwrap();
        read_until(&mut started, "ready").await;
        let typed: Vec<u8> = (0..60_000_u32).map(|n| b'a' + u8::try_from(n % 26).unwrap()).collect();
        for piece in typed.chunks(10_000) {
            let mut sink = started.sink.take().unwrap();
            let cutting = Arc::clone(&server);
            let cuts = tokio::spawn(async move { cutting.cut() });
            type_all(sink.as_mut(), piece).await;
            cuts.await.unwrap();
            started.sink = Some(sink);
        }
        let shown = read_until(&mut started, ".").await;
        // As cksum(1) has it of what was typed.
        let mut sum = std::process::Command::new("cksum")
            .stdin(std::process::Stdio::piped())
            .stdout(std::process::Stdio::piped())
            .spawn()
            .unwrap();
        std::io::Write::write_all(&mut sum.stdin.take().unwrap(), &typed).unwrap();
        let want = String::from_utf8(sum.wait_with_output().unwrap().stdout).unwrap();
        assert_eq!(shown.trim_end_matches('.').trim(), want.trim(), "{io:?}");
    }
}

#[tokio::test]
async fn a_program_that_does_not_read_keeps_whoever_types_and_nothing_else() {
    let server = BlaxelServer::start().await;
    let script = "printf ready; sleep 1; seq 1 100000; cat | wc -c";
    let mut started = start(&server, script, Io::Pipes(Stdin::Pipe)).await.unwrap();
    read_until(&mut started, "ready").await;
    let mut sink = started.sink.take().unwrap();
    let typing = tokio::spawn(async move {
        type_all(sink.as_mut(), &vec![b'x'; 300_000]).await;
        soon("the close", std::future::poll_fn(|cx| sink.poll_close(cx))).await.unwrap();
    });
    let (output, exit) = finish(&mut started).await;
    assert!(output.ends_with("100000\n300000\n"), "{:?}", &output[output.len().saturating_sub(40)..]);
    assert_eq!(exit, Exit::exited(0));
    typing.await.unwrap();
}

#[tokio::test]
async fn a_socket_that_is_closed_or_complains_at_once_is_no_start_and_no_end() {
    let server = BlaxelServer::start().await;
    server.fail(|faults| faults.close_at_once = 1);
    let error = start(&server, "true", TTY).await.err().expect("it was closed");
    assert_eq!(error.code, ErrorCode::BackendUnreachable, "{error}");
    server.fail(|faults| faults.error_at_once = 1);
    let error = start(&server, "true", TTY).await.err().expect("it complained");
    assert!(error.message.contains("failed on purpose"), "{error}");
    // Under a program, what is closed is had again, and what complains is lost.
    let script = "stty raw -echo; printf ready; head -c 1; exit 6";
    let mut started = start(&server, script, TTY).await.unwrap();
    read_until(&mut started, "ready").await;
    server.fail(|faults| faults.close_at_once = 2);
    cut(&server).await;
    type_in(&mut started, b"x").await.unwrap();
    assert_eq!(finish(&mut started).await, ("x".to_owned(), Exit::exited(6)));
    drop(started);
    let mut started = start(&server, "printf ready; sleep 600", TTY).await.unwrap();
    read_until(&mut started, "ready").await;
    server.fail(|faults| faults.error_at_once = 1);
    server.cut();
    assert_eq!(exit(&mut started).await.cause, Cause::Lost);
    drop(started);
    nothing_is_left(&server, 0).await;
}

#[tokio::test]
async fn a_carrier_that_is_ended_under_its_program_is_no_end_of_it() {
    let server = BlaxelServer::start().await;
    let mut started =
        start(&server, "stty raw -echo; printf abc; head -c 1; kill -KILL $PPID; sleep 600", TTY)
            .await
            .unwrap();
    read_until(&mut started, "abc").await;
    type_in(&mut started, b"x").await.unwrap();
    let exit = exit(&mut started).await;
    assert_eq!((exit.code, exit.cause), (None, Cause::Lost));
    drop(started);
    nothing_is_left(&server, 0).await;
}

#[tokio::test]
async fn a_sandbox_without_python_is_refused_with_what_to_do() {
    let server = BlaxelServer::start().await;
    server.fail(|faults| faults.is_bare = true);
    for io in ALL_IO {
        let error = start(&server, "true", io).await.err().expect("nobody carries it");
        assert_eq!(error.code, ErrorCode::Unsupported, "{error}");
        assert!(error.message.contains("use an image that has it"), "{error}");
    }
    nothing_is_left(&server, 0).await;
}

#[tokio::test]
async fn what_had_no_effect_is_done_again() {
    let server = BlaxelServer::start().await;
    let refuse =
        |path, status, times| server.fail(|faults| faults.refuse = Some(Refusal { path, status, times }));
    // A sandbox is named after its program, so making it twice is as good as once.
    for (status, times) in [(429, 2), (503, 2)] {
        refuse("POST /v0/sandboxes", status, times);
        let mut started = start(&server, "exit 3", TTY).await.unwrap();
        assert_eq!(finish(&mut started).await.1, Exit::exited(3));
    }
    server.fail(|faults| {
        faults.refuse = None;
        faults.lose_makes = 1;
        faults.looks_until_deployed = 2;
    });
    let mut started = start(&server, "exit 3", TTY).await.unwrap();
    assert_eq!(finish(&mut started).await.1, Exit::exited(3));
    assert_eq!(server.heard("GET /v0/sandboxes/"), 2, "it was looked at until it ran");
    refuse("DELETE /v0/sandboxes", 503, 2);
    drop(started);
    nothing_is_left(&server, 0).await;
}

#[tokio::test]
async fn refusals_of_a_start_are_told_and_leave_nothing() {
    let server = BlaxelServer::start().await;
    let refused = [
        ("POST /v0/sandboxes", 401, ErrorCode::BackendUnauthorized),
        ("POST /v0/sandboxes", 404, ErrorCode::PlaceNotFound),
        ("POST /v0/sandboxes", 409, ErrorCode::SpawnFailed),
        ("/terminal/ws", 401, ErrorCode::BackendUnauthorized),
        ("/terminal/ws", 404, ErrorCode::PlaceNotFound),
        ("/terminal/ws", 429, ErrorCode::BackendUnreachable),
        ("/terminal/ws", 503, ErrorCode::BackendUnreachable),
    ];
    for (path, status, code) in refused {
        server.fail(|faults| faults.refuse = Some(Refusal { path, status, times: 1 }));
        let error = start(&server, "true", TTY).await.err().expect("it was refused");
        assert_eq!(error.code, code, "{path} {status}: {error}");
        assert!(error.message.contains(&status.to_string()), "{error}");
        assert!(!error.message.contains("bl_0123456789abcdef"), "the key is shown nowhere: {error}");
    }
    let place = backend(&server).at("sandbox=none").unwrap();
    let error = soon("the start", place.start(spec("true", TTY))).await.err().expect("there is none");
    assert_eq!(error.code, ErrorCode::PlaceNotFound, "{error}");
    nothing_is_left(&server, 0).await;
}

#[tokio::test]
async fn a_key_that_is_missing_or_wrong_is_told_in_one_line_and_never_shown() {
    let server = BlaxelServer::start().await;
    let ask = async |workspace: Option<&str>, key: Option<&str>| {
        let (workspace, key) = (workspace.map(str::to_owned), key.map(str::to_owned));
        let blaxel = Blaxel::new(Settings::from_variables(|name| match name {
            "BL_API_KEY" => key.clone(),
            "BL_WORKSPACE" => workspace.clone(),
            "BL_API_URL" => Some(server.url()),
            "HOME" => Some("/nonexistent".to_owned()),
            _ => None,
        }));
        soon("an answer", blaxel.version()).await
    };
    let missing = ask(Some("ws"), None).await.unwrap_err();
    assert_eq!(missing.code, ErrorCode::BackendNotSetUp);
    let missing = missing.to_string();
    assert_eq!(missing, "BL_API_KEY is not set and /nonexistent/.config/ptyard/blaxel.key does not exist");
    let nowhere = ask(None, Some("right")).await.unwrap_err();
    assert_eq!(nowhere.code, ErrorCode::BackendNotSetUp);
    let nowhere = nowhere.to_string();
    assert_eq!(nowhere, "BL_WORKSPACE is not set: it names the workspace that the key is for");
    let wrong = ask(Some("ws"), Some("wrongwrong")).await.unwrap_err();
    assert_eq!(wrong.code, ErrorCode::BackendUnauthorized);
    let wrong = wrong.to_string();
    assert!(wrong.contains("invalid API key (401)") && !wrong.contains('\n'), "{wrong}");
    assert!(!wrong.contains("wrongwrong"), "{wrong}");
    let right = soon("an answer", backend(&server).version()).await.unwrap();
    assert_eq!(right, format!("{} takes the key", server.url()));
    assert_eq!(server.sandboxes(), Vec::<String>::new(), "a question makes nothing");
}

#[tokio::test]
async fn a_place_is_an_image_or_a_sandbox() {
    let server = BlaxelServer::start().await;
    for bad in ["sandbox=", "sandbox=a/b", "sandbox=UPPER", "sandbox=a.b", "a b", "../x?y", "/x"] {
        let error = backend(&server).at(bad).err().expect("no such place");
        assert_eq!(error.code, ErrorCode::InvalidArgument, "{bad:?}");
    }
    for good in ["", "blaxel/base-image:latest", "x", "sandbox=a-1"] {
        backend(&server).at(good).unwrap();
    }
}

#[tokio::test]
async fn a_slow_reader_slows_the_program_and_loses_nothing() {
    let server = BlaxelServer::start().await;
    let mut started = start(&server, "seq 1 200000; exit 3", Io::Pipes(Stdin::Null)).await.unwrap();
    // Others are served meanwhile.
    let mut other = start(&server, "echo other", Io::Pipes(Stdin::Null)).await.unwrap();
    assert_eq!(finish(&mut other).await.0, "other\n");
    let (output, exit) = finish(&mut started).await;
    let want: String = (1..=200_000).map(|n| format!("{n}\n")).collect();
    assert!(output == want, "{} bytes of {}", output.len(), want.len());
    assert_eq!(exit, Exit::exited(3));
}
