//! Both kinds of places conform.

use std::sync::Arc;

use ptyard_backends::blaxel::{Blaxel, Settings};
use ptyard_terminal::backend::Backend;
use ptyard_testkit::conformance::{Ground, run_abreast};
use ptyard_testkit::until;
use ptyard_testkit::vendors::blaxel::BlaxelServer;
use ptyard_testkit::vendors::play;

pub(crate) fn backend(server: &BlaxelServer) -> Arc<Blaxel> {
    Arc::new(Blaxel::new(Settings::from_variables(play::among(server.variables()))))
}

fn ground(label: &'static str, place: &str, server: &Arc<BlaxelServer>) -> Ground {
    let cut = Arc::clone(server);
    play::ground(label, backend(server).at(place).unwrap(), move || cut.cut())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn sandboxes_of_their_own_conform() {
    let server = Arc::new(BlaxelServer::start().await);
    run_abreast(ground("blaxel:IMAGE", "base", &server), 3).await.hold_to_page();
    until("no sandbox is left", || server.sandboxes().is_empty()).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn sandboxes_that_are_there_conform() {
    let server = Arc::new(BlaxelServer::start().await);
    let sandbox = server.sandbox();
    run_abreast(ground("blaxel:sandbox=NAME", &format!("sandbox={sandbox}"), &server), 3)
        .await
        .hold_to_page();
    assert_eq!(server.sandboxes(), [sandbox], "somebody else's sandbox stays");
    until("no terminal is left", || server.terminals() == 0).await;
}
