//! Vendors' own published clients, to which the servers are held.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

/// A client as PyPI has it, and what is imported of it.
#[derive(Debug, Clone, Copy)]
pub struct Client {
    /// As `e2b==2.63.0`.
    pub package: &'static str,
    /// As `e2b`.
    pub module: &'static str,
    /// All that comes with it, as `pip freeze` tells: what is published tomorrow changes no test.
    pub pins: &'static str,
}

/// By what an environment shows with which pins it was made, once it is whole.
const MADE_WITH: &str = "pins.txt";

/// How long a client may take for all of its script.
const LIMIT: Duration = Duration::from_secs(120);

impl Client {
    /// Runs a script with the client, and says whether it could be had: not everybody who runs tests has a Python, or
    /// PyPI. It is taken from `PTYARD_TEST_CACHE`, else from `cache`, and put there.
    ///
    /// # Panics
    /// When the script fails.
    pub async fn runs(self, cache: &Path, script: &Path, variables: Vec<(&'static str, String)>) -> bool {
        let cache = std::env::var_os("PTYARD_TEST_CACHE").map_or_else(|| cache.to_owned(), PathBuf::from);
        let python = tokio::task::spawn_blocking(move || self.python(&cache)).await.expect("no panic");
        let Some(python) = python else { return false };
        let mut client = tokio::process::Command::new(python);
        client.arg(script).envs(variables).kill_on_drop(true);
        let output = tokio::time::timeout(LIMIT, client.output()).await;
        let output = output.expect("the client is done in time").expect("Python runs");
        let said = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        assert!(output.status.success(), "{}{}", said(&output.stdout), said(&output.stderr));
        true
    }

    /// A Python with the client, from a cache or made now; `None`, loudly, where it cannot be had.
    fn python(self, cache: &Path) -> Option<PathBuf> {
        let place = cache.join(format!("venv-{}", self.package.replace("==", "-")));
        let python = place.join("bin/python");
        if self.is_there(&place) {
            return Some(python);
        }
        let made = Command::new("python3").args(["-m", "venv", "--clear"]).arg(&place).status();
        if !made.is_ok_and(|status| status.success()) {
            return self.skip("python3 makes no environments");
        }
        let pins = place.join("asked.txt");
        std::fs::write(&pins, self.pins).expect("a new environment can be written to");
        let install = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", self.package, "-c"];
        let installed = Command::new(&python).args(install).arg(&pins).stderr(Stdio::null()).status();
        if !installed.is_ok_and(|status| status.success()) {
            return self.skip("PyPI cannot be had, or not what is pinned");
        }
        std::fs::rename(pins, place.join(MADE_WITH)).expect("a new environment can be written to");
        Some(python)
    }

    fn is_there(self, place: &Path) -> bool {
        let import = format!("import {}", self.module);
        let python = place.join("bin/python");
        let asked = Command::new(python).args(["-c", &import]).stderr(Stdio::null()).status();
        asked.is_ok_and(|status| status.success())
            && std::fs::read_to_string(place.join(MADE_WITH)).is_ok_and(|made_with| made_with == self.pins)
    }

    fn skip(self, why: &str) -> Option<PathBuf> {
        let Self { package, .. } = self;
        eprintln!("SKIPPED: without {package} nothing holds the test server to the vendor's wire: {why}");
        None
    }
}
