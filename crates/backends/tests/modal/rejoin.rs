//! A later server goes on with a program.

use std::future::poll_fn;
use std::mem::forget;
use std::sync::Arc;
use std::time::Duration;

use ptyard_backends::modal::Modal;
use ptyard_core::{Cause, Exit, TerminalId};
use ptyard_terminal::backend::{Backend, Io, Orphan, Started, Stdin};
use ptyard_testkit::soon;
use ptyard_testkit::vendors::modal::ModalServer;
use ptyard_testkit::vendors::play::{any_id, end, finish, read_until, rest, spec_of, type_all};

use crate::conformance::{backend, settings};
use crate::stage::{TTY, all_removed};

/// Starts one with a server that dies: nothing of it is dropped, as a kill leaves no time for that.
async fn started(backend: &Arc<dyn Backend>, id: TerminalId, script: &str, io: Io) -> Started {
    soon("the start", backend.start(spec_of(id, script, io))).await.unwrap()
}

fn take_up(backend: &Arc<dyn Backend>, id: TerminalId, io: Io, logged: usize) -> Started {
    let orphan = Orphan { id, io, logged: logged as u64, last: Vec::new(), has_ended: false, kept: None };
    backend.take_up(orphan).expect("it may be there").started
}

#[tokio::test]
async fn a_later_server_goes_on_at_the_exact_byte() {
    let server = ModalServer::start().await;
    let sandbox = format!("sandbox={}", server.sandbox());
    for place in ["debian:12", sandbox.as_str()] {
        for io in [TTY, Io::Pipes(Stdin::Pipe)] {
            let (id, raw) = (any_id(), if io == TTY { "stty raw -echo; " } else { "" });
            let script = format!("{raw}printf héllo; head -c 2; head -c 2; printf 'wörld😀'; exit 7");
            let first = backend(&server).at(place).unwrap();
            let mut earlier = started(&first, id, &script, io).await;
            let seen = read_until(&mut earlier, "héllo").await;
            type_all(earlier.sink.as_mut().unwrap().as_mut(), b"ab").await;
            let seen = seen + &read_until(&mut earlier, "ab").await;
            assert_eq!(seen, "hélloab");
            forget(earlier);
            // In the middle of a character: what the log has is bytes.
            for logged in [2, seen.len()] {
                let later = backend(&server).at(place).unwrap();
                let mut later = take_up(&later, id, io, logged);
                if logged == 2 {
                    let again = read_until(&mut later, "lloab").await;
                    assert!(again.ends_with("\u{fffd}lloab"), "{again:?}");
                    forget(later);
                    continue;
                }
                type_all(later.sink.as_mut().unwrap().as_mut(), b"cd").await;
                let (output, exit) = finish(&mut later).await;
                assert_eq!((output.as_str(), exit), ("cdwörld😀", Exit::exited(7)), "{place} {io:?}");
            }
        }
    }
    assert_eq!(server.heard("TaskExecStart") % 2, 0, "each program was looked for and started once");
}

#[tokio::test]
async fn an_end_that_nobody_heard_of_is_heard_of_later() {
    let server = ModalServer::start().await;
    let (id, place) = (any_id(), backend(&server).at("debian:12").unwrap());
    let mut earlier = started(&place, id, "echo begin; sleep .2; echo end; exit 9", TTY).await;
    assert_eq!(end(earlier.control.as_mut()).await, Exit::exited(9));
    forget(earlier);
    let later = backend(&server).at("debian:12").unwrap();
    let mut later = take_up(&later, id, TTY, "begin\r\n".len());
    assert_eq!(finish(&mut later).await, ("end\r\n".to_owned(), Exit::exited(9)));
    drop(later);
    all_removed(&server).await;
}

#[tokio::test]
async fn a_later_server_can_do_all_that_the_first_one_could() {
    let server = ModalServer::start().await;
    let (id, place) = (any_id(), backend(&server).at("debian:12").unwrap());
    let script = "trap 'stty size' WINCH; trap 'echo usr1' USR1; echo ready; while :; do sleep .05; done";
    let mut earlier = started(&place, id, script, TTY).await;
    read_until(&mut earlier, "ready").await;
    forget(earlier);
    let later = backend(&server).at("debian:12").unwrap();
    let mut later = take_up(&later, id, TTY, "ready\r\n".len());
    later.control.resize(ptyard_core::Size::new(91, 17).unwrap()).unwrap();
    read_until(&mut later, "17 91").await;
    later
        .control
        .signal(ptyard_terminal::backend::Signal(10), ptyard_terminal::backend::Target::Program)
        .unwrap();
    read_until(&mut later, "usr1").await;
    soon("the kill", later.control.kill(Duration::ZERO)).await;
    assert_eq!(end(later.control.as_mut()).await, Exit::signaled(9));
    rest(later.source.as_mut()).await;
    all_removed(&server).await;
}

#[tokio::test]
async fn what_is_dropped_after_it_was_taken_up_is_ended() {
    let server = ModalServer::start().await;
    let place = backend(&server).at("debian:12").unwrap();
    for has_ended in [false, true] {
        let id = any_id();
        forget(started(&place, id, "sleep 600", TTY).await);
        assert_eq!(server.sandboxes().len(), 1);
        let orphan = Orphan { id, io: TTY, logged: 0, last: Vec::new(), has_ended, kept: None };
        let taken_up = backend(&server).at("debian:12").unwrap().take_up(orphan);
        assert_eq!(taken_up.is_none(), has_ended);
        drop(taken_up);
        all_removed(&server).await;
    }
}

#[tokio::test]
async fn what_is_not_there_any_more_is_lost() {
    let server = ModalServer::start().await;
    let sandbox = format!("sandbox={}", server.sandbox());
    for place in ["debian:12", sandbox.as_str()] {
        let later = backend(&server).at(place).unwrap();
        let mut later = take_up(&later, any_id(), TTY, 0);
        let (output, exit) = finish(&mut later).await;
        assert_eq!((output.as_str(), exit.code, exit.cause), ("", None, Cause::Lost), "{place}");
        let sink = later.sink.as_mut().unwrap();
        soon("a write", poll_fn(|cx| sink.poll_write(cx, b"x"))).await.unwrap();
        soon("a write", poll_fn(|cx| sink.poll_write(cx, b"y"))).await.unwrap_err();
    }
    // And when nobody answers.
    let mut settings = settings(&server);
    settings.patience = Duration::from_millis(300);
    drop(server);
    let later = Arc::new(Modal::new(settings)).at("debian:12").unwrap();
    let mut later = take_up(&later, any_id(), TTY, 0);
    assert_eq!(finish(&mut later).await.1.cause, Cause::Lost);
}
