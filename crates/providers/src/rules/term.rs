//! Terms: what a rule asks of the screen, in a few words.
//!
//! ```text
//! busy                          some row is of class `busy`
//! no busy                       none is
//! busy in bottom 5              one of the last 5 rows that are not blank is
//! busy in top 3                 one of the first 3 rows that are not blank is
//! busy below prompt             one after the last `prompt` is; without a `prompt` none is
//! busy after prompt             the same; without a `prompt` every row counts
//! busy above rail               one before the last `rail` is
//! 2 option below question       at least two are
//! under 2 prompt below option   at most one is
//! cursor on composer            the row with the cursor, which is shown, is of class `composer`
//! cursor from composer          the cursor is shown on the last `composer` or after it
//! only hint, bar below menu     every row after the last `menu` is blank, or of one of these classes
//! ```

/// A class of rows by its place in the manifest, at most [`MAX_ANCHORS`].
pub(crate) type AnchorIndex = u8;

/// Most classes of rows of a manifest: they are kept as bits.
pub(crate) const MAX_ANCHORS: usize = 64;

/// One condition of a rule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Term {
    Count { at_least: usize, anchor: AnchorIndex, within: Within },
    Under { limit: usize, anchor: AnchorIndex, within: Within },
    CursorOn(AnchorIndex),
    CursorFrom(AnchorIndex),
    Only { anchors: u64, below: AnchorIndex },
}

/// How many rows there have to be.
enum Bound {
    AtLeast(usize),
    Under(usize),
}

/// Which rows count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Within {
    All,
    Bottom(usize),
    Top(usize),
    Below(AnchorIndex),
    After(AnchorIndex),
    Above(AnchorIndex),
}

impl Term {
    /// Reads a term; `anchor` knows the classes by name.
    pub(crate) fn parse(text: &str, anchor: impl Fn(&str) -> Option<AnchorIndex>) -> Result<Self, String> {
        let known = |name: &str| anchor(name).ok_or_else(|| format!("no anchor is called `{name}`"));
        let text = text.trim();
        if let Some(name) = text.strip_prefix("cursor on ") {
            return Ok(Self::CursorOn(known(name.trim())?));
        }
        if let Some(name) = text.strip_prefix("cursor from ") {
            return Ok(Self::CursorFrom(known(name.trim())?));
        }
        if let Some(rest) = text.strip_prefix("only ") {
            let (names, below) = rest.rsplit_once(" below ").ok_or("`only` needs `below` and an anchor")?;
            let mut anchors = 0;
            for name in names.split(',') {
                anchors |= 1 << known(name.trim())?;
            }
            return Ok(Self::Only { anchors, below: known(below.trim())? });
        }
        let words: Vec<&str> = text.split_whitespace().collect();
        let number = |text: &str| match text.parse::<usize>() {
            Ok(number) if number > 0 => Ok(number),
            _ => Err(format!("`{text}` is no number of rows")),
        };
        let is_number = |text: &str| text.starts_with(|c: char| c.is_ascii_digit());
        let (bound, name, rest) = match words[..] {
            ["no", name, ref rest @ ..] => (Bound::Under(1), name, rest),
            ["under", count, name, ref rest @ ..] => (Bound::Under(number(count)?), name, rest),
            [count, name, ref rest @ ..] if is_number(count) => (Bound::AtLeast(number(count)?), name, rest),
            [name, ref rest @ ..] => (Bound::AtLeast(1), name, rest),
            [] => return Err("an empty term".to_owned()),
        };
        let within = match *rest {
            [] => Within::All,
            ["in", "bottom", rows] => Within::Bottom(number(rows)?),
            ["in", "top", rows] => Within::Top(number(rows)?),
            ["below", name] => Within::Below(known(name)?),
            ["after", name] => Within::After(known(name)?),
            ["above", name] => Within::Above(known(name)?),
            _ => return Err(format!("`{}` says no place", rest.join(" "))),
        };
        let anchor = known(name)?;
        Ok(match bound {
            Bound::Under(limit) => Self::Under { limit, anchor, within },
            Bound::AtLeast(at_least) => Self::Count { at_least, anchor, within },
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<Term, String> {
        Term::parse(text, |name| ["busy", "prompt", "bar"].iter().position(|&n| n == name).map(|i| i as u8))
    }

    #[test]
    fn terms_are_read() {
        assert_eq!(parse("busy"), Ok(Term::Count { at_least: 1, anchor: 0, within: Within::All }));
        assert_eq!(
            parse("no busy below prompt"),
            Ok(Term::Under { limit: 1, anchor: 0, within: Within::Below(1) })
        );
        assert_eq!(
            parse("2 bar in bottom 7"),
            Ok(Term::Count { at_least: 2, anchor: 2, within: Within::Bottom(7) })
        );
        assert_eq!(parse("cursor on prompt"), Ok(Term::CursorOn(1)));
        assert_eq!(parse("only busy, bar below prompt"), Ok(Term::Only { anchors: 0b101, below: 1 }));
    }

    #[test]
    fn what_is_no_term_says_why() {
        assert_eq!(parse("buzy"), Err("no anchor is called `buzy`".to_owned()));
        assert_eq!(parse("busy somewhere"), Err("`somewhere` says no place".to_owned()));
        assert_eq!(parse("busy in bottom x"), Err("`x` is no number of rows".to_owned()));
        assert_eq!(parse("only busy"), Err("`only` needs `below` and an anchor".to_owned()));
        assert_eq!(parse(" "), Err("an empty term".to_owned()));
    }
}
