//! The test server is held to the vendor's wire by the vendor's own client.

use std::path::Path;

use ptyard_testkit::vendors::client::Client;
use ptyard_testkit::vendors::modal::{ModalServer, Wire};

const CLIENT: Client = Client { package: "modal==1.6.4", module: "modal", pins: include_str!("pins.txt") };

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_vendors_own_client_is_content_with_the_server() {
    let cache = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/modal/sdk.py");
    for wire in [Wire::Tls, Wire::Plain] {
        let server = ModalServer::start_with(wire).await;
        let mut variables = server.variables();
        // The kind of sandbox that this server has.
        variables.push(("MODAL_SANDBOX_V2", "0".to_owned()));
        variables.push(("MODAL_CONFIG_PATH", "/nonexistent".to_owned()));
        if CLIENT.runs(cache, &script, variables).await {
            assert!(server.sandboxes().is_empty(), "it removed what it made");
        }
    }
}
