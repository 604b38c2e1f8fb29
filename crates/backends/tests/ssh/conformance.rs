//! Other machines conform.

use std::sync::Arc;

use ptyard_terminal::backend::{Backend, Placing};
use ptyard_testkit::conformance::{Ground, run_abreast};
use ptyard_testkit::places::ssh::{HOST, SshServer};

use crate::hosts;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn other_machines_conform() {
    let Some(server) = SshServer::start() else { return };
    let server = Arc::new(server);
    let cut = Arc::clone(&server);
    let ground = Ground {
        label: "ssh:HOST",
        backend: Arc::new(hosts(&server)).at(HOST).unwrap(),
        env: [("TERM".to_owned(), "xterm-256color".to_owned())].into(),
        cwd: "/".into(),
        placing: Placing::Loose,
        cut: Some(Box::new(move || {
            cut.cut();
            Box::pin(async {})
        })),
    };
    run_abreast(ground, 2).await.hold_to_page();
}
