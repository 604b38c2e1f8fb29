//! The emulator: our parser in front of `alacritty_terminal`'s grid.
//!
//! The engine's own parser is left aside. It loses characters when a chunk ends inside one, keeps control
//! strings of any length, and ends updates by its own clock; and two parsers could disagree about a sequence.
//! What is the engine's: the grid, its scrollback and wrapping, and every drawing operation.

use alacritty_terminal::event::VoidListener;
use alacritty_terminal::grid::Dimensions;
use alacritty_terminal::index::{Column, Line as GridLine};
use alacritty_terminal::term::cell::{Cell, Flags};
use alacritty_terminal::term::{Config, Term, TermMode};
use ptyard_core::{Moment, Size};

use super::hold::{HOLD_CAP, Hold};
use super::{Cursor, Screen, View, extract};
use crate::modes::Modes;
use crate::parse::{Parser, Step};

const ESC: u8 = 0x1b;

/// A screen on `alacritty_terminal`.
///
/// # Invariants
///
/// 1. `hold` is `Some` exactly when `ahead` may differ from `parser`: `ahead` has read the held bytes, `parser`
///    has not.
/// 2. `partial` holds a prefix of one character, and only in the parser's ground state.
/// 3. The margins are inside the screen.
pub(super) struct Emulator {
    pub(super) term: Term<VoidListener>,
    pub(super) size: Size,
    pub(super) parser: Parser,
    pub(super) modes: Modes,
    pub(super) title: String,
    pub(super) title_stack: Vec<String>,
    /// The bytes of a character whose end has not come.
    pub(super) partial: Vec<u8>,
    /// The character a REP repeats.
    pub(super) preceding: Option<char>,
    /// The margins, from 0, both inside; `None` when they are the whole screen.
    pub(super) margins: Option<(u16, u16)>,
    /// G1 is in use rather than G0.
    pub(super) shifted: bool,
    hold: Option<Hold>,
    ahead: Parser,
}

/// Our size as the engine takes it.
struct GridSize(Size);

impl Dimensions for GridSize {
    fn total_lines(&self) -> usize {
        self.screen_lines()
    }
    fn screen_lines(&self) -> usize {
        usize::from(self.0.rows())
    }
    fn columns(&self) -> usize {
        usize::from(self.0.cols())
    }
}

impl Emulator {
    pub(super) fn new(size: Size, scrollback_lines: usize) -> Self {
        let config = Config { scrolling_history: scrollback_lines, ..Config::default() };
        Self {
            term: Term::new(config, &GridSize(size), VoidListener),
            size,
            parser: Parser::default(),
            modes: Modes::default(),
            title: String::new(),
            title_stack: Vec::new(),
            partial: Vec::new(),
            preceding: None,
            margins: None,
            shifted: false,
            hold: None,
            ahead: Parser::default(),
        }
    }

