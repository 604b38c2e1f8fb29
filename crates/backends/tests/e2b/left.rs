//! What a server that died left behind is found by the next one that has its list.

use std::sync::Arc;

use ptyard_backends::e2b::{E2b, Settings};
use ptyard_terminal::backend::Backend;
use ptyard_testkit::until;
use ptyard_testkit::vendors::e2b::E2bServer;
use ptyard_testkit::vendors::left::is_found_and_ended;
use ptyard_testkit::vendors::play;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_a_server_that_died_left_is_on_its_list_until_it_is_ended() {
    let server = E2bServer::start().await;
    let theirs = server.sandbox();
    let state = tempfile::tempdir().unwrap();
    let remembering = || -> Arc<dyn Backend> {
        let settings = Settings::from_variables(play::among(server.variables()));
        Arc::new(E2b::new(settings).remembering(state.path().join("made")))
    };
    // One that ends as it should is not on it.
    let spec = play::spec("true", ptyard_terminal::backend::Io::Tty(ptyard_core::Size::DEFAULT));
    let place = remembering().at(&format!("sandbox={theirs}")).unwrap();
    drop(ptyard_testkit::soon("a start", place.start(spec)).await.unwrap());
    let places = vec![format!("sandbox={theirs}")];
    is_found_and_ended(remembering(), remembering(), places, || server.living()).await;
    // What looked on from there sees it.
    until("nothing lives", || server.living() == 0).await;
    assert_eq!(server.sandboxes(), [theirs]);
}
