//! The test server is held to the vendor's wire by the vendor's own client.

use std::path::Path;

use ptyard_testkit::vendors::e2b::E2bServer;
use ptyard_testkit::vendors::python;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_vendors_own_client_is_content_with_the_server() {
    let cache = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let finding = tokio::task::spawn_blocking(|| python::python("e2b==2.63.0", "e2b", cache));
    let Some(python) = finding.await.unwrap() else { return };
    let server = E2bServer::start().await;
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/e2b/sdk.py");
    python::run(&python, &script, server.variables()).await;
    assert!(server.sandboxes().is_empty(), "it removed what it made");
}
