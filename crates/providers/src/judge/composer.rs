//! What stands where input is composed.

use ptyard_screen::View;

use crate::manifest::{ComposerRule, Provider};
use crate::rules::rows::Rows;

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
    /// Text, its rows joined by line feeds.
    Draft(String),
    /// A paste that the program folded to a few words, and the whole text with them.
    Folded(String),
}

impl Composer {
    /// Whether something stands in it.
    #[must_use]
    pub const fn has_text(&self) -> bool {
        matches!(self, Self::Draft(_) | Self::Folded(_))
    }
}

/// Reads the composer of a frame.
pub(super) fn read(provider: &Provider, rows: &Rows, view: &View) -> Composer {
    let Some(rule) = &provider.composer else { return Composer::Unseen };
    let Some(first) = rows.last(rule.row) else { return Composer::Unseen };
    let mut text = String::new();
    let end = rows.len().min(first + MAX_ROWS);
    for at in first..end {
        if at > first && rule.end.is_none_or(|end| rows.is(at, end)) {
            break;
        }
        if at > first {
            text.push('\n');
        }
        text.push_str(own_text(provider, rule, rows, view, at, at == first));
    }
    let text = text.trim();
    if text.is_empty() || rule.placeholder.iter().any(|re| re.is_match(text)) {
        return Composer::Empty;
    }
    let text = text.to_owned();
    if rule.folded.as_ref().is_some_and(|re| re.is_match(&text)) {
        Composer::Folded(text)
    } else {
        Composer::Draft(text)
    }
}

/// The text of a row that may have been typed.
fn own_text<'r>(
    provider: &Provider,
    rule: &ComposerRule,
    rows: &'r Rows,
    view: &View,
    at: usize,
    is_first: bool,
) -> &'r str {
    let row = rows.text(at);
    if rule.dim_is_placeholder && is_placeholder(view, at) {
        return "";
    }
    if !is_first {
        return row.trim();
    }
    let patterns = &provider.anchors[usize::from(rule.row)].any;
    let found = patterns.iter().find_map(|re| re.captures(row)?.get(1));
    found.map_or("", |text| text.as_str().trim())
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
