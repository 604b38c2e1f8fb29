//! Whatever becomes of a start, a program or a server, nothing of it is left.

use std::sync::Arc;

use ptyard_terminal::backend::Backend;
use ptyard_testkit::until;
use ptyard_testkit::vendors::cloudflare::CloudflareServer;
use ptyard_testkit::vendors::left::rounds;

use crate::conformance::{THEIRS, backend};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn starts_kills_broken_connections_and_servers_that_die_leave_nothing() {
    let vendor = Arc::new(CloudflareServer::start().await);
    let state = tempfile::tempdir().unwrap();
    let server = || -> Arc<dyn Backend> {
        Arc::new((*backend(&vendor)).clone().remembering(state.path().join("made")))
    };
    let places = [String::new(), format!("sandbox={THEIRS}")];
    rounds(server, &places, || vendor.cut(), 24).await;
    until("no session is left", || {
        vendor.sessions().is_empty() && vendor.sandboxes().iter().all(|id| id == THEIRS)
    })
    .await;
    until("nothing lives", || vendor.processes() == 0).await;
}
