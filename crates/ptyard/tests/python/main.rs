//! The Python client, `python/`: its own tests, against the program that was just built.
//!
//! They need `python3` with `venv` and, the first time, a package index. The environment is kept beside the build;
//! what cannot be had is said, and the tests are left out.
#![expect(clippy::unwrap_used, reason = "a test stops at what it did not expect")]

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

/// The oldest Python the package supports.
const OLDEST_PYTHON: &str = "import sys; sys.exit(sys.version_info < (3, 10))";

/// Written last into an environment that is complete: what it was made from.
const MADE_FROM: &str = "made-from";

fn package() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../python").canonicalize().unwrap()
}

/// Says on the terminal itself, past the capture of the test harness, that nothing was tested.
fn skip(why: &str) {
    let _ = writeln!(io::stderr().lock(), "\nSKIPPED the tests of the Python client: {why}\n");
}

/// Why there is no environment.
type Lacking = String;

fn run(what: &str, command: &mut Command) -> Result<Output, Lacking> {
    let output = command.stdin(Stdio::null()).output().map_err(|error| format!("{what}: {error}"))?;
    if output.status.success() {
        return Ok(output);
    }
    let told = String::from_utf8_lossy(&output.stderr);
    let last: Vec<_> = told.trim().lines().rev().take(5).collect();
    let last: Vec<_> = last.into_iter().rev().collect();
    Err(format!("{what}: {}", last.join("\n  ")))
}

/// An environment with the package's dependencies, made once for each set of them.
fn environment() -> Result<PathBuf, Lacking> {
    let package = package();
    let made_from = ["pyproject.toml", "tests/constraints.txt"]
        .map(|name| fs::read_to_string(package.join(name)).unwrap())
        .join("\n");
    let directory = Path::new(env!("CARGO_TARGET_TMPDIR")).join("python-client");
    let marker = directory.join(MADE_FROM);
    if fs::read_to_string(&marker).is_ok_and(|earlier| earlier == made_from) {
        return Ok(directory);
    }
    run("python3 is needed, 3.10 or newer", Command::new("python3").args(["-c", OLDEST_PYTHON]))?;
    let mut venv = Command::new("python3");
    run("python3 -m venv is needed", venv.args(["-m", "venv", "--clear"]).arg(&directory))?;
    let mut pip = Command::new(directory.join("bin/pip"));
    pip.args(["install", "--quiet", "--disable-pip-version-check", "--retries", "1", "--timeout", "20"])
        .arg("--constraint")
        .arg(package.join("tests/constraints.txt"))
        .arg("hatchling")
        .arg(format!("{}[test]", package.display()));
    run("the packages cannot be had", &mut pip)?;
    fs::write(marker, made_from).map_err(|error| error.to_string())?;
    Ok(directory)
}

#[test]
fn the_python_client_passes_its_tests() {
    let environment = match environment() {
        Ok(environment) => environment,
        Err(why) => return skip(&why),
    };
    // The package as it is now; its dependencies are there.
    let mut install = Command::new(environment.join("bin/pip"));
    install
        .args(["install", "--quiet", "--disable-pip-version-check", "--no-deps", "--no-build-isolation"])
        .args(["--no-index", "--force-reinstall"])
        .arg(package());
    run("the package does not build", &mut install).unwrap();
    let tested = Command::new(environment.join("bin/python"))
        .args(["-B", "-m", "pytest", "-p", "no:cacheprovider", "--color=no"])
        .current_dir(package())
        .env("PTYARD_BIN", env!("CARGO_BIN_EXE_ptyard"))
        // Login shells without a person's start-up files.
        .env("HOME", env!("CARGO_TARGET_TMPDIR"))
        .env_remove("PYTHONPATH")
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let told = String::from_utf8_lossy(&tested.stdout);
    assert!(tested.status.success(), "{told}\n{}", String::from_utf8_lossy(&tested.stderr));
    println!("{told}");
}
