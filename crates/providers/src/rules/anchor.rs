//! Classes of rows.

use ptyard_screen::Line;
use ptyard_screen::screen::Colour;
use regex::{Regex, RegexBuilder};

/// Longest pattern, in bytes: rows are short, and so are things to look for in them.
pub(crate) const MAX_PATTERN: usize = 512;

/// Largest compiled pattern, in bytes.
const MAX_COMPILED: usize = 1 << 20;

/// A class of rows: those that match one pattern of `any` and none of `not`.
#[derive(Debug, Clone)]
pub(crate) struct Anchor {
    pub(crate) name: Box<str>,
    pub(crate) any: Vec<Regex>,
    pub(crate) not: Vec<Regex>,
    /// Whether its text has to stand on a background of its own, or must not.
    pub(crate) filled: Option<bool>,
}

impl Anchor {
    /// Whether a row is of this class. Blanks at its end are cut off.
    pub(crate) fn is_match(&self, row: &str, is_filled: bool) -> bool {
        self.filled.is_none_or(|filled| filled == is_filled)
            && self.any.iter().any(|re| re.is_match(row))
            && !self.not.iter().any(|re| re.is_match(row))
    }
}

/// Whether the text of a row stands on a background of its own.
pub(crate) fn is_filled(line: &Line) -> bool {
    let mut words = line.segments().filter(|(text, _)| !text.trim().is_empty());
    words.next().is_some_and(|(_, style)| style.background != Colour::Default)
}

/// The classes of a row, one bit for each.
pub(crate) fn classes(text: &str, is_filled: bool, anchors: &[Anchor]) -> u64 {
    let is_of = |(_, anchor): &(usize, &Anchor)| anchor.is_match(text, is_filled);
    anchors.iter().enumerate().filter(is_of).map(|(at, _)| 1 << at).sum()
}

/// Compiles a pattern. Patterns run in time linear in the row, whatever they are.
pub(crate) fn compile(pattern: &str) -> Result<Regex, String> {
    if pattern.len() > MAX_PATTERN {
        return Err(format!("a pattern of {} bytes; at most {MAX_PATTERN} are taken", pattern.len()));
    }
    RegexBuilder::new(pattern).size_limit(MAX_COMPILED).build().map_err(|error| {
        // The last line of the text names the error, the others draw it.
        let text = error.to_string();
        text.lines().last().unwrap_or_default().trim().to_owned()
    })
}
