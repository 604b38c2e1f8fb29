//! Pythons with a vendor's own published client.

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::Duration;

/// How long a client's script may take.
const SCRIPT_LIMIT: Duration = Duration::from_secs(120);

/// A Python with `client` as PyPI has it (`name==version`), whose main module is `module`: from a cache, which is at
/// `PTYARD_TEST_CACHE` or else in `directory`, or made now. `None`, loudly, where it cannot be had.
#[must_use]
pub fn python(client: &str, module: &str, directory: &Path) -> Option<PathBuf> {
    let cache = std::env::var_os("PTYARD_TEST_CACHE").map_or_else(|| directory.to_owned(), PathBuf::from);
    let place = cache.join(format!("venv-{}", client.replace("==", "-")));
    let python = place.join("bin/python");
    let import = ["-c".to_owned(), format!("import {module}")];
    let asked = Command::new(&python).args(import).stderr(Stdio::null()).status();
    if asked.is_ok_and(|status| status.success()) {
        return Some(python);
    }
    let made = Command::new("python3").args(["-m", "venv", "--clear"]).arg(&place).status();
    if !made.is_ok_and(|status| status.success()) {
        return skip("python3 makes no environments");
    }
    let install = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", client];
    let installed = Command::new(&python).args(install).stderr(Stdio::null()).status();
    if !installed.is_ok_and(|status| status.success()) {
        return skip("PyPI cannot be had");
    }
    Some(python)
}

fn skip(why: &str) -> Option<PathBuf> {
    eprintln!(
        "SKIPPED: the vendor's client is not there, so nothing holds the test server to its wire: {why}"
    );
    None
}

/// Runs a client's script to its end.
///
/// # Panics
/// When it does not come in time, or not well.
pub async fn run(python: &Path, script: &Path, variables: Vec<(&'static str, String)>) {
    let mut client = tokio::process::Command::new(python);
    client.arg(script).envs(variables).kill_on_drop(true);
    let output = tokio::time::timeout(SCRIPT_LIMIT, client.output()).await;
    let Output { status, stdout, stderr } = output.expect("the client is done in time").expect("it runs");
    let said = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    assert!(status.success(), "{}{}", said(&stdout), said(&stderr));
}