    /// Draws up to the start of a synchronized update and returns what follows it.
    fn draw<'b>(&mut self, bytes: &'b [u8]) -> &'b [u8] {
        // What the parser returns borrows it, so it stands aside while the rest of the emulator obeys.
        let mut parser = std::mem::take(&mut self.parser);
        let rest = self.draw_with(&mut parser, bytes);
        self.parser = parser;
        rest
    }

    fn draw_with<'b>(&mut self, parser: &mut Parser, mut bytes: &'b [u8]) -> &'b [u8] {
        loop {
            if parser.is_ground() {
                let text = memchr::memchr(ESC, bytes).unwrap_or(bytes.len());
                self.text(&bytes[..text]);
                if text == bytes.len() {
                    return &[];
                }
                self.end_partial();
                parser.escape();
                bytes = &bytes[text + 1..];
            }
            while !parser.is_ground() {
                let Some((&byte, rest)) = bytes.split_first() else { return &[] };
                bytes = rest;
                match parser.step(byte) {
                    Step::More => {}
                    step => {
                        let was_updating = self.modes.sync_update;
                        self.obey(&step);
                        if self.modes.sync_update && !was_updating {
                            return bytes;
                        }
                    }
                }
            }
        }
    }

    /// Holds bytes of an update back. Returns what follows its end, and the update is drawn then.
    fn hold<'b>(&mut self, bytes: &'b [u8]) -> &'b [u8] {
        let Some(hold) = &mut self.hold else { return bytes };
        let room = HOLD_CAP - hold.bytes.len();
        let end = update_end(&mut self.ahead, &bytes[..room.min(bytes.len())]);
        let is_over = end.is_some() || bytes.len() >= room;
        let taken = end.unwrap_or(room.min(bytes.len()));
        hold.bytes.extend_from_slice(&bytes[..taken]);
        if is_over {
            self.release();
        }
        &bytes[taken..]
    }

    /// Draws what is held back.
    fn release(&mut self) {
        let Some(hold) = self.hold.take() else { return };
        // The update is over, or it took too long. In the latter case what follows is drawn as it comes, and a
        // late end changes nothing.
        self.modes.sync_update = false;
        let mut bytes = &hold.bytes[..];
        while !bytes.is_empty() {
            // An update inside the update is part of it.
            bytes = self.draw(bytes);
            self.modes.sync_update = false;
        }
    }

    fn release_if_due(&mut self, now: Moment) {
        if self.hold.as_ref().is_some_and(|hold| now >= hold.deadline) {
            self.release();
        }
    }

    fn check(&self) {
        debug_assert!(self.partial.len() < 4, "invariant 2");
        debug_assert!(self.partial.is_empty() || self.parser.is_ground(), "invariant 2");
        debug_assert!(
            self.margins.is_none_or(|(top, bottom)| top < bottom && bottom < self.size.rows()),
            "invariant 3"
        );
    }

    /// A wide character cut by the right margin, as shrinking the alternate screen leaves it, becomes a blank:
    /// overwriting it would make the engine erase its neighbour.
    fn blank_cut_wide_characters(&mut self) {
        if !self.term.mode().contains(TermMode::ALT_SCREEN) {
            return;
        }
        let last = Column(usize::from(self.size.cols()) - 1);
        for row in 0..i32::from(self.size.rows()) {
            let cell = &mut self.term.grid_mut()[GridLine(row)][last];
            if cell.flags.contains(Flags::WIDE_CHAR) {
                *cell = Cell { bg: cell.bg, ..Cell::default() };
            }
        }
    }
}

/// Reads an update until its end (mode 2026 reset, or the terminal reset); the index after it.
fn update_end(ahead: &mut Parser, bytes: &[u8]) -> Option<usize> {
    let mut i = 0;
    loop {
        if ahead.is_ground() {
            i += memchr::memchr(ESC, &bytes[i..])? + 1;
            ahead.escape();
        }
        while !ahead.is_ground() {
            let byte = *bytes.get(i)?;
            i += 1;
            let is_end = match ahead.step(byte) {
                Step::Csi(csi) => csi.id() == (b'?', 0, b'l') && csi.params().contains(&2026),
                Step::Escape { intermediate: 0, byte: b'c' } => true,
                _ => false,
            };
            if is_end {
                return Some(i);
            }
        }
    }
}

impl Screen for Emulator {
    fn feed(&mut self, bytes: &[u8], now: Moment) {
        self.release_if_due(now);
        let mut rest = bytes;
        while !rest.is_empty() {
            rest = match self.hold {
                Some(_) => self.hold(rest),
                None => self.draw(rest),
            };
            if self.modes.sync_update && self.hold.is_none() {
                self.hold = Some(Hold::begin(now));
                self.ahead = self.parser.clone();
            }
        }
        self.check();
    }

    fn resize(&mut self, size: Size) {
        // The held frame was drawn for the old size.
        self.release();
        if size == self.size {
            return;
        }
        self.size = size;
        self.margins = None;
        self.term.resize(GridSize(size));
        self.blank_cut_wide_characters();
        self.check();
    }

    fn size(&self) -> Size {
        self.size
    }

    fn cursor(&self) -> Cursor {
        extract::cursor(self)
    }

    fn title(&self) -> &str {
        &self.title
    }

    fn modes(&self) -> &Modes {
        &self.modes
    }

    fn view(&mut self, scrollback: usize, now: Moment) -> View {
        self.release_if_due(now);
        extract::view(self, scrollback, self.hold.is_some())
    }

    fn deadline(&self) -> Option<Moment> {
        self.hold.as_ref().map(|hold| hold.deadline)
    }

    fn held(&self) -> usize {
        self.hold.as_ref().map_or(0, |hold| hold.bytes.len())
    }

    fn can_skip(&self) -> bool {
        self.hold.is_none()
            && self.parser.is_ground()
            && self.partial.is_empty()
            && self.margins.is_none()
            && !self.shifted
            && !self.modes.alt_screen
            && !self.modes.insert
            && !self.modes.origin
            && self.modes.autowrap
    }
}
