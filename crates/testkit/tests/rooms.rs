//! The rooms of the workspace: which crate may know which, and where `unsafe` may stand.

#![expect(clippy::unwrap_used, reason = "a test stops at what it did not expect")]

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

/// From the bottom up: a crate may depend on crates before it, never on one behind it.
const ORDER: [&str; 10] = [
    "ptyard-core",
    "ptyard-screen",
    "ptyard-terminal",
    "ptyard-modal-wire",
    "ptyard-backends",
    "ptyard-providers",
    "ptyard-store",
    "ptyard-yard",
    "ptyard-server",
    "ptyard",
];

/// Crates that may see everything and that no crate of the product may depend on.
const BESIDE: [&str; 2] = ["ptyard-testkit", "ptyard-bench"];

/// What the pure crates must not reach for.
const NOT_IN_CORE: [&str; 6] = ["tokio", "axum", "rustix", "libc", "hyper", "alacritty_terminal"];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

fn dependencies() -> BTreeMap<String, Vec<String>> {
    let output = Command::new(env!("CARGO"))
        .args(["metadata", "--no-deps", "--format-version", "1", "--offline"])
        .current_dir(root())
        .output()
        .unwrap();
    let metadata: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let packages = metadata["packages"].as_array().unwrap();
    let name = |value: &serde_json::Value| value["name"].as_str().unwrap().to_owned();
    let normal = |package: &serde_json::Value| {
        let all = package["dependencies"].as_array().unwrap();
        all.iter().filter(|dependency| dependency["kind"] != "dev").map(name).collect()
    };
    packages.iter().map(|package| (name(package), normal(package))).collect()
}

#[test]
fn arrows_point_down_only() {
    for (package, dependencies) in dependencies() {
        if BESIDE.contains(&package.as_str()) {
            continue;
        }
        let place = ORDER.iter().position(|name| *name == package);
        let place = place.unwrap_or_else(|| panic!("{package} has no place in the order of the rooms"));
        for dependency in dependencies.iter().filter(|name| name.starts_with("ptyard")) {
            let below = ORDER[..place].contains(&dependency.as_str());
            assert!(below, "forbidden arrow: {package} -> {dependency}");
        }
    }
}

#[test]
fn the_pure_crates_know_no_runtime_and_no_system() {
    let all = dependencies();
    for package in ["ptyard-core", "ptyard-screen", "ptyard-providers"] {
        for dependency in &all[package] {
            let allowed = package == "ptyard-screen" && dependency == "alacritty_terminal";
            assert!(allowed || !NOT_IN_CORE.contains(&dependency.as_str()), "{package} -> {dependency}");
        }
    }
}

#[test]
fn unsafe_stands_in_one_place() {
    let mut offenders = Vec::new();
    for file in rust_files(&root().join("crates")) {
        let text = std::fs::read_to_string(&file).unwrap();
        let inside = file.to_string_lossy().contains("crates/terminal/src/sys/");
        let uses = text.lines().any(|line| {
            let code = line.split("//").next().unwrap_or_default();
            code.contains("unsafe {")
                || code.contains("unsafe fn")
                || code.contains("unsafe impl")
                || code.contains("(unsafe_code")
        });
        if uses && !inside && !file.ends_with("tests/rooms.rs") {
            offenders.push(file);
        }
    }
    assert!(offenders.is_empty(), "unsafe outside crates/terminal/src/sys: {offenders:?}");
}

/// Who reads the wall clock, and what for. Nothing else may: it can be set back by a day.
const WALL_CLOCK: [(&str, &str); 13] = [
    ("terminal/src/clock.rs", "the one place that gives moments, with the wall time for people"),
    ("yard/src/exec.rs", "created_at, for people"),
    ("yard/src/events/mod.rs", "when an event came, for people; events go by number"),
    ("yard/src/events/stream.rs", "the same of a gap"),
    ("yard/src/inbox/send.rs", "when a message was sent, for people; mail goes by number"),
    ("yard/src/inbox/pump.rs", "when it was delivered, for people"),
    ("yard/src/agents/work.rs", "when work was handed off, for people"),
    ("yard/src/flows/calendar.rs", "flows go by the calendar of people"),
    ("terminal/src/wall.rs", "the wait for it"),
    ("server/src/translate/mail.rs", "how old a message is, for people"),
    ("server/src/routes/mail.rs", "the same of a mailbox"),
    (
        "backends/src/modal/api.rs",
        "the vendor dates calls and the ends of tokens; a wrong clock does no harm",
    ),
    ("yard/src/ids.rs", "ids that sort by age, also when the clock was set back"),
];

#[test]
fn only_what_is_for_people_knows_the_wall_clock() {
    let mut readers = Vec::new();
    for file in rust_files(&root().join("crates")) {
        let path = file.to_string_lossy().into_owned();
        let is_product = path.contains("/src/") && !path.contains("/testkit/") && !path.ends_with("tests.rs");
        let text = std::fs::read_to_string(&file).unwrap();
        let product = text.split("#[cfg(test)]").next().unwrap_or_default();
        let reads = ["SystemTime::now", "Timestamp::now", "Zoned::now", "now_v7", "REALTIME", "Realtime"];
        if is_product && reads.iter().any(|read| product.contains(read)) {
            readers.push(path);
        }
    }
    readers.retain(|path| !WALL_CLOCK.iter().any(|(known, _)| path.ends_with(known)));
    assert!(readers.is_empty(), "the wall clock is read in {readers:?}");
}

#[test]
fn files_stay_readable() {
    let mut lines: Vec<usize> = rust_files(&root().join("crates"))
        .iter()
        .map(|file| std::fs::read_to_string(file).unwrap().lines().count())
        .collect();
    lines.sort_unstable();
    assert!(lines[lines.len() / 2] < 250, "the median file has {} lines", lines[lines.len() / 2]);
}

fn rust_files(directory: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for entry in std::fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            files.extend(rust_files(&path));
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            files.push(path);
        }
    }
    files
}
