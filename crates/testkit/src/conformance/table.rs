//! What the suite found, as a table for people.

use std::fmt::Write;

use super::{CASES, Verdict};

/// What one backend came to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Column {
    /// The backend.
    pub label: &'static str,
    /// Its cases.
    pub verdicts: Vec<(&'static str, Verdict)>,
}

/// The cases in Markdown, one column per backend.
#[must_use]
pub fn table(columns: &[Column]) -> String {
    let mut text = String::from("| case |");
    for column in columns {
        let _infallible = write!(text, " `{}` |", column.label);
    }
    text += "\n|---|";
    text += &"---|".repeat(columns.len());
    text.push('\n');
    for case in CASES {
        let _infallible = write!(text, "| {} |", case.name.replace('_', " "));
        for column in columns {
            let verdict = column.verdicts.iter().find(|(name, _)| *name == case.name);
            let _infallible = match verdict {
                Some((_, verdict)) => write!(text, " {verdict} |"),
                None => write!(text, " not run |"),
            };
        }
        text.push('\n');
    }
    text
}
