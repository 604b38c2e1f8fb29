//! The test server is held to the vendor's wire by the vendor's own client.

use std::path::Path;

use ptyard_testkit::vendors::client::Client;
use ptyard_testkit::vendors::e2b::E2bServer;

const CLIENT: Client = Client { package: "e2b==2.63.0", module: "e2b", pins: include_str!("pins.txt") };

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_vendors_own_client_is_content_with_the_server() {
    let server = E2bServer::start().await;
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/e2b/sdk.py");
    if CLIENT.runs(Path::new(env!("CARGO_TARGET_TMPDIR")), &script, server.variables()).await {
        assert!(server.sandboxes().is_empty(), "it removed what it made");
    }
}
