//! What the suite found, held to the table that people read.

use std::fmt::Write;
use std::path::{Path, PathBuf};

use super::{CASES, Verdict};

/// What one backend came to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Column {
    /// The backend.
    pub label: &'static str,
    /// Its cases.
    pub verdicts: Vec<(&'static str, Verdict)>,
}

/// The page with the table.
fn page() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/BACKENDS.md")
}

/// Between these lines of the page the table stands; the suite writes it.
const BEGIN: &str = "<!-- conformance: written by the suite -->";
const END: &str = "<!-- /conformance -->";

impl Column {
    /// Whether every case was run.
    #[must_use]
    pub fn is_whole(&self) -> bool {
        self.verdicts.len() == CASES.len()
    }

    /// Holds this to the table in `docs/BACKENDS.md`; with `UPDATE` in the environment the table is changed instead. A
    /// column that was run in part says nothing.
    ///
    /// # Panics
    /// When the table says something else, or cannot be read.
    pub fn hold_to_page(&self) {
        if !self.is_whole() {
            return;
        }
        let text = std::fs::read_to_string(page()).expect("docs/BACKENDS.md can be read");
        let (before, rest) = text.split_once(BEGIN).expect("the page has a place for the table");
        let (old, after) = rest.split_once(END).expect("the table has an end");
        let new = self.put_into(old);
        if std::env::var_os("UPDATE").is_some() {
            let text = format!("{before}{BEGIN}\n{new}{END}{after}");
            std::fs::write(page(), text).expect("docs/BACKENDS.md can be written");
        } else {
            assert_eq!(
                old.trim(),
                new.trim(),
                "docs/BACKENDS.md says something else of {}; UPDATE=1 changes it",
                self.label
            );
        }
    }

    /// The table with this column in its place, or behind the others.
    fn put_into(&self, table: &str) -> String {
        let cells = |line: &str| -> Vec<String> {
            line.trim().trim_matches('|').split('|').map(|cell| cell.trim().to_owned()).collect()
        };
        let rows: Vec<Vec<String>> = table
            .lines()
            .filter(|line| line.starts_with('|') && !line.starts_with("|--"))
            .map(cells)
            .collect();
        let mut labels = rows.first().cloned().unwrap_or_else(|| vec!["case".to_owned()]);
        let label = format!("`{}`", self.label);
        let at = labels.iter().position(|known| *known == label).unwrap_or_else(|| {
            labels.push(label);
            labels.len() - 1
        });
        let mut text = format!("| {} |\n|{}\n", labels.join(" | "), "---|".repeat(labels.len()));
        for case in CASES {
            let name = case.name.replace('_', " ");
            let mut row = rows.iter().find(|row| row[0] == name).cloned().unwrap_or_else(|| vec![name]);
            row.resize(labels.len(), "not run".to_owned());
            if let Some((_, verdict)) = self.verdicts.iter().find(|(known, _)| *known == case.name) {
                row[at] = verdict.to_string();
            }
            let _infallible = writeln!(text, "| {} |", row.join(" | "));
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_column_takes_its_place_and_leaves_the_others() {
        let all = |label, verdict| Column {
            label,
            verdicts: CASES.iter().map(|case| (case.name, verdict)).collect(),
        };
        let one = all("one", Verdict::Works).put_into("");
        let both = all("two", Verdict::Refused).put_into(&one);
        assert!(both.starts_with("| case | `one` | `two` |\n|---|---|---|\n| law 01 "), "{both}");
        assert!(both.lines().nth(2).is_some_and(|row| row.ends_with("| yes | refused |")), "{both}");
        assert_eq!(all("one", Verdict::Works).put_into(&both), both);
    }
}
