//! Databases that are damaged, newer or of something else.

use std::fs;
use std::os::unix::fs::{FileExt, PermissionsExt};

use ptyard_core::ErrorCode;
use ptyard_store::Inbox;
use ptyard_store::sqlite::SqliteStore;
use rusqlite::Connection;

use crate::support::{Place, message, wait};

/// A database with some pages, closed.
fn filled() -> (tempfile::TempDir, std::path::PathBuf) {
    let place = Place::new();
    for _ in 0..60 {
        wait(place.store.post(message(1, &"text ".repeat(200)))).unwrap();
    }
    let path = place.store.path().to_owned();
    let Place { directory, store } = place;
    drop(store);
    (directory, path)
}

#[test]
fn a_damaged_database_is_refused_with_its_path_and_left_as_it_is() {
    type Harm = fn(&std::path::Path, u64);
    let harms: [(&str, Harm); 4] = [
        ("its head is gone", |path, _| {
            fs::OpenOptions::new().write(true).open(path).unwrap().write_all_at(&[0xAA; 64], 0).unwrap();
        }),
        ("it is cut short", |path, len| {
            fs::OpenOptions::new().write(true).open(path).unwrap().set_len(len / 2).unwrap();
        }),
        ("pages in the middle are noise", |path, len| {
            let file = fs::OpenOptions::new().write(true).open(path).unwrap();
            for at in (4_096 * 3..len).step_by(4_096) {
                file.write_all_at(&[0x5A; 200], at).unwrap();
            }
        }),
        ("it is a text", |path, _| fs::write(path, "this is my shopping list\n".repeat(100)).unwrap()),
    ];
    for (what, harm) in harms {
        let (_directory, path) = filled();
        harm(&path, fs::metadata(&path).unwrap().len());
        let before = fs::read(&path).unwrap();
        let error = SqliteStore::open(&path).err().unwrap_or_else(|| panic!("{what}: opened"));
        assert_eq!(error.code(), ErrorCode::StoreDamaged, "{what}: {error}");
        assert!(error.to_string().contains(path.to_str().unwrap()), "{what}: {error}");
        assert!(!error.code().hint().is_empty());
        assert_eq!(fs::read(&path).unwrap(), before, "{what}: it was changed");
    }
}

#[test]
fn a_database_of_a_newer_version_is_refused_and_left_as_it_is() {
    let (_directory, path) = filled();
    let connection = Connection::open(&path).unwrap();
    connection.execute("INSERT INTO schema_version VALUES (99, '7.0.0')", []).unwrap();
    drop(connection);
    let error = SqliteStore::open(&path).err().unwrap();
    assert_eq!(error.code(), ErrorCode::StoreNewer);
    let said = error.to_string();
    assert!(said.contains("7.0.0 (schema 99)") && said.contains(env!("CARGO_PKG_VERSION")), "{said}");
    let connection = Connection::open(&path).unwrap();
    let count: i64 = connection.query_row("SELECT count(*) FROM message", [], |row| row.get(0)).unwrap();
    assert_eq!(count, 60);
}

#[test]
fn a_database_of_something_else_is_refused_and_left_as_it_is() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("ptyard.db");
    Connection::open(&path).unwrap().execute_batch("CREATE TABLE song (name TEXT)").unwrap();
    let before = fs::read(&path).unwrap();
    let error = SqliteStore::open(&path).err().unwrap();
    assert!(error.to_string().contains("not a database of ptyard"), "{error}");
    assert_eq!(fs::read(&path).unwrap(), before);
}

#[test]
fn modes_that_were_too_wide_are_narrowed() {
    let (_directory, path) = filled();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).unwrap();
    let _store = SqliteStore::open(&path).unwrap();
    assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
}

#[test]
fn a_place_that_cannot_be_written_is_told_with_its_path() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("missing/ptyard.db");
    let error = SqliteStore::open(&path).err().unwrap();
    assert_eq!(error.code(), ErrorCode::StateUnwritable);
    assert!(error.to_string().contains("missing/ptyard.db"), "{error}");
}
