//! Both kinds of places conform.

use std::sync::Arc;

use ptyard_backends::cloudflare::{Cloudflare, Settings};
use ptyard_terminal::backend::Backend;
use ptyard_testkit::conformance::{Ground, run_abreast};
use ptyard_testkit::until;
use ptyard_testkit::vendors::cloudflare::CloudflareServer;
use ptyard_testkit::vendors::play;

/// The id of a sandbox that somebody else has.
pub(crate) const THEIRS: &str = "somebodyelses";

pub(crate) fn backend(server: &CloudflareServer) -> Arc<Cloudflare> {
    Arc::new(Cloudflare::new(Settings::from_variables(play::among(server.variables()))))
}

fn ground(label: &'static str, place: &str, server: &Arc<CloudflareServer>) -> Ground {
    let cut = Arc::clone(server);
    play::ground(label, backend(server).at(place).unwrap(), move || cut.cut())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn sandboxes_of_their_own_conform() {
    let server = Arc::new(CloudflareServer::start().await);
    run_abreast(ground("cloudflare", "", &server), 3).await.hold_to_page();
    until("no sandbox is left", || server.sandboxes().is_empty()).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn sandboxes_that_are_there_conform() {
    let server = Arc::new(CloudflareServer::start().await);
    let place = format!("sandbox={THEIRS}");
    run_abreast(ground("cloudflare:sandbox=ID", &place, &server), 3).await.hold_to_page();
    assert_eq!(server.sandboxes(), [THEIRS], "somebody else's sandbox stays");
    until("no session is left", || server.sessions().is_empty()).await;
}
