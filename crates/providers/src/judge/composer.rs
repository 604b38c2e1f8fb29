//! What stands where input is composed.

use std::ops::Range;

use ptyard_screen::View;

use crate::manifest::{ComposerPlace, ComposerRule, Provider};
use crate::rules::rows::Rows;
use crate::rules::term::Term;

/// Most rows of a draft that are read.
const MAX_ROWS: usize = 100;

/// What stands where input is composed.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Composer {
    /// None is to be seen.
    #[default]
    Unseen,
    /// Nothing, or only a placeholder.
    Empty,
    /// This text, its rows joined by line feeds.
    Text(String),
    /// A paste that the program folded to a few words, and nothing else.
    Folded,
}

impl Composer {
    /// Whether something stands in it.
    #[must_use]
    pub const fn has_text(&self) -> bool {
        matches!(self, Self::Text(_) | Self::Folded)
    }
}

/// Reads the composer of a frame.
pub(super) fn read(provider: &Provider, rows: &Rows, view: &View) -> Composer {
    let Some(rule) = &provider.composer else { return Composer::Unseen };
    let Some(place) = place(rule, rows) else { return Composer::Unseen };
    let mut text = String::new();
    for at in place.filter(|&at| !rows.is_any(at, rule.drop)) {
        text.push_str(own_text(rule, rows, view, at));
        text.push('\n');
    }
    let text = text.trim_matches(is_unseen);
    if text.is_empty() || rule.placeholder.iter().any(|re| re.is_match(text)) {
        return Composer::Empty;
    }
    let is_all = |found: regex::Match<'_>| found.range() == (0..text.len());
    if rule.folded.as_ref().and_then(|re| re.find(text)).is_some_and(is_all) {
        Composer::Folded
    } else {
        Composer::Text(text.to_owned())
    }
}

/// Blanks, and the marks that some programs put where the cursor is.
fn is_unseen(c: char) -> bool {
    c.is_whitespace() || matches!(c, '\u{200b}' | '\u{200c}' | '\u{200d}' | '\u{2060}' | '\u{feff}')
}

/// The rows it is.
fn place(rule: &ComposerRule, rows: &Rows) -> Option<Range<usize>> {
    let (first, end) = match rule.place {
        ComposerPlace::From { row, end } => {
            let last = rows.last(row)?;
            if rule.has_cursor && !rows.holds(&Term::CursorOn(row)) {
                return None;
            }
            // Some write their sign before every row of a text.
            let before = (0..last).rev().find(|&at| !rows.is(at, row));
            let first = before.map_or(0, |before| before + 1);
            let is_end = |&at: &usize| end.is_some_and(|end| rows.is(at, end));
            (first, (last + 1..rows.len()).find(is_end).unwrap_or(rows.len()))
        }
        ComposerPlace::Between { top, end } => {
            let end = rows.last(end)?;
            (rows.last_before(top, end)? + 1, end)
        }
        ComposerPlace::Block { row, end } => {
            let end = rows.last(end)?;
            let before = (0..end).rev().find(|&at| !rows.is(at, row));
            (before.map_or(0, |before| before + 1), end)
        }
    };
    Some(first..end.min(first + MAX_ROWS))
}

/// The text of a row that may have been typed.
fn own_text<'r>(rule: &ComposerRule, rows: &'r Rows, view: &View, at: usize) -> &'r str {
    let row = rows.text(at);
    if rule.dim_is_placeholder && is_placeholder(view, at) {
        return "";
    }
    let sign = rule.sign.as_ref().and_then(|sign| sign.find(row)).map_or(0, |sign| sign.end());
    row[sign..].trim_end_matches('│').trim()
}

/// Whether all words of a row but its first sign are dim.
fn is_placeholder(view: &View, at: usize) -> bool {
    let Some(line) = view.screen_lines().get(at) else { return false };
    let mut seen_dim = false;
    let mut skipped_sign = false;
    for (text, style) in line.segments() {
        let words = text.trim();
        if words.is_empty() {
            continue;
        }
        if style.dim {
            seen_dim = true;
        } else if !skipped_sign && words.chars().count() <= 2 {
            skipped_sign = true;
        } else if words.chars().any(char::is_alphanumeric) && !style.reverse {
            return false;
        }
    }
    seen_dim
}
