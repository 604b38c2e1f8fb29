//! Text into cells.
//!
//! The width policy is here, see the [crate's](crate) documentation.

use alacritty_terminal::grid::Dimensions;
use alacritty_terminal::index::{Column, Point};
use alacritty_terminal::term::TermMode;
use alacritty_terminal::term::cell::{Cell, Flags};
use alacritty_terminal::vte::ansi::{CharsetIndex, Handler, NamedMode, StandardCharset};
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

use super::emulator::Emulator;

/// Most characters without width that one cell keeps. The longest emoji sequence in use has 13 of them; a stack
/// of accents without a bound would be memory without a bound.
const MAX_COMBINING: usize = 32;

pub(super) const ZWJ: char = '\u{200d}';
const EMOJI_PRESENTATION: char = '\u{fe0f}';
pub(super) const SKIN_TONES: std::ops::RangeInclusive<char> = '\u{1f3fb}'..='\u{1f3ff}';

impl Emulator {
    /// Draws bytes that hold no `ESC`. An unfinished character at the end waits for its rest.
    pub(super) fn text(&mut self, mut bytes: &[u8]) {
        while !self.partial.is_empty() {
            let Some((&byte, rest)) = bytes.split_first() else { return };
            self.partial.push(byte);
            match std::str::from_utf8(&self.partial) {
                Ok(text) => {
                    let c = text.chars().next();
                    self.partial.clear();
                    bytes = rest;
                    c.into_iter().for_each(|c| self.print(c));
                }
                Err(error) if error.error_len().is_none() => bytes = rest,
                // The new byte is not part of it and starts something else.
                Err(_) => self.end_partial(),
            }
        }
        while !bytes.is_empty() {
            match std::str::from_utf8(bytes) {
                Ok(text) => return self.text_str(text),
                Err(error) => {
                    let (valid, after) = bytes.split_at(error.valid_up_to());
                    self.text_str(std::str::from_utf8(valid).expect("invariant: valid up to here"));
                    match error.error_len() {
                        Some(len) => {
                            self.print(char::REPLACEMENT_CHARACTER);
                            bytes = &after[len..];
                        }
                        None => {
                            self.partial.extend_from_slice(after);
                            return;
                        }
                    }
                }
            }
        }
    }

    /// An unfinished character that will not be finished is shown as U+FFFD.
    pub(super) fn end_partial(&mut self) {
        if !self.partial.is_empty() {
            self.partial.clear();
            self.print(char::REPLACEMENT_CHARACTER);
        }
    }

    fn text_str(&mut self, mut text: &str) {
        while !text.is_empty() {
            let plain = text.bytes().position(|b| !(b' '..=b'~').contains(&b)).unwrap_or(text.len());
            if plain > 0 {
                self.print_ascii(&text.as_bytes()[..plain]);
                text = &text[plain..];
                continue;
            }
            let mut chars = text.chars();
            match chars.next() {
                Some(c) if (c as u32) < 0x20 => self.control(c as u8),
                Some(c) => self.print(c),
                None => {}
            }
            text = chars.as_str();
        }
    }

    /// Draws printable ASCII, whole stretches of a row at once where nothing special is about.
    fn print_ascii(&mut self, mut text: &[u8]) {
        self.preceding = text.last().map(|&b| char::from(b));
        let active = if self.shifted { CharsetIndex::G1 } else { CharsetIndex::G0 };
        let is_plain = self.term.grid().cursor.charsets[active] == StandardCharset::Ascii
            && !self.term.mode().contains(TermMode::INSERT);
        let columns = self.term.columns();
        while let Some((&first, rest)) = text.split_first() {
            let cursor = &self.term.grid().cursor;
            let point = cursor.point;
            if !is_plain || cursor.input_needs_wrap {
                self.term.input(char::from(first));
                text = rest;
                continue;
            }
            let count = text.len().min(columns - point.column.0);
            let end = point.column + count;
            let (fg, bg, flags) = (cursor.template.fg, cursor.template.bg, cursor.template.flags);
            let extra = cursor.template.extra.clone();
            let grid = self.term.grid_mut();
            let cells = &mut grid[point.line][point.column..end];
            if cells.iter().any(|cell| cell.flags.intersects(Flags::WIDE_CHAR | Flags::WIDE_CHAR_SPACER)) {
                // The halves of wide characters that are cut need the engine's care.
                text[..count].iter().for_each(|&b| self.term.input(char::from(b)));
            } else {
                for (cell, &b) in cells.iter_mut().zip(text) {
                    cell.c = char::from(b);
                    cell.fg = fg;
                    cell.bg = bg;
                    cell.flags = flags;
                    cell.extra.clone_from(&extra);
                }
                let is_full = end.0 == columns;
                grid.cursor.input_needs_wrap = is_full;
                grid.cursor.point.column = if is_full { end - 1 } else { end };
            }
            text = &text[count..];
        }
    }

