//! Where a CLI runs: fetched by npm once, and in a network with nothing but loopback.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::OnceLock;

use crate::cli::Cli;

/// Set for a test that runs in its namespace.
const INSIDE: &str = "PTYARD_TEST_INSIDE";

/// Brings loopback up, with whatever is there, and becomes the rest of its arguments.
const BRING_UP: &str = "ip link set lo up 2>/dev/null || python3 -c 'import fcntl, socket, struct; \
    fcntl.ioctl(socket.socket(), 0x8914, struct.pack(\"16sh14x\", b\"lo\", 0x41))' || exit 75; exec \"$@\"";

/// Runs `scene` in a network with loopback only, or says why not.
pub(crate) fn inside(cli: &Cli, test: &str, scene: impl FnOnce()) {
    if std::env::var_os(INSIDE).is_some() {
        scene();
        return;
    }
    if let Err(why) = available(cli).and_then(|()| namespaces()) {
        skip(test, &why);
        return;
    }
    let this = std::env::current_exe().unwrap();
    let mut again = in_namespace(this.to_str().unwrap());
    again.args(["--exact", test, "--include-ignored", "--nocapture", "--test-threads=1"]);
    let output = again.env(INSIDE, "1").stdin(Stdio::null()).output().unwrap();
    assert!(output.status.success(), "{}", told(&output));
}

fn skip(test: &str, why: &str) {
    // Past the capture of libtest: a skipped test must not look like one that passed.
    let _ = writeln!(std::io::stderr(), "SKIPPED {test}: {why}");
}

fn told(output: &Output) -> String {
    [&output.stdout, &output.stderr].map(|bytes| String::from_utf8_lossy(bytes)).concat()
}

fn in_namespace(program: &str) -> Command {
    let mut command = Command::new("unshare");
    if !rustix::process::geteuid().is_root() {
        command.arg("--map-root-user");
    }
    command.args(["--net", "sh", "-c", BRING_UP, "sh", program]);
    command
}

/// Whether a network namespace with a loopback can be had.
fn namespaces() -> Result<(), String> {
    static HAD: OnceLock<Result<(), String>> = OnceLock::new();
    let tried = || match in_namespace("true").output() {
        Ok(output) if output.status.success() => Ok(()),
        Ok(output) => Err(format!("no network namespace can be had: {}", told(&output).trim())),
        Err(error) => Err(format!("no network namespace can be had: unshare: {error}")),
    };
    HAD.get_or_init(tried).clone()
}

/// Has the CLI installed.
fn available(cli: &Cli) -> Result<(), String> {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../.ci/install-agents");
    let output = Command::new(script).arg(cli.package).stdin(Stdio::null()).output();
    match output {
        Ok(output) if output.status.success() => Ok(()),
        Ok(output) => Err(format!("it cannot be installed: {}", told(&output).trim())),
        Err(error) => Err(format!("it cannot be installed: {error}")),
    }
}

/// The directory with the CLI's program, where `.ci/install-agents` puts it.
pub(crate) fn programs(cli: &Cli) -> PathBuf {
    let cache = std::env::var_os("PTYARD_AGENTS_CACHE").map(PathBuf::from);
    let cache =
        cache.unwrap_or_else(|| Path::new(&std::env::var_os("HOME").unwrap()).join(".cache/ptyard-agents"));
    cache.join(cli.package).join("bin")
}
