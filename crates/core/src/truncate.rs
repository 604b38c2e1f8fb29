//! Long text made to fit: head and tail kept, the middle counted.
//!
//! A token is four bytes of UTF-8, rounded up. Text within `4 * cap` bytes is left alone. Longer text becomes a
//! line `Total output lines: N`, the beginning, a marker that counts the tokens left out, and the end, in at most
//! `4 * cap` bytes, with no character split.
//!
//! [`truncate_text`] is the rule, on the whole text. [`Truncator`] gives the same answer from pieces, in memory
//! bounded by the cap, because all the rule needs is the first and last `2 * cap` bytes and two counts.

mod lines;
mod ring;

pub use lines::LineCounter;
use ring::Ring;

use crate::utf8::Sink;

/// Bytes of UTF-8 that count as one token.
pub const BYTES_PER_TOKEN: u64 = 4;

/// A text after truncation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Truncated {
    /// What is shown.
    pub text: String,
    /// Tokens of the whole text, when something was left out.
    pub original_token_count: Option<u64>,
}

/// Truncates a whole text to `cap` tokens.
///
/// No cap leaves it alone; a cap of zero or below leaves nothing.
#[must_use]
pub fn truncate_text(text: &str, cap: Option<i64>) -> Truncated {
    let max_bytes = cap.map_or(usize::MAX, max_bytes);
    if text.len() <= max_bytes {
        return Truncated { text: text.to_owned(), original_token_count: None };
    }
    let mut lines = LineCounter::default();
    lines.push(text);
    let total = Total { bytes: text.len() as u64, lines: lines.count() };
    shorten(max_bytes, total, text.as_bytes(), text.as_bytes())
}

/// Truncates a text that comes in pieces.
///
/// # Invariants
/// 1. `head` and `tail` are the first and the last bytes pushed, `head` at most `max_bytes / 2` of them, `tail` at most
///    the rest of `max_bytes`; together they are the whole text as long as it fits.
/// 2. Memory stays below a small multiple of `min(bytes pushed, max_bytes)`.
#[derive(Debug, Clone)]
pub struct Truncator {
    max_bytes: usize,
    head: Vec<u8>,
    tail: Ring,
    total_bytes: u64,
    lines: LineCounter,
}

impl Truncator {
    /// A truncator to `cap` tokens: `None` keeps everything, zero and below nothing.
    #[must_use]
    pub fn new(cap: Option<i64>) -> Self {
        // Without a cap everything is head.
        let (max_bytes, tail_bytes) = cap.map_or((usize::MAX, 0), |cap| {
            let max = max_bytes(cap);
            (max, max - max / 2)
        });
        Self {
            max_bytes,
            head: Vec::new(),
            tail: Ring::new(tail_bytes),
            total_bytes: 0,
            lines: LineCounter::default(),
        }
    }

    /// Bytes pushed so far.
    #[must_use]
    pub const fn total_bytes(&self) -> u64 {
        self.total_bytes
    }

    /// Adds the next piece.
    pub fn push(&mut self, text: &str) {
        self.total_bytes += text.len() as u64;
        self.lines.push(text);
        let room = (self.max_bytes - self.tail.limit()).saturating_sub(self.head.len());
        let (head, tail) = text.as_bytes().split_at(room.min(text.len()));
        self.head.extend_from_slice(head);
        self.tail.push(tail);
        debug_assert!(
            self.total_bytes > self.max_bytes as u64
                || (self.head.len() + self.tail.len()) as u64 == self.total_bytes,
            "invariant 1"
        );
    }

    /// The truncated text: what [`truncate_text`] gives for all pieces in one.
    #[must_use]
    pub fn finish(self) -> Truncated {
        let total = Total { bytes: self.total_bytes, lines: self.lines.count() };
        let tail = self.tail.into_vec();
        if self.total_bytes <= self.max_bytes as u64 {
            let mut whole = self.head;
            whole.extend_from_slice(&tail);
            return Truncated { text: text_of(whole), original_token_count: None };
        }
        shorten(self.max_bytes, total, &self.head, &tail)
    }
}

impl Sink for Truncator {
    fn text(&mut self, text: &str) {
        self.push(text);
    }
}

/// What is counted over a whole text.
#[derive(Debug, Clone, Copy)]
struct Total {
    bytes: u64,
    lines: u64,
}

/// The display of a text longer than `max_bytes`, of which `first` is a beginning and `last` an end, each at least as
/// long as its share of `max_bytes`.
fn shorten(max_bytes: usize, total: Total, first: &[u8], last: &[u8]) -> Truncated {
    let tokens = total.bytes.div_ceil(BYTES_PER_TOKEN);
    let widest_marker = marker(tokens);
    let heading = format!("Total output lines: {}\n\n", total.lines);
    let heading = if heading.len() + widest_marker.len() > max_bytes { "" } else { heading.as_str() };

    let text = match max_bytes.checked_sub(heading.len() + widest_marker.len()) {
        None => widest_marker[..widest_marker.floor_char_boundary(max_bytes)].to_owned(),
        Some(room) => {
            let head = whole_characters_up_to(first, room / 2);
            let tail = whole_characters_from(last, room - room / 2);
            let left_out = total.bytes - (head.len() + tail.len()) as u64;
            let marker = marker(left_out.div_ceil(BYTES_PER_TOKEN));
            text_of([heading.as_bytes(), head, marker.as_bytes(), tail].concat())
        }
    };
    debug_assert!(text.len() <= max_bytes, "the display obeys the cap");
    Truncated { text, original_token_count: Some(tokens) }
}

fn marker(tokens: u64) -> String {
    format!("\u{2026}{tokens} tokens truncated\u{2026}")
}

fn max_bytes(cap_tokens: i64) -> usize {
    let tokens = u64::try_from(cap_tokens).unwrap_or(0);
    usize::try_from(tokens.saturating_mul(BYTES_PER_TOKEN)).unwrap_or(usize::MAX)
}

/// The longest prefix of at most `limit` bytes that ends where a character ends.
fn whole_characters_up_to(text: &[u8], limit: usize) -> &[u8] {
    let mut end = limit;
    while end > 0 && is_continuation(text[end]) {
        end -= 1;
    }
    &text[..end]
}

/// The longest suffix of at most `limit` bytes that begins where a character begins.
fn whole_characters_from(text: &[u8], limit: usize) -> &[u8] {
    let suffix = &text[text.len() - limit..];
    let skipped = suffix.iter().take_while(|byte| is_continuation(**byte)).count();
    &suffix[skipped..]
}

const fn is_continuation(byte: u8) -> bool {
    byte & 0xC0 == 0x80
}

fn text_of(bytes: Vec<u8>) -> String {
    String::from_utf8(bytes).expect("invariant: only whole characters of pushed text are kept")
}

#[cfg(test)]
mod tests;
