//! Whatever becomes of a start, a program or a server, nothing of it is left.

use std::sync::Arc;

use ptyard_terminal::backend::Backend;
use ptyard_testkit::until;
use ptyard_testkit::vendors::left::rounds;
use ptyard_testkit::vendors::modal::ModalServer;

use crate::conformance::backend;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn starts_kills_broken_connections_and_servers_that_die_leave_nothing() {
    let vendor = Arc::new(ModalServer::start().await);
    let theirs = vendor.sandbox();
    let living = vendor.living();
    let state = tempfile::tempdir().unwrap();
    let server = || -> Arc<dyn Backend> {
        Arc::new((*backend(&vendor)).clone().remembering(state.path().join("made")))
    };
    let places = ["debian:12".to_owned(), format!("sandbox={theirs}")];
    rounds(server, &places, || vendor.cut(), 24).await;
    until("no sandbox is left", || vendor.sandboxes() == [theirs.clone()]).await;
    until("nothing lives", || vendor.living() == living).await;
}
