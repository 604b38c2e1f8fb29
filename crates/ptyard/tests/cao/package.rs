//! The package as it was published.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::OnceLock;

/// What is tested against.
const PACKAGE: &str = "cli-agent-orchestrator==2.5.4";

/// The oldest Python the package supports.
const OLDEST_PYTHON: &str = "import sys; sys.exit(sys.version_info < (3, 10))";

/// Written last into an environment that is complete: what it was made from.
const MADE_FROM: &str = "made-from";

fn run(what: &str, command: &mut Command) -> Result<Output, String> {
    let output = command.stdin(Stdio::null()).output().map_err(|error| format!("{what}: {error}"))?;
    if output.status.success() {
        return Ok(output);
    }
    let told = String::from_utf8_lossy(&output.stderr);
    Err(format!("{what}: {}", told.trim().lines().last().unwrap_or_default()))
}

fn make() -> Result<PathBuf, String> {
    let directory = Path::new(env!("CARGO_TARGET_TMPDIR")).join("cao-package");
    let marker = directory.join(MADE_FROM);
    if fs::read_to_string(&marker).is_ok_and(|earlier| earlier == PACKAGE) {
        return Ok(directory.join("bin"));
    }
    run("python3 is needed, 3.10 or newer", Command::new("python3").args(["-c", OLDEST_PYTHON]))?;
    let mut venv = Command::new("python3");
    run("python3 -m venv is needed", venv.args(["-m", "venv", "--clear"]).arg(&directory))?;
    let mut pip = Command::new(directory.join("bin/pip"));
    pip.args(["install", "--quiet", "--disable-pip-version-check", "--retries", "1", "--timeout", "20"]);
    run("the package cannot be had", pip.arg(PACKAGE))?;
    fs::write(marker, PACKAGE).map_err(|error| error.to_string())?;
    Ok(directory.join("bin"))
}

/// Where the files of its web page are.
pub(crate) fn page(programs: &Path) -> PathBuf {
    let libraries = programs.parent().unwrap().join("lib");
    let of = |library: fs::DirEntry| library.path().join("site-packages/cli_agent_orchestrator/web_ui");
    let mut pages = fs::read_dir(libraries).unwrap().map(|library| of(library.unwrap()));
    pages.find(|page| page.join("index.html").is_file()).expect("the package has a page")
}

/// Where its programs are; `None`, with a word on the terminal itself past the capture of the harness, when it cannot be
/// had.
pub(crate) fn programs() -> Option<&'static Path> {
    static MADE: OnceLock<Result<PathBuf, String>> = OnceLock::new();
    match MADE.get_or_init(make) {
        Ok(programs) => Some(programs),
        Err(why) => {
            let _ = writeln!(io::stderr().lock(), "\nSKIPPED a test with the clients of CAO: {why}\n");
            None
        }
    }
}
