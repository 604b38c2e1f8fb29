use super::*;

const MINE: &str = r#"
id = "pi"
name = "pi, as I like it"
version = "9.0.0"
engine = 1
[anchors]
prompt = '^>'
[[rules]]
id = "prompt"
status = "ready"
when = ["prompt"]
[[selftest]]
screen = "> "
status = "idle"
rule = "prompt"
"#;

fn found(place: &str, source: &str) -> Found {
    Found { place: place.to_owned(), source: source.to_owned(), origin: Origin::Local }
}

#[test]
fn every_bundled_manifest_passes_its_own_tests_and_stands_under_its_id() {
    let library = Library::bundled().unwrap();
    for (id, provider) in &library.providers {
        assert_eq!(id, provider.id());
    }
    assert!(library.providers.len() >= 20);
}

/// What a manifest says is tried whenever it is loaded, in every edition.
#[test]
fn every_bundled_manifest_has_tests_of_its_own() {
    for (id, source) in BUNDLED {
        let has = |status: &str| source.contains(&format!("[[selftest]]\nstatus = \"{status}\""));
        assert!(has("idle"), "{id}");
        // Of a program of no known kind nothing else is known.
        assert!(has("processing") || *id == "generic", "{id}");
        // pi asks nothing.
        assert!(has("waiting_user_answer") || matches!(*id, "generic" | "pi"), "{id}");
    }
}

#[test]
fn a_manifest_of_this_machine_stands_over_the_bundled_one_until_it_is_gone() {
    let mut library = Library::bundled().unwrap();
    let loaded = Reloaded::Loaded { id: "pi".to_owned(), version: "9.0.0".to_owned() };
    assert_eq!(library.reload(&[found("/p/pi.toml", MINE)]), [loaded]);
    assert_eq!(library.get("pi").unwrap().version(), "9.0.0");
    assert_eq!(library.reload(&[]), []);
    assert_eq!(library.get("pi").unwrap().origin(), Origin::Bundled);
}

#[test]
fn a_broken_edition_leaves_the_last_good_one_in_use_and_says_which_line() {
    let mut library = Library::bundled().unwrap();
    library.reload(&[found("/p/pi.toml", MINE)]);
    let broken = MINE.replace("when = [\"prompt\"]", "when = [\"promt\"]");
    let report = library.reload(&[found("/p/pi.toml", &broken)]);
    let Reloaded::Refused { id, in_use, error, .. } = &report[0] else { panic!("{report:?}") };
    assert_eq!(error.to_string(), "line 11: no anchor is called `promt`");
    assert_eq!((id.as_str(), in_use.as_deref()), ("pi", Some("9.0.0")));
    assert_eq!(library.get("pi").unwrap().version(), "9.0.0");
}

/// Terminals that go by it look at nothing again.
#[test]
fn a_manifest_that_is_as_it_was_stays_the_same_provider() {
    let mut library = Library::bundled().unwrap();
    library.reload(&[found("/p/pi.toml", MINE)]);
    let before = Arc::clone(library.get("pi").unwrap());
    library.reload(&[found("/p/pi.toml", MINE), found("/p/other.toml", "broken")]);
    assert!(Arc::ptr_eq(&before, library.get("pi").unwrap()));
    library.reload(&[found("/p/pi.toml", "broken")]);
    assert!(Arc::ptr_eq(&before, library.get("pi").unwrap()));
    // What came back after that is read again: it may say something else by then.
    library.reload(&[]);
    library.reload(&[found("/p/pi.toml", &MINE.replace("9.0.0", "9.0.1"))]);
    assert_eq!(library.get("pi").unwrap().version(), "9.0.1");
}

#[test]
fn an_edition_that_fails_its_own_test_is_not_used() {
    let mut library = Library::bundled().unwrap();
    let wrong = MINE.replace("screen = \"> \"", "screen = \"busy\"");
    let report = library.reload(&[found("/p/pi.toml", &wrong)]);
    assert!(
        matches!(&report[0], Reloaded::Refused { error, .. } if error.message.contains("a test of its own"))
    );
    assert_eq!(library.get("pi").unwrap().origin(), Origin::Bundled);
}

#[test]
fn files_are_read_by_name_and_a_missing_directory_has_none() {
    let directory = tempfile::tempdir().unwrap();
    assert_eq!(files::read_directory(&directory.path().join("none"), Origin::Local).unwrap(), []);
    std::fs::write(directory.path().join("pi.toml"), MINE).unwrap();
    std::fs::write(directory.path().join("notes.txt"), "no manifest").unwrap();
    let found = files::read_directory(directory.path(), Origin::Local).unwrap();
    assert_eq!(found.len(), 1);
    assert_eq!(files::id_of(&found[0].place), "pi");
}
