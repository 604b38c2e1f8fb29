//! The conformance suite, in both kinds of place.

use std::sync::Arc;

use ptyard_backends::modal::{Modal, Settings};
use ptyard_terminal::backend::Backend;
use ptyard_testkit::conformance::{Ground, run_abreast};
use ptyard_testkit::until;
use ptyard_testkit::vendors::modal::ModalServer;
use ptyard_testkit::vendors::play;

/// The vendor's settings that lead to this server.
pub(crate) fn settings(server: &ModalServer) -> Settings {
    Settings::from_variables(play::among(server.variables()))
}

pub(crate) fn backend(server: &ModalServer) -> Arc<Modal> {
    Arc::new(Modal::new(settings(server)))
}

fn ground(label: &'static str, place: &str, server: &Arc<ModalServer>) -> Ground {
    let cut = Arc::clone(server);
    play::ground(label, backend(server).at(place).unwrap(), move || cut.cut())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn sandboxes_of_their_own_conform() {
    let server = Arc::new(ModalServer::start().await);
    run_abreast(ground("modal:IMAGE", "debian:12", &server), 3).await.hold_to_page();
    until("no sandbox is left", || server.sandboxes().is_empty()).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn sandboxes_that_are_there_conform() {
    let server = Arc::new(ModalServer::start().await);
    let place = format!("sandbox={}", server.sandbox());
    run_abreast(ground("modal:sandbox=ID", &place, &server), 3).await.hold_to_page();
    assert_eq!(server.sandboxes().len(), 1, "somebody else's sandbox stays");
}
