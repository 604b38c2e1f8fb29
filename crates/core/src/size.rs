//! The size of a terminal.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// Columns and rows of a terminal, each within [`Size::MIN_COLS`]`..=`[`Size::MAX`] and
/// [`Size::MIN_ROWS`]`..=`[`Size::MAX`].
///
/// Written `COLSxROWS`. One-column screens are refused: wide characters cannot be drawn in them, and the
/// emulators in the field panic or spin on them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "RawSize")]
pub struct Size {
    cols: u16,
    rows: u16,
}

#[derive(Deserialize)]
struct RawSize {
    cols: i64,
    rows: i64,
}

/// Why a size was refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "{given} is not a size: columns must be {}..={max}, rows {}..={max}",
    Size::MIN_COLS,
    Size::MIN_ROWS,
    max = Size::MAX
)]
pub struct SizeError {
    given: String,
}

impl Size {
    /// Fewest columns: a wide character needs two.
    pub const MIN_COLS: u16 = 2;
    /// Fewest rows.
    pub const MIN_ROWS: u16 = 1;
    /// Most columns, and most rows. A 1000x1000 grid costs about 24 MB while it is looked at.
    pub const MAX: u16 = 1000;
    /// The size of a terminal nobody gave a size: 80x24, what programs fall back to themselves.
    pub const DEFAULT: Self = Self { cols: 80, rows: 24 };

    /// A size of `cols` columns and `rows` rows, refused outside the limits.
    pub fn new(cols: i64, rows: i64) -> Result<Self, SizeError> {
        match (u16::try_from(cols), u16::try_from(rows)) {
            (Ok(c), Ok(r))
                if (Self::MIN_COLS..=Self::MAX).contains(&c) && (Self::MIN_ROWS..=Self::MAX).contains(&r) =>
            {
                Ok(Self { cols: c, rows: r })
            }
            _ => Err(SizeError { given: format!("{cols}x{rows}") }),
        }
    }

    /// Columns.
    #[must_use]
    pub const fn cols(self) -> u16 {
        self.cols
    }

    /// Rows.
    #[must_use]
    pub const fn rows(self) -> u16 {
        self.rows
    }
}

impl Default for Size {
    fn default() -> Self {
        Self::DEFAULT
    }
}

impl fmt::Display for Size {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}x{}", self.cols, self.rows)
    }
}

impl FromStr for Size {
    type Err = SizeError;
    fn from_str(s: &str) -> Result<Self, SizeError> {
        let refused = || SizeError { given: s.to_owned() };
        let (cols, rows) = s.split_once(['x', 'X']).ok_or_else(refused)?;
        Self::new(cols.parse().map_err(|_| refused())?, rows.parse().map_err(|_| refused())?)
            .map_err(|_| refused())
    }
}

impl TryFrom<RawSize> for Size {
    type Error = SizeError;
    fn try_from(raw: RawSize) -> Result<Self, SizeError> {
        Self::new(raw.cols, raw.rows)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_outside_the_limits_are_refused_with_what_was_given() {
        for bad in
            ["0x0", "1x1", "1x24", "65535x65535", "-5x3", "80", "80x", "x24", "80x24x3", "80 x 24", "ax24"]
        {
            let error = bad.parse::<Size>().unwrap_err();
            assert!(error.to_string().starts_with(bad), "{error}");
        }
    }

    #[test]
    fn sizes_round_trip_as_text() {
        assert_eq!("132x50".parse::<Size>().unwrap().to_string(), "132x50");
        assert_eq!("2x1".parse::<Size>().unwrap(), Size::new(2, 1).unwrap());
    }
}
