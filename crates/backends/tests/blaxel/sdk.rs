//! The test server is held to the vendor's wire by the vendor's own client.

use std::path::Path;

use ptyard_testkit::vendors::blaxel::BlaxelServer;
use ptyard_testkit::vendors::client::Client;

const CLIENT: Client = Client { package: "blaxel==0.4.24", module: "blaxel", pins: include_str!("pins.txt") };

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_vendors_own_client_is_content_with_the_server() {
    let server = BlaxelServer::start().await;
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/blaxel/sdk.py");
    if CLIENT.runs(Path::new(env!("CARGO_TARGET_TMPDIR")), &script, server.variables()).await {
        assert!(server.sandboxes().is_empty(), "it removed what it made");
    }
}
