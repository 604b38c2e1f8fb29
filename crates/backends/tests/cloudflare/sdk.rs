//! The test server is held to the vendor's wire by a plain client: the vendor publishes none in Python, and those who use its
//! bridge from there use aiohttp.

use std::path::Path;

use ptyard_testkit::vendors::client::Client;
use ptyard_testkit::vendors::cloudflare::CloudflareServer;

const CLIENT: Client =
    Client { package: "aiohttp==3.14.5", module: "aiohttp", pins: include_str!("pins.txt") };

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_plain_client_is_content_with_the_server() {
    let cache = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let server = CloudflareServer::start().await;
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cloudflare/sdk.py");
    if CLIENT.runs(cache, &script, server.variables()).await {
        assert!(server.sandboxes().is_empty(), "it removed what it made");
    }
}
