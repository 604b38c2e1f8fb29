//! The cleaning itself, piece by piece.

use super::removed::{Kind, Removed};
use crate::utf8;

/// Cleans a text that comes in pieces: how it was cut changes nothing.
///
/// # Invariants
/// 1. What was given out has no control character but tab and line feed.
/// 2. Nothing is held back but bytes that can still become a character.
#[derive(Debug, Clone, Default)]
pub struct Cleaner {
    state: State,
    removed: Removed,
    held: Vec<u8>,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum State {
    /// Outside of any sequence.
    #[default]
    Ground,
    /// After a carriage return: a line feed now belongs to it.
    Return,
    /// After ESC.
    Escape,
    /// After ESC and an intermediate: one final character ends it.
    EscapeIntermediate,
    /// After a single shift: it shifts one character.
    Shift,
    /// Within a CSI sequence. `number` is its parameter so far, while it is one plain number.
    Csi { number: Option<u16> },
    /// Within a CSI sequence, after an intermediate.
    CsiIntermediate,
    /// Within a string.
    String,
    /// After an ESC within a string: a backslash ends both.
    StringEscape,
}

/// What becomes of a character.
enum Fate {
    Kept(char),
    Removed,
    /// It was the second half of a line end.
    Joined,
}

impl Cleaner {
    /// A cleaner outside of any sequence.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Appends what may be typed of the next piece to `out`.
    pub fn feed(&mut self, text: &str, out: &mut String) {
        self.flush_held(out);
        self.feed_text(text, out);
    }

    /// The same for bytes. A lone byte 80..9F is a C1 control in its 8-bit form; another byte that belongs to no
    /// character becomes U+FFFD.
    pub fn feed_bytes(&mut self, bytes: &[u8], out: &mut String) {
        self.held.extend_from_slice(bytes);
        let whole = self.held.len() - utf8::carry_len(&self.held);
        let rest = self.held.split_off(whole);
        let ready = std::mem::replace(&mut self.held, rest);
        self.feed_chunks(&ready, out);
        debug_assert!(self.held.len() <= utf8::MAX_HELD, "invariant 2: at most a prefix of a character");
    }

    /// Ends the text, and tells what was removed.
    #[must_use]
    pub fn finish(mut self, out: &mut String) -> Removed {
        self.flush_held(out);
        self.removed
    }

    fn flush_held(&mut self, out: &mut String) {
        let held = std::mem::take(&mut self.held);
        self.feed_chunks(&held, out);
    }

    fn feed_chunks(&mut self, bytes: &[u8], out: &mut String) {
        for chunk in bytes.utf8_chunks() {
            self.feed_text(chunk.valid(), out);
            for &byte in chunk.invalid() {
                if matches!(byte, 0x80..=0x9F) {
                    self.feed_char(char::from(byte), out);
                } else {
                    self.removed.character();
                    self.removed.count(Kind::Invalid);
                    self.feed_char(char::REPLACEMENT_CHARACTER, out);
                }
            }
        }
    }

    fn feed_text(&mut self, text: &str, out: &mut String) {
        let mut rest = text;
        while !rest.is_empty() {
            if self.state == State::Ground {
                let words = rest.find(is_forbidden).unwrap_or(rest.len());
                out.push_str(&rest[..words]);
                rest = &rest[words..];
            }
            let mut chars = rest.chars();
            let Some(c) = chars.next() else { break };
            self.feed_char(c, out);
            rest = chars.as_str();
        }
    }

    fn feed_char(&mut self, c: char, out: &mut String) {
        match self.step(c) {
            Fate::Kept(kept) => {
                debug_assert!(!is_forbidden(kept), "invariant 1: words only");
                out.push(kept);
            }
            Fate::Removed => self.removed.character(),
            Fate::Joined => {}
        }
    }

