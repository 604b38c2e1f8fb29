//! Whatever becomes of a start or a program, nothing of it is left.

use std::sync::Arc;

use ptyard_testkit::until;
use ptyard_testkit::vendors::e2b::E2bServer;
use ptyard_testkit::vendors::left::rounds;

use crate::conformance::backend;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn starts_that_are_given_up_kills_and_broken_connections_leave_nothing() {
    let server = Arc::new(E2bServer::start().await);
    let theirs = server.sandbox();
    let places = ["base".to_owned(), format!("sandbox={theirs}")];
    rounds(backend(&server), &places, || server.cut(), 24).await;
    until("no sandbox is left", || server.sandboxes() == [theirs.clone()]).await;
    until("nothing lives", || server.living() == 0).await;
}
