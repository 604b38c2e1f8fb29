//! A later server goes on with a program.

use std::sync::Arc;

use ptyard_backends::e2b::{E2b, Settings};
use ptyard_terminal::backend::Backend;
use ptyard_testkit::until;
use ptyard_testkit::vendors::e2b::E2bServer;
use ptyard_testkit::vendors::later::{Meanwhile, Servers};
use ptyard_testkit::vendors::{Refusal, play};

/// A sandbox of a program's own, and one that is there; servers of one state.
async fn with(test: impl AsyncFnOnce(&E2bServer, Servers<'_>)) {
    let server = E2bServer::start().await;
    let state = tempfile::tempdir().unwrap();
    let next = || -> Arc<dyn Backend> {
        let settings = Settings::from_variables(play::among(server.variables()));
        Arc::new(E2b::new(settings).remembering(state.path().join("made")))
    };
    let places = vec!["base".to_owned(), format!("sandbox={}", server.sandbox())];
    test(&server, Servers { next: &next, places, meanwhile: Meanwhile::Gone }).await;
    until("what was made is removed", || server.sandboxes().len() == 1).await;
    until("nothing lives", || server.living() == 0).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn output_input_and_end_go_on() {
    with(async |_, servers| servers.go_on().await).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_end_that_nobody_heard_of_is_heard_of_later() {
    with(async |_, servers| servers.ends_are_known().await).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_later_server_can_do_all_that_the_first_one_could() {
    with(async |_, servers| servers.can_do_all().await).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_taken_up_and_dropped_or_has_ended_leaves_nothing() {
    with(async |server, servers| servers.leave_nothing(|| server.living()).await).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_not_there_any_more_is_lost() {
    with(async |_, servers| servers.lose_what_is_gone().await).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_end_is_told_while_somebody_holds_the_output() {
    with(async |_, servers| servers.ends_are_told_while_output_is_held().await).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_vendor_that_does_not_answer_yet_is_asked_again() {
    with(async |server, servers| {
        // More than one look makes of itself.
        let refuse = || Some(Refusal { path: "/connect", status: 503, times: 5 });
        servers.go_on_after(|| server.fail(|faults| faults.refuse = refuse())).await;
        // Nothing is typed before somebody listens: what it made the program print would be gone.
        let refuse = || Some(Refusal { path: "Process/Connect", status: 503, times: 1 });
        servers.go_on_after(|| server.fail(|faults| faults.refuse = refuse())).await;
    })
    .await;
}