    fn step(&mut self, c: char) -> Fate {
        use State::{
            Csi, CsiIntermediate, Escape, EscapeIntermediate, Ground, Return, Shift, String, StringEscape,
        };
        let (state, fate) = match (self.state, c) {
            (Return, '\n') => (Ground, Fate::Joined),
            // A line end ends everything else, too.
            (_, '\r') => (Return, Fate::Kept('\n')),
            (_, '\n') => (Ground, Fate::Kept('\n')),

            (StringEscape, '\\') => (Ground, Fate::Removed),
            (String, '\u{1B}') => (StringEscape, Fate::Removed),
            (String, '\u{07}' | '\u{18}' | '\u{1A}' | '\u{9C}') => (Ground, Fate::Removed),
            (String, '\u{80}'..='\u{9F}') => (self.introduced(c), Fate::Removed),
            (String, _) => (String, Fate::Removed),
            // The ESC in the string began something else.
            (StringEscape, _) => {
                self.removed.count(Kind::Escape);
                self.state = Escape;
                return self.step(c);
            }

            (_, '\u{1B}') => {
                self.removed.count(Kind::Escape);
                (Escape, Fate::Removed)
            }
            (_, '\u{80}'..='\u{9F}') => (self.introduced(c), Fate::Removed),
            (state, '\0'..='\u{1F}' | '\u{7F}') if c != '\t' => {
                self.removed.count(if c == '\u{7F}' { Kind::Delete } else { Kind::C0 });
                // A terminal drops most of these from the middle of a sequence; two abort it.
                let aborts = matches!(c, '\u{18}' | '\u{1A}') || state == Return;
                (if aborts { Ground } else { state }, Fate::Removed)
            }

            (Escape, '[') => {
                self.removed.recount(Kind::Escape, Kind::Csi);
                (Csi { number: Some(0) }, Fate::Removed)
            }
            (Escape, ']' | 'P' | 'X' | '^' | '_') => {
                self.removed.recount(Kind::Escape, Kind::String);
                (String, Fate::Removed)
            }
            (Escape, 'N' | 'O') => (Shift, Fate::Removed),
            (Escape | EscapeIntermediate, ' '..='/') => (EscapeIntermediate, Fate::Removed),
            (Escape | EscapeIntermediate, '0'..='~') | (Shift, '!'..='~') => (Ground, Fate::Removed),

            (Csi { number }, '0'..='?') => (Csi { number: extended(number, c) }, Fate::Removed),
            (Csi { number }, '@'..='~') => {
                if c == '~' && matches!(number, Some(200 | 201)) {
                    self.removed.recount(Kind::Csi, Kind::PasteMarker);
                }
                (Ground, Fate::Removed)
            }
            (Csi { .. } | CsiIntermediate, ' '..='/') => (CsiIntermediate, Fate::Removed),
            (CsiIntermediate, '@'..='~') => (Ground, Fate::Removed),

            // No sequence goes on like this: it is text.
            (Ground | Return | Escape | EscapeIntermediate | Shift | Csi { .. } | CsiIntermediate, _) => {
                (Ground, Fate::Kept(c))
            }
        };
        self.state = state;
        fate
    }

    /// The state after a C1 control.
    fn introduced(&mut self, c1: char) -> State {
        let (state, kind) = match c1 {
            '\u{9B}' => (State::Csi { number: Some(0) }, Kind::Csi),
            '\u{90}' | '\u{98}' | '\u{9D}' | '\u{9E}' | '\u{9F}' => (State::String, Kind::String),
            '\u{8E}' | '\u{8F}' => (State::Shift, Kind::C1),
            _ => (State::Ground, Kind::C1),
        };
        self.removed.count(kind);
        state
    }
}

/// The parameter with one more character; `None` when it is no plain number.
fn extended(number: Option<u16>, c: char) -> Option<u16> {
    let digit = u16::try_from(c.to_digit(10)?).ok()?;
    number?.checked_mul(10)?.checked_add(digit)
}

fn is_forbidden(c: char) -> bool {
    c.is_control() && !matches!(c, '\t' | '\n')
}
