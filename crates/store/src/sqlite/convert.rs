//! Between the columns and the types.

use std::str::FromStr;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use rusqlite::types::Type;
use rusqlite::{Error, Row};

/// Milliseconds since 1970; before that, negative.
pub(super) fn millis(at: SystemTime) -> i64 {
    let count = |span: Duration| i64::try_from(span.as_millis()).unwrap_or(i64::MAX);
    match at.duration_since(UNIX_EPOCH) {
        Ok(after) => count(after),
        Err(before) => -count(before.duration()),
    }
}

/// The time of [`millis`].
pub(super) fn time(millis: i64) -> SystemTime {
    let span = Duration::from_millis(millis.unsigned_abs());
    if millis < 0 { UNIX_EPOCH - span } else { UNIX_EPOCH + span }
}

/// A number as a column holds it. Offsets and counters stay far below 2^63.
pub(super) fn signed(n: u64) -> i64 {
    i64::try_from(n).unwrap_or(i64::MAX)
}

/// A number of a column.
pub(super) fn unsigned(n: i64) -> u64 {
    u64::try_from(n).unwrap_or(0)
}

/// A column that was written by an id's `Display`, or by a word's.
pub(super) fn parsed<T: FromStr>(row: &Row<'_>, column: &str) -> Result<T, Error> {
    let text: String = row.get(column)?;
    text.parse().map_err(|_unparsed| unreadable(row, column, &text))
}

/// The same of one that may be missing.
pub(super) fn parsed_if_any<T: FromStr>(row: &Row<'_>, column: &str) -> Result<Option<T>, Error> {
    let text: Option<String> = row.get(column)?;
    text.map(|text| text.parse().map_err(|_unparsed| unreadable(row, column, &text))).transpose()
}

/// A column of words.
pub(super) fn word<T>(row: &Row<'_>, column: &str, of_word: impl Fn(&str) -> Option<T>) -> Result<T, Error> {
    let text: String = row.get(column)?;
    of_word(&text).ok_or_else(|| unreadable(row, column, &text))
}

/// A column of words that may be missing.
pub(super) fn word_if_any<T>(
    row: &Row<'_>,
    column: &str,
    of_word: impl Fn(&str) -> Option<T>,
) -> Result<Option<T>, Error> {
    let text: Option<String> = row.get(column)?;
    text.map(|text| of_word(&text).ok_or_else(|| unreadable(row, column, &text))).transpose()
}

fn unreadable(row: &Row<'_>, column: &str, text: &str) -> Error {
    let index = row.as_ref().column_index(column).unwrap_or_default();
    Error::FromSqlConversionFailure(index, Type::Text, format!("{column} is {text:?}").into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_come_back_to_the_millisecond_also_before_1970() {
        for at in [0, 1, -1, 1_700_000_000_123, i64::MAX / 2] {
            assert_eq!(millis(time(at)), at);
        }
    }
}
