//! From rows back to what was written.
//!
//! Programs draw Markdown: they indent it, wrap it and put other bullets on it. The rule that takes this back:
//!
//! 1. The margin is cut off, with the marker on the first row.
//! 2. A row that the terminal wrapped goes on in the next one. A row of words that is so full that the next word
//!    had no room goes on with a blank.
//! 3. `•` at the beginning of an item is `-`. A list whose every item is indented is moved to the margin.
//! 4. Blank lines at both ends are no part of it; more than one between two lines stay.

use unicode_width::UnicodeWidthStr;

use super::extract::indent;
use super::reader::Row;
use crate::manifest::AnswerRule;

/// Bullets that stand for `-`.
const BULLETS: [char; 4] = ['•', '‣', '◦', '▪'];

/// The text of an answer's rows, whose text begins at cell `margin` of `cols`.
pub(super) fn of(rows: &[Row], margin: usize, cols: usize, rule: &AnswerRule) -> String {
    let mut lines: Vec<Piece> = Vec::new();
    let mut goes_on = false;
    for (at, row) in rows.iter().enumerate() {
        if row.classes & rule.drop != 0 {
            continue;
        }
        let cut = rule.cut.as_ref().and_then(|cut| cut.find(&row.text)).map(|found| found.start());
        let row_text = row.text[..cut.unwrap_or(row.text.len())].trim_end();
        let marker = rule.marker.as_ref().filter(|_| at == 0);
        let text = match marker.and_then(|marker| marker.find(row_text)) {
            Some(found) => &row_text[found.end()..],
            None if goes_on => row_text,
            None => &row_text[indent(row_text).min(margin)..],
        };
        match lines.last_mut() {
            Some(line) if goes_on => line.text.push_str(text),
            Some(line) if line.is_full(text, margin, cols) => {
                line.text.push(' ');
                line.text.push_str(text.trim_start());
                line.last_row = text.width();
            }
            _ => lines.push(Piece { text: text.to_owned(), last_row: text.width() }),
        }
        goes_on = row.wrapped;
    }
    let mut lines: Vec<String> = lines.into_iter().map(|line| bullet(line.text)).collect();
    move_lists(&mut lines);
    lines.join("\n").trim_matches('\n').trim_end().to_owned()
}

/// A line that is put together.
struct Piece {
    text: String,
    /// Cells of the row it was put together from last.
    last_row: usize,
}

impl Piece {
    /// Whether the first word of `next` had no room behind it.
    fn is_full(&self, next: &str, margin: usize, cols: usize) -> bool {
        let Some(word) = next.split_whitespace().next() else { return false };
        let is_item = word == "-"
            || word.chars().all(|c| BULLETS.contains(&c))
            || word.ends_with('.') && word.len() < 4;
        let has_words = self.text.contains(' ') && !self.text.trim().is_empty();
        // The right margin is as wide as the left one, or two cells.
        let room = cols.saturating_sub(margin + margin.max(2));
        has_words && !is_item && self.last_row + 1 + word.width() > room
    }
}

fn bullet(line: String) -> String {
    let at = indent(&line);
    let mut rest = line[at..].chars();
    match (rest.next(), rest.next()) {
        (Some(sign), Some(' ')) if BULLETS.contains(&sign) => {
            format!("{}-{}", &line[..at], rest_after(&line, at, sign))
        }
        _ => line,
    }
}

fn rest_after(line: &str, at: usize, sign: char) -> &str {
    &line[at + sign.len_utf8()..]
}

/// Moves every list whose items are all indented by one to three blanks to the margin.
fn move_lists(lines: &mut [String]) {
    let mut at = 0;
    while at < lines.len() {
        let is_list = |line: &String| line.starts_with(' ') && !line.trim().is_empty();
        if !is_list(&lines[at]) || !is_item(&lines[at]) {
            at += 1;
            continue;
        }
        let end = lines[at..].iter().position(|line| !is_list(line)).map_or(lines.len(), |len| at + len);
        let by = lines[at..end].iter().map(|line| indent(line)).min().unwrap_or(0);
        if by <= 3 {
            for line in &mut lines[at..end] {
                line.drain(..by);
            }
        }
        at = end;
    }
}

fn is_item(line: &str) -> bool {
    let line = line.trim_start();
    let numbered =
        line.split_once(". ").is_some_and(|(n, _)| !n.is_empty() && n.chars().all(|c| c.is_ascii_digit()));
    line.starts_with("- ") || line.starts_with("* ") || numbered
}
