//! The one rule for text that is typed on somebody's behalf: pastes, messages, prompts, answers.
//!
//! A terminal has one stream for words and for keys, so text from elsewhere could end the paste it stands in, interrupt
//! the program, freeze its output or press a button. What comes out of here is words only: no C0 but tab and line
//! feed, no DEL, no C1, no escape sequence. Nothing in it is ever taken for a key.
//!
//! * `CR LF` and a lone `CR` are line ends: they become `LF`, and count as no removal.
//! * An escape sequence goes whole: CSI, OSC, DCS, APC, PM, SOS, single shifts and two-character escapes, in 7-bit and
//!   8-bit form. One that is not ended takes no more than the line it stands on, so a stray introducer cannot swallow a
//!   message.
//! * Since every ESC and C1 goes, what is left cannot close up to a new sequence, however markers were nested.
//! * All other text keeps its characters: nothing is normalised.
//!
//! ```
//! let cleaned = ptyard_core::typed::clean("echo safe \x1b[201~\rtouch x\r");
//! assert_eq!(cleaned.text, "echo safe \ntouch x\n");
//! assert_eq!(cleaned.removed.characters(), 6);
//! ```

mod cleaner;
mod removed;

pub use cleaner::Cleaner;
pub use removed::{Kind, Removed};

/// Text that may be typed, and what it lost.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Cleaned {
    /// The text: its only control characters are tab and line feed.
    pub text: String,
    /// What was removed.
    pub removed: Removed,
}

/// Cleans a whole text.
#[must_use]
pub fn clean(text: &str) -> Cleaned {
    let mut cleaned = Cleaned { text: String::with_capacity(text.len()), removed: Removed::default() };
    let mut cleaner = Cleaner::new();
    cleaner.feed(text, &mut cleaned.text);
    cleaned.removed = cleaner.finish(&mut cleaned.text);
    cleaned
}

/// Cleans a whole text that came as bytes, as [`Cleaner::feed_bytes`] does.
#[must_use]
pub fn clean_bytes(bytes: &[u8]) -> Cleaned {
    let mut cleaned = Cleaned { text: String::with_capacity(bytes.len()), removed: Removed::default() };
    let mut cleaner = Cleaner::new();
    cleaner.feed_bytes(bytes, &mut cleaned.text);
    cleaned.removed = cleaner.finish(&mut cleaned.text);
    cleaned
}

#[cfg(test)]
mod tests;
