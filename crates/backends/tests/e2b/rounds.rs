//! Whatever becomes of a start, a program or a server, nothing of it is left.

use std::sync::Arc;

use ptyard_terminal::backend::Backend;
use ptyard_testkit::until;
use ptyard_testkit::vendors::e2b::E2bServer;
use ptyard_testkit::vendors::left::rounds;

use crate::conformance::backend;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn starts_kills_broken_connections_and_servers_that_die_leave_nothing() {
    let vendor = Arc::new(E2bServer::start().await);
    let theirs = vendor.sandbox();
    let state = tempfile::tempdir().unwrap();
    let server = || -> Arc<dyn Backend> {
        Arc::new(
            (*backend(&vendor)).clone().marked(Some("rounds".into())).remembering(state.path().join("made")),
        )
    };
    let places = ["base".to_owned(), format!("sandbox={theirs}")];
    rounds(server, &places, || vendor.cut(), 24).await;
    until("no sandbox is left", || vendor.sandboxes() == [theirs.clone()]).await;
    until("nothing lives", || vendor.living() == 0).await;
}
