//! `docs/COMPATIBILITY.md`: each row names tests that are there and that run.

use std::fs;
use std::path::{Path, PathBuf};

/// How something is, and whether a test must show it.
const HOW: [&str; 4] = ["same", "better", "other", "missing"];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The rows of the tables: what, how, and the tests.
fn rows(page: &str) -> Vec<(&str, &str, Vec<&str>)> {
    let tables = page.lines().filter(|line| line.starts_with("| ") && *line != "| what | how | shown by |");
    tables
        .map(|line| {
            let cells: Vec<_> = line.trim_matches(['|', ' ']).split(" | ").collect();
            let [what, how, shown] = cells[..] else { panic!("a row has three cells: {line}") };
            (what, how, shown.split('`').skip(1).step_by(2).collect())
        })
        .collect()
}

/// Whether `room/file::test` is a test that runs.
fn is_there(reference: &str) -> bool {
    let Some((file, test)) = reference.rsplit_once("::") else { return false };
    let read = |path: PathBuf| fs::read_to_string(path).unwrap_or_default();
    if let Some(module) = file.strip_prefix("python/") {
        return read(root().join(format!("python/tests/{module}.py"))).contains(&format!("\ndef {test}("));
    }
    if file == "real/host" {
        // Named in the list of each CLI that it is for.
        let listed = read(root().join("crates/ptyard/tests/real/main.rs"));
        let mut lists = listed.split("scenes!(").filter(|list| list.contains("cfg(target_os"));
        let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
        return lists.any(|list| list.split(|c| !is_word(c)).any(|word| word == test));
    }
    let crates = fs::read_dir(root().join("crates")).unwrap().map(|one| one.unwrap().path());
    crates.map(|one| read(one.join(format!("tests/{file}.rs")))).any(|text| runs(&text, test))
}

/// Whether a file has a test of this name that is not left out.
fn runs(text: &str, test: &str) -> bool {
    let Some((before, _)) = text.split_once(&format!("fn {test}(")) else { return false };
    let attributes = before.rsplit_once("\n\n").map_or(before, |(_, last)| last);
    attributes.contains("test]") && !attributes.contains("#[ignore")
}

#[test]
fn every_row_names_tests_that_are_there_and_run() {
    let page = fs::read_to_string(root().join("docs/COMPATIBILITY.md")).unwrap();
    let rows = rows(&page);
    assert!(rows.len() > 30, "{} rows", rows.len());
    for (what, how, tests) in rows {
        assert!(HOW.contains(&how), "{what}: {how:?} is none of {HOW:?}");
        assert!(!tests.is_empty(), "{what}: no test shows it");
        for test in tests {
            assert!(is_there(test), "{what}: there is no test {test} that runs");
        }
    }
}

#[test]
fn a_test_that_is_not_there_or_left_out_is_found() {
    let text = "\n\n#[test]\nfn runs() {}\n\n#[ignore = \"slow\"]\n#[tokio::test]\nasync fn waits() {}\n\nfn helper() {}\n";
    assert!(runs(text, "runs") && !runs(text, "waits") && !runs(text, "helper") && !runs(text, "run"));
    for gone in [
        "cao/commands::nothing",
        "nowhere/at_all::nothing",
        "python/test_agent::test_nothing",
        "real/host::nothing",
    ] {
        assert!(!is_there(gone), "{gone}");
    }
}