    /// Draws one character.
    pub(super) fn print(&mut self, c: char) {
        if c.is_ascii() && !c.is_ascii_control() {
            return self.print_ascii(&[c as u8]);
        }
        let Some(width) = c.width() else { return };
        let follows_text = self.preceding.replace(c).is_some();
        if !self.join(c, width, follows_text) {
            self.term.input(c);
        }
    }

    /// Adds `c` to the character before the cursor when it is part of it: it has no width, or continues an emoji
    /// sequence. Tells whether it was taken. What has a width joins only a character just printed (`follows_text`),
    /// so that two characters can also be drawn side by side.
    fn join(&mut self, c: char, width: usize, follows_text: bool) -> bool {
        let is_tone = SKIN_TONES.contains(&c);
        let base = self.cell_before();
        let cursor = &self.term.grid().cursor;
        // At the start of a row there is none, and accents go to the character under the cursor.
        let is_behind = cursor.input_needs_wrap || cursor.point.column > base.column;
        let cell = &self.term.grid()[base];
        let is_wide = cell.flags.contains(Flags::WIDE_CHAR);
        let zero_width = cell.zerowidth().unwrap_or_default();
        let makes_pair = is_behind && (is_tone || c == EMOJI_PRESENTATION) && is_emoji_pair(cell.c, c);
        if width > 0 {
            let follows_joiner = is_wide
                && zero_width.last() == Some(&ZWJ)
                && if width == 2 { !c.is_alphanumeric() } else { is_emoji_pair(c, EMOJI_PRESENTATION) };
            let gets_tone = is_tone && zero_width.is_empty() && makes_pair;
            if !(follows_text && is_behind && (follows_joiner || gets_tone)) {
                return false;
            }
        }
        if c == EMOJI_PRESENTATION && !is_behind {
            return true;
        }
        if zero_width.len() < MAX_COMBINING {
            self.term.grid_mut()[base].push_zerowidth(c);
        }
        if makes_pair && !is_wide {
            self.widen(base);
        }
        true
    }

    /// The cell of the character before the cursor, its first half when it is wide.
    fn cell_before(&self) -> Point {
        let cursor = &self.term.grid().cursor;
        let Point { line, mut column } = cursor.point;
        if !cursor.input_needs_wrap {
            column = Column(column.0.saturating_sub(1));
        }
        if self.term.grid()[line][column].flags.contains(Flags::WIDE_CHAR_SPACER) {
            column = Column(column.0.saturating_sub(1));
        }
        Point::new(line, column)
    }

    /// Makes the narrow character before the cursor a wide one, where there is room for it.
    fn widen(&mut self, base: Point) {
        if self.term.grid().cursor.input_needs_wrap {
            return;
        }
        let inserts = self.term.mode().contains(TermMode::INSERT);
        if inserts {
            self.term.insert_blank(1);
            self.term.unset_mode(NamedMode::Insert.into());
        }
        // The engine draws some wide character in its place and cleans up what that covers; then the character
        // itself returns, with its own colours.
        let cell = self.term.grid()[base].clone();
        self.term.grid_mut().cursor.point.column = base.column;
        self.term.input('\u{1f600}');
        let flags = cell.flags | Flags::WIDE_CHAR;
        self.term.grid_mut()[base] = Cell { flags, ..cell };
        if inserts {
            self.term.set_mode(NamedMode::Insert.into());
        }
    }
}

/// Whether both together are one emoji, which takes two cells.
fn is_emoji_pair(base: char, follower: char) -> bool {
    let mut text = [0; 8];
    let len = base.encode_utf8(&mut text).len();
    let len = len + follower.encode_utf8(&mut text[len..]).len();
    std::str::from_utf8(&text[..len]).is_ok_and(|pair| pair.width() == 2)
        && (follower == EMOJI_PRESENTATION || base.width() == Some(2) || !base.is_alphanumeric())
}
