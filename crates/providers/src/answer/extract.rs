//! Which rows of a transcript are the last answer.

use std::ops::Range;

use unicode_width::UnicodeWidthStr;

use super::reader::Row;
use crate::manifest::{ComposerPlace, Provider};
use crate::rules::term::AnchorIndex;

/// The rows of an answer.
#[derive(Debug)]
pub(super) struct Found {
    pub(super) rows: Range<usize>,
    /// The column its text begins at, in cells.
    pub(super) margin: usize,
    pub(super) partial: bool,
}

/// Where the transcript ends and the composer begins, with what belongs to it.
pub(super) fn bottom(provider: &Provider, rows: &[Row]) -> usize {
    let Some(composer) = &provider.composer else { return rows.len() };
    let last = |anchor: AnchorIndex, before: usize| {
        rows[..before].iter().rposition(|row| row.classes & (1 << anchor) != 0)
    };
    let first = match composer.place {
        ComposerPlace::From { row, .. } => last(row, rows.len()),
        ComposerPlace::Between { top, end } => last(end, rows.len()).and_then(|end| last(top, end)),
        ComposerPlace::Block { row, end } => last(end, rows.len()).map(|end| {
            let is_other = |row_: &Row| row_.classes & (1 << row) == 0;
            rows[..end].iter().rposition(is_other).map_or(0, |before| before + 1)
        }),
    };
    // A box with a message after it is none.
    let user = provider.answer.as_ref().and_then(|answer| last(answer.user, rows.len()));
    let is_from = matches!(composer.place, ComposerPlace::From { .. });
    first
        .filter(|&first| is_from || user.is_none_or(|user| user < first || is_composer(composer, rows, user)))
        .unwrap_or(rows.len())
}

/// Whether a row that looks like a message stands in the composer.
fn is_composer(composer: &crate::manifest::ComposerRule, rows: &[Row], at: usize) -> bool {
    let (ComposerPlace::Between { end, .. } | ComposerPlace::Block { end, .. }) = composer.place else {
        return true;
    };
    rows[at..].iter().any(|row| row.classes & (1 << end) != 0)
}

/// The rows of the last answer; `gap` tells that something before the first row is missing.
pub(super) fn last(provider: &Provider, rows: &[Row], gap: bool) -> Option<Found> {
    let rule = provider.answer.as_ref()?;
    let is = |row: &Row, anchor: AnchorIndex| row.classes & (1 << anchor) != 0;
    let user = rows.iter().rposition(|row| is(row, rule.user));
    if user.is_none() && !gap {
        return None;
    }
    let after_user = user.map_or(0, |user| user + 1);
    let start = match rule.start {
        Some(start) => rows[after_user..].iter().rposition(|row| is(row, start)).map(|at| after_user + at),
        None => Some(after_user),
    };
    let partial = start.is_none();
    let first = match start {
        Some(start) => start,
        // Only when its beginning is gone can an answer be without it.
        None if gap && user.is_none() => after_user,
        None => return None,
    };
    let partial = partial || user.is_none() && rule.start.is_none();
    let body = first + usize::from(rule.start.is_some() && !partial);
    let end =
        rows[body..].iter().position(|row| row.classes & rule.end != 0).map_or(rows.len(), |at| body + at);
    let margin = match &rule.marker {
        Some(marker) if !partial => {
            marker.find(&rows[first].text).map_or(0, |found| rows[first].text[..found.end()].width())
        }
        _ => rows[first..end].iter().filter(|row| !row.text.is_empty()).map(|row| indent(&row.text)).min()?,
    };
    Some(Found { rows: first..end, margin, partial })
}

/// Blanks at the beginning.
pub(super) fn indent(text: &str) -> usize {
    text.len() - text.trim_start_matches(' ').len()
}
