//! What a server that died left behind is found by the next one that has its list.

use std::sync::Arc;

use ptyard_backends::modal::{Modal, Settings};
use ptyard_terminal::backend::Backend;
use ptyard_testkit::until;
use ptyard_testkit::vendors::left::is_found_and_ended;
use ptyard_testkit::vendors::modal::ModalServer;
use ptyard_testkit::vendors::play;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_a_server_that_died_left_is_on_its_list_until_it_is_ended() {
    let server = ModalServer::start().await;
    let theirs = server.sandbox();
    let living = server.living();
    let state = tempfile::tempdir().unwrap();
    let remembering = || -> Arc<dyn Backend> {
        let settings = Settings::from_variables(play::among(server.variables()));
        Arc::new(Modal::new(settings).remembering(state.path().join("made")))
    };
    // One that ends as it should is not on it.
    let spec = play::spec("true", ptyard_terminal::backend::Io::Tty(ptyard_core::Size::DEFAULT));
    let place = remembering().at(&format!("sandbox={theirs}")).unwrap();
    drop(ptyard_testkit::soon("a start", place.start(spec)).await.unwrap());
    let places = vec!["debian:12".to_owned(), format!("sandbox={theirs}")];
    is_found_and_ended(remembering(), remembering(), places, || server.living() - living).await;
    until("nothing lives", || server.living() == living).await;
    assert_eq!(server.sandboxes(), [theirs]);
}
