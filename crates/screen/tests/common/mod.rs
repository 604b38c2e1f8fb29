//! Shared by the tests of the screen.
#![allow(dead_code, reason = "each test binary uses a part")]
#![expect(clippy::unwrap_used, reason = "these are tests; the lint knows only test functions")]

use ptyard_core::{Moment, Size};
use ptyard_screen::{DEFAULT_SCROLLBACK_LINES, Screen, View, new_screen};

pub(crate) fn size(cols: u16, rows: u16) -> Size {
    Size::new(cols.into(), rows.into()).unwrap()
}

pub(crate) fn screen(cols: u16, rows: u16) -> Box<dyn Screen> {
    new_screen(size(cols, rows), DEFAULT_SCROLLBACK_LINES)
}

/// A screen that was fed `bytes`, and looked at long after.
pub(crate) fn view(cols: u16, rows: u16, bytes: impl AsRef<[u8]>) -> View {
    let mut screen = screen(cols, rows);
    screen.feed(bytes.as_ref(), Moment::EPOCH);
    screen.view(usize::MAX, Moment::from_millis(10_000))
}

/// The rows on the screen.
pub(crate) fn rows(view: &View) -> Vec<&str> {
    view.screen_lines().iter().map(|line| line.text.as_str()).collect()
}

/// The output events of a recorded session, with their times in milliseconds.
pub(crate) fn recording(text: &str) -> (Size, Vec<(u64, Vec<u8>)>) {
    let mut lines = text.lines();
    let header: serde_json::Value = serde_json::from_str(lines.next().unwrap()).unwrap();
    let size = Size::new(header["width"].as_i64().unwrap(), header["height"].as_i64().unwrap()).unwrap();
    let events = lines
        .map(|line| serde_json::from_str::<(f64, String, String)>(line).unwrap())
        .filter(|(_, kind, _)| kind == "o")
        .map(|(seconds, _, text)| ((seconds * 1000.0) as u64, text.into_bytes()))
        .collect();
    (size, events)
}

/// Every recording in the test data, by name.
pub(crate) fn recordings() -> Vec<(String, String)> {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data");
    let mut found: Vec<_> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "cast"))
        .map(|path| {
            (path.file_stem().unwrap().to_str().unwrap().to_owned(), std::fs::read_to_string(path).unwrap())
        })
        .collect();
    found.sort();
    found
}
