//! The conformance suite, in both kinds of place.

use std::sync::Arc;

use ptyard_backends::modal::{Modal, Settings};
use ptyard_terminal::backend::Backend;
use ptyard_testkit::conformance::{Ground, run_some};
use ptyard_testkit::soon;
use ptyard_testkit::vendors::modal::ModalServer;

/// The vendor's settings that lead to this server.
pub(crate) fn settings(server: &ModalServer) -> Settings {
    let variables = server.variables();
    Settings::from_variables(|name| {
        variables.iter().find(|(known, _)| *known == name).map(|(_, value)| value.clone())
    })
}

pub(crate) fn backend(server: &ModalServer) -> Arc<Modal> {
    Arc::new(Modal::new(settings(server)))
}

fn ground(label: &'static str, place: &str, server: &Arc<ModalServer>) -> Ground {
    let cut = Arc::clone(server);
    Ground {
        label,
        backend: backend(server).at(place).unwrap(),
        env: [("TERM".to_owned(), "xterm-256color".to_owned())].into(),
        cwd: "/".into(),
        cut: Some(Box::new(move || {
            cut.cut();
            Box::pin(async {})
        })),
    }
}

/// Cases that are wanted, for one's own eyes: `CASES=law_04 cargo test ...`.
fn wanted(name: &str) -> bool {
    std::env::var("CASES").map_or(true, |part| name.contains(&part))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn sandboxes_of_their_own_conform() {
    let server = Arc::new(ModalServer::start().await);
    run_some(ground("modal:IMAGE", "debian:12", &server), wanted).await.hold_to_page();
    soon("no sandbox is left", async {
        while !server.sandboxes().is_empty() {
            tokio::task::yield_now().await;
        }
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn sandboxes_that_are_there_conform() {
    let server = Arc::new(ModalServer::start().await);
    let place = format!("sandbox={}", server.sandbox());
    run_some(ground("modal:sandbox=ID", &place, &server), wanted).await.hold_to_page();
    assert_eq!(server.sandboxes().len(), 1, "somebody else's sandbox stays");
}
