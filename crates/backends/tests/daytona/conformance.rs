//! Both kinds of places conform.

use std::sync::Arc;

use ptyard_backends::daytona::{Daytona, Settings};
use ptyard_terminal::backend::Backend;
use ptyard_testkit::conformance::{Ground, run_abreast};
use ptyard_testkit::until;
use ptyard_testkit::vendors::daytona::DaytonaServer;
use ptyard_testkit::vendors::play;

pub(crate) fn backend(server: &DaytonaServer) -> Arc<Daytona> {
    Arc::new(Daytona::new(Settings::from_variables(play::among(server.variables()))))
}

fn ground(label: &'static str, place: &str, server: &Arc<DaytonaServer>) -> Ground {
    let cut = Arc::clone(server);
    play::ground(label, backend(server).at(place).unwrap(), move || cut.cut())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn sandboxes_of_their_own_conform() {
    let server = Arc::new(DaytonaServer::start().await);
    run_abreast(ground("daytona:SNAPSHOT", "base", &server), 3).await.hold_to_page();
    until("no sandbox is left", || server.sandboxes().is_empty()).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn sandboxes_that_are_there_conform() {
    let server = Arc::new(DaytonaServer::start().await);
    let place = format!("sandbox={}", server.sandbox());
    run_abreast(ground("daytona:sandbox=ID", &place, &server), 3).await.hold_to_page();
    assert_eq!(server.sandboxes().len(), 1, "somebody else's sandbox stays");
    until("no terminal is left", || server.terminals() == 0).await;
}
