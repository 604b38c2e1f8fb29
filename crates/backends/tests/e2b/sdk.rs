//! The test server is held to the vendor's wire by the vendor's own client.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use ptyard_testkit::vendors::e2b::E2bServer;

/// The client that is taken.
const CLIENT: &str = "e2b==2.63.0";

/// A Python with the client, from a cache or made now; `None`, loudly, where it cannot be had.
fn python() -> Option<PathBuf> {
    let cache = std::env::var_os("PTYARD_TEST_CACHE")
        .map_or_else(|| Path::new(env!("CARGO_TARGET_TMPDIR")).to_owned(), PathBuf::from);
    let place = cache.join(format!("venv-{}", CLIENT.replace("==", "-")));
    let python = place.join("bin/python");
    if is_there(&python) {
        return Some(python);
    }
    let made = Command::new("python3").args(["-m", "venv", "--clear"]).arg(&place).status();
    if !made.is_ok_and(|status| status.success()) {
        return skip("python3 makes no environments");
    }
    let install = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", CLIENT];
    let installed = Command::new(&python).args(install).stderr(Stdio::null()).status();
    if !installed.is_ok_and(|status| status.success()) {
        return skip("PyPI cannot be had");
    }
    Some(python)
}

fn is_there(python: &Path) -> bool {
    let asked = Command::new(python).args(["-c", "import e2b"]).stderr(Stdio::null()).status();
    asked.is_ok_and(|status| status.success())
}

fn skip(why: &str) -> Option<PathBuf> {
    eprintln!(
        "SKIPPED: the vendor's client is not there, so nothing holds the test server to its wire: {why}"
    );
    None
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_vendors_own_client_is_content_with_the_server() {
    let Some(python) = tokio::task::spawn_blocking(python).await.unwrap() else { return };
    let server = E2bServer::start().await;
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/e2b/sdk.py");
    let mut client = tokio::process::Command::new(python);
    client.arg(script).envs(server.variables()).kill_on_drop(true);
    let output = tokio::time::timeout(std::time::Duration::from_secs(120), client.output()).await;
    let output = output.expect("the client is done in time").unwrap();
    let said = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    assert!(output.status.success(), "{}{}", said(&output.stdout), said(&output.stderr));
    assert!(server.sandboxes().is_empty(), "it removed what it made");
}
