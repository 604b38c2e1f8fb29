//! A pattern looked for in text that comes in pieces.

use super::Pattern;
use crate::plain::Plain;

/// Longest match that is found whatever the pieces: 64 KiB of plain text.
///
/// That is some 500 lines, more than any expected answer; a match that needs more than this to be told is not found.
pub const MATCH_SPAN_BYTES: usize = 64 * 1024;

/// Looks for the first match of a pattern in new output.
///
/// Text is kept until it was searched and can no longer be part of a later match. Searching is put off until somebody
/// asks or a span of text has gathered, so small pieces cost no search each.
///
/// # Invariants
/// 1. `text` is at most two spans, and one character before them.
/// 2. Text before `begin` was dropped from the search but for being looked back at: `^`, `\A` and `\b` see that something
///    came before.
/// 3. Any match of at most one span that ends after what was searched lies in `text[begin..]`.
#[derive(Debug, Clone)]
pub(super) struct Matcher {
    pattern: Pattern,
    plain: Plain,
    text: String,
    begin: usize,
    searched: Searched,
    matched: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Searched {
    All,
    NotAll,
}

impl Matcher {
    pub(super) const fn new(pattern: Pattern) -> Self {
        Self {
            pattern,
            plain: Plain::new(),
            text: String::new(),
            begin: 0,
            searched: Searched::All,
            matched: None,
        }
    }

    /// Text before the new output: it is not searched, but an escape sequence can begin in it.
    pub(super) fn skip(&mut self, text: &str) {
        if self.matched.is_none() {
            let mut unused = String::new();
            for piece in pieces(text) {
                unused.clear();
                self.plain.feed(piece, &mut unused);
            }
        }
    }

    /// New output.
    pub(super) fn push(&mut self, text: &str) {
        for piece in pieces(text) {
            if self.matched.is_some() {
                return;
            }
            let before = self.text.len();
            self.plain.feed(piece, &mut self.text);
            if self.text.len() > before {
                self.searched = Searched::NotAll;
            }
            if self.text.len() - self.begin > 2 * MATCH_SPAN_BYTES - PIECE_BYTES {
                self.search();
            }
            debug_assert!(self.text.len() <= 2 * MATCH_SPAN_BYTES + 4, "invariant 1");
        }
    }

    /// Bytes are missing here: nothing after continues a sequence or a match from before.
    pub(super) fn gap(&mut self) {
        self.search();
        self.plain.reset();
        self.text.clear();
        self.begin = 0;
    }

    /// Whether the pattern has matched by now.
    pub(super) fn has_matched(&mut self) -> bool {
        self.search();
        self.matched.is_some()
    }

    /// The match that was found, if one was.
    pub(super) fn into_matched(self) -> Option<String> {
        self.matched
    }

    fn search(&mut self) {
        if self.matched.is_none() && self.searched == Searched::NotAll {
            self.searched = Searched::All;
            let found = self.pattern.regex().find_at(&self.text, self.begin);
            self.matched = found.map(|found| found.as_str().to_owned());
            if self.text.len() - self.begin > MATCH_SPAN_BYTES + PIECE_BYTES {
                self.drop_searched();
            }
        }
    }

    /// Drops what no later match of a span can contain.
    fn drop_searched(&mut self) {
        let keep = self.text.len().saturating_sub(MATCH_SPAN_BYTES);
        let begin = self.text.floor_char_boundary(keep);
        if let Some(look_back) = self.text[..begin].chars().next_back() {
            self.text.drain(..begin - look_back.len_utf8());
            self.begin = look_back.len_utf8();
        }
    }
}

/// Text is taken in pieces of this size, which bounds what is kept.
const PIECE_BYTES: usize = 16 * 1024;

/// `text` in pieces of at most [`PIECE_BYTES`].
fn pieces(mut text: &str) -> impl Iterator<Item = &str> {
    std::iter::from_fn(move || {
        if text.is_empty() {
            return None;
        }
        let (piece, rest) = text.split_at(text.floor_char_boundary(PIECE_BYTES));
        text = rest;
        Some(piece)
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    impl Matcher {
        fn matched(&mut self) -> Option<&str> {
            self.search();
            self.matched.as_deref()
        }
    }

    fn matcher(pattern: &str) -> Matcher {
        Matcher::new(Pattern::new(pattern).unwrap())
    }

    #[test]
    fn a_match_is_found_across_pieces_and_escapes() {
        let mut m = matcher("pass(word|phrase): $");
        for piece in ["Enter \x1b[1mpa", "sswo\x1b", "[0m", "rd", ":"] {
            m.push(piece);
            assert_eq!(m.matched(), None, "{piece:?}");
        }
        m.push(" ");
        assert_eq!(m.matched(), Some("password: "));
    }

    #[test]
    fn a_match_of_a_span_is_found_after_a_flood() {
        let flood = "x".repeat(1_000_000);
        let long = format!("<{}>", "y".repeat(MATCH_SPAN_BYTES - 2));
        for size in [1_000, 4_096, 100_000, 3_000_000] {
            let mut m = matcher("<y*>");
            let text = format!("{flood}{long}{flood}");
            for piece in text.as_bytes().chunks(size) {
                m.push(str::from_utf8(piece).unwrap());
            }
            assert_eq!(m.matched().map(str::len), Some(MATCH_SPAN_BYTES), "pieces of {size}");
        }
    }

    #[test]
    fn dropped_text_is_still_before_what_follows() {
        for pattern in ["^xx", r"\Ax", r"\bx"] {
            let mut m = matcher(pattern);
            m.push("y");
            for _ in 0..100 {
                m.push(&"x".repeat(5_000));
                assert_eq!(m.matched(), None, "{pattern}");
            }
        }
    }

    #[test]
    fn lines_may_end_with_crlf() {
        let mut m = matcher("^done$");
        m.push("not done\r\ndone\r\n");
        assert_eq!(m.matched(), Some("done"));
    }

    #[test]
    fn nothing_matches_nothing() {
        let mut m = matcher("x*");
        m.push("\x1b[31m");
        assert_eq!(m.matched(), None, "no text came");
        m.push("y");
        assert_eq!(m.matched(), Some(""));
    }

    #[test]
    fn a_gap_joins_nothing() {
        let mut m = matcher("ab");
        m.push("a");
        m.gap();
        m.push("b");
        assert_eq!(m.matched(), None);
        m.push("\x1b]title");
        m.gap();
        m.push("ab");
        assert_eq!(m.matched(), Some("ab"), "the string that hid it was cut off");
    }

    #[test]
    fn a_match_before_a_gap_counts() {
        let mut m = matcher("ab");
        m.push("ab");
        m.gap();
        assert_eq!(m.matched(), Some("ab"));
    }

    proptest! {
        #[test]
        fn any_pieces_find_what_the_whole_has(
            pieces in prop::collection::vec("[abc\n\u{1B}\\[m1é]{0,6}", 0..12),
            pattern in prop::sample::select(vec!["ab+c", "^a", r"b\nc", r"\bc\w", "é[^c]a", r"(?s)a.*c", "b|ca"]),
            looks in prop::collection::vec(any::<bool>(), 12),
        ) {
            let mut m = matcher(pattern);
            for (piece, look) in pieces.iter().zip(looks) {
                m.push(piece);
                if look {
                    m.matched();
                }
            }
            let whole = crate::plain::strip(&pieces.concat());
            prop_assert_eq!(m.matched().is_some(), Pattern::new(pattern).unwrap().regex().is_match(&whole));
        }
    }
}
