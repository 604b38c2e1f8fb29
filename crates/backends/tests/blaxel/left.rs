//! What a server that died left behind: the next one that has its list ends it, and goes on with what it is asked for.

use std::mem::forget;
use std::sync::Arc;
use std::time::Duration;

use ptyard_backends::blaxel::{Blaxel, Settings};
use ptyard_core::{Cause, Exit, TerminalId};
use ptyard_terminal::backend::{Backend, Io, Orphan, Started, Stdin};
use ptyard_testkit::vendors::blaxel::BlaxelServer;
use ptyard_testkit::vendors::left::{dying, is_found_and_ended};
use ptyard_testkit::vendors::play::{self, any_id, end, exit, finish, read_until, spec, spec_of, type_all};
use ptyard_testkit::{soon, until};

use crate::conformance::backend;
use crate::faults::{TTY, nothing_is_left};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_a_server_that_died_left_is_on_its_list_until_it_is_ended() {
    let server = Arc::new(BlaxelServer::start().await);
    let theirs = server.sandbox();
    let state = tempfile::tempdir().unwrap();
    let remembering = || -> Arc<dyn Backend> {
        Arc::new((*backend(&server)).clone().remembering(state.path().join("made")))
    };
    // One that ends as it should is not on it.
    drop(soon("a start", remembering().at("").unwrap().start(spec("true", TTY))).await.unwrap());
    let places = vec![String::new(), format!("sandbox={theirs}")];
    is_found_and_ended(remembering(), remembering(), places, || server.living()).await;
    assert_eq!((server.sandboxes(), server.living()), (vec![theirs], 0));
    until("no terminal is left", || server.terminals() == 0).await;
}

fn take_up(backend: &Arc<dyn Backend>, id: TerminalId, io: Io, logged: usize) -> Started {
    let orphan = Orphan { id, io, logged: logged as u64, last: Vec::new(), has_ended: false, kept: None };
    backend.take_up(orphan).expect("it may be there").started
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_later_server_goes_on_at_the_exact_byte() {
    let server = Arc::new(BlaxelServer::start().await);
    let sandbox = format!("sandbox={}", server.sandbox());
    for place in ["base", sandbox.as_str()] {
        for io in [TTY, Io::Pipes(Stdin::Pipe)] {
            let (id, raw) = (any_id(), if io == TTY { "stty raw -echo; " } else { "" });
            let script = format!("{raw}printf héllo; head -c 2; head -c 2; printf 'wörld😀'; exit 7");
            let first = backend(&server).at(place).unwrap();
            let seen = dying(async move || {
                let mut earlier = first.start(spec_of(id, &script, io)).await.unwrap();
                let seen = read_until(&mut earlier, "héllo").await;
                type_all(earlier.sink.as_mut().unwrap().as_mut(), b"ab").await;
                let seen = seen + &read_until(&mut earlier, "ab").await;
                forget(earlier);
                seen
            })
            .await;
            assert_eq!(seen, "hélloab");
            let later = backend(&server).at(place).unwrap();
            // In the middle of a character: what the log has is bytes.
            let mut later = take_up(&later, id, io, 2);
            let again = read_until(&mut later, "lloab").await;
            assert!(again.ends_with("\u{fffd}lloab"), "{again:?}");
            type_all(later.sink.as_mut().unwrap().as_mut(), b"cd").await;
            let (output, exit) = finish(&mut later).await;
            assert_eq!((output.as_str(), exit), ("cdwörld😀", Exit::exited(7)), "{place} {io:?}");
        }
    }
    until("no terminal is left", || server.terminals() == 0).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_not_there_any_more_is_lost_and_leaves_no_shell() {
    let server = Arc::new(BlaxelServer::start().await);
    let sandbox = format!("sandbox={}", server.sandbox());
    // A sandbox that was never made, and one that has no such terminal.
    for place in ["base", sandbox.as_str()] {
        let mut later = take_up(&backend(&server).at(place).unwrap(), any_id(), TTY, 5);
        assert_eq!(end(later.control.as_mut()).await.cause, Cause::Lost, "{place}");
        drop(later);
    }
    until("no terminal is left", || server.terminals() == 0).await;
    assert_eq!(server.living(), 0);
    // One that has ended leaves nothing.
    let id = any_id();
    let place = backend(&server).at("").unwrap();
    let first = Arc::clone(&place);
    dying(async move || forget(first.start(spec_of(id, "sleep 600", TTY)).await.unwrap())).await;
    let orphan = Orphan { id, io: TTY, logged: 0, last: Vec::new(), has_ended: true, kept: None };
    assert!(place.take_up(orphan).is_none());
    until("its sandbox is removed", || server.sandboxes().len() == 1).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_program_that_nobody_asks_for_ends() {
    let server = Arc::new(BlaxelServer::start().await);
    let theirs = format!("sandbox={}", server.sandbox());
    let mut settings = Settings::from_variables(play::among(server.variables()));
    settings.alone = Duration::from_secs(2);
    let impatient = Arc::new(Blaxel::new(settings));
    let place = impatient.at(&theirs).unwrap();
    let script = "trap '' HUP; (setsid sleep 600 &); printf ready; sleep 600";
    dying(async move || {
        let mut started = place.start(spec(script, TTY)).await.unwrap();
        read_until(&mut started, "ready").await;
        forget(started);
    })
    .await;
    assert!(server.living() >= 3, "it lives: {}", server.living());
    until("nothing lives", || server.living() == 0).await;
    // And so it does when the vendor ends its terminal.
    let place = backend(&server).at(&theirs).unwrap();
    let mut started = soon("a start", place.start(spec("sleep 600", TTY))).await.unwrap();
    server.end_terminals();
    assert_eq!(exit(&mut started).await.cause, Cause::Lost);
    drop(started);
    until("nothing lives", || server.living() == 0 && server.terminals() == 0).await;
    nothing_is_left(&server, 1).await;
}
