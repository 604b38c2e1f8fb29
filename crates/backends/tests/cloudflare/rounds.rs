//! Whatever becomes of a start or a program, nothing of it is left.

use std::sync::Arc;

use ptyard_testkit::until;
use ptyard_testkit::vendors::cloudflare::CloudflareServer;
use ptyard_testkit::vendors::left::rounds;

use crate::conformance::{THEIRS, backend};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn starts_that_are_given_up_kills_and_broken_connections_leave_nothing() {
    let server = Arc::new(CloudflareServer::start().await);
    let places = [String::new(), format!("sandbox={THEIRS}")];
    rounds(backend(&server), &places, || server.cut(), 24).await;
    until("no session is left", || {
        server.sessions().is_empty() && server.sandboxes().iter().all(|id| id == THEIRS)
    })
    .await;
    until("nothing lives", || server.processes() == 0).await;
}
