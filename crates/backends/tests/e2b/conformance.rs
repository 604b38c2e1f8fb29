//! Both kinds of places conform.

use std::sync::Arc;

use ptyard_backends::e2b::{E2b, Settings};
use ptyard_terminal::backend::Backend;
use ptyard_testkit::conformance::{Ground, run_abreast};
use ptyard_testkit::until;
use ptyard_testkit::vendors::e2b::E2bServer;
use ptyard_testkit::vendors::play;

pub(crate) fn backend(server: &E2bServer) -> Arc<E2b> {
    Arc::new(E2b::new(Settings::from_variables(play::among(server.variables()))))
}

fn ground(label: &'static str, place: &str, server: &Arc<E2bServer>) -> Ground {
    let cut = Arc::clone(server);
    play::ground(label, backend(server).at(place).unwrap(), move || cut.cut())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn sandboxes_of_their_own_conform() {
    let server = Arc::new(E2bServer::start().await);
    run_abreast(ground("e2b:TEMPLATE", "base", &server), 3).await.hold_to_page();
    until("no sandbox is left", || server.sandboxes().is_empty()).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn sandboxes_that_are_there_conform() {
    let server = Arc::new(E2bServer::start().await);
    let place = format!("sandbox={}", server.sandbox());
    run_abreast(ground("e2b:sandbox=ID", &place, &server), 3).await.hold_to_page();
    assert_eq!(server.sandboxes().len(), 1, "somebody else's sandbox stays");
}
