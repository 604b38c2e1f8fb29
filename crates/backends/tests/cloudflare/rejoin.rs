//! A later server goes on with a program.

use std::sync::Arc;

use ptyard_backends::cloudflare::{Cloudflare, Settings};
use ptyard_terminal::backend::Backend;
use ptyard_testkit::until;
use ptyard_testkit::vendors::cloudflare::CloudflareServer;
use ptyard_testkit::vendors::later::{Meanwhile, Servers};
use ptyard_testkit::vendors::play;

/// A sandbox of a program's own, and one that is there; servers of one state.
async fn with(test: impl AsyncFnOnce(&CloudflareServer, Servers<'_>)) {
    let server = CloudflareServer::start().await;
    let state = tempfile::tempdir().unwrap();
    let next = || -> Arc<dyn Backend> {
        let settings = Settings::from_variables(play::among(server.variables()));
        Arc::new(Cloudflare::new(settings).remembering(state.path().join("made")))
    };
    let places = vec!["".to_owned(), format!("sandbox={}", "somebodyelses")];
    test(&server, Servers { next: &next, places, meanwhile: Meanwhile::Played }).await;
    until("what was made is removed", || server.sandboxes().len() <= 1).await;
    until("nothing lives", || server.processes() == 0).await;
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
    with(async |server, servers| servers.leave_nothing(|| server.processes()).await).await;
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
async fn a_start_that_was_not_finished_is_lost() {
    let server = CloudflareServer::start().await;
    let state = tempfile::tempdir().unwrap();
    let list = state.path().join("made");
    let next = || -> Arc<dyn Backend> {
        let settings = Settings::from_variables(play::among(server.variables()));
        Arc::new(Cloudflare::new(settings).remembering(list.clone()))
    };
    let servers = Servers { next: &next, places: vec![String::new()], meanwhile: Meanwhile::Gone };
    servers.lose_what_was_not_finished(&list, || server.processes()).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn output_goes_on_behind_more_than_is_played_again() {
    with(async |_, servers| servers.go_on_behind_much().await).await;
}
