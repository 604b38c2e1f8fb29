//! Sequences to drawing operations.

use alacritty_terminal::term::TermMode;
use alacritty_terminal::vte::ansi::{
    CharsetIndex, ClearMode, Handler, LineClearMode, StandardCharset, TabulationClearMode,
};

use super::emulator::Emulator;
use super::sgr;
use crate::parse::{Csi, Step, StringKind};
use crate::scan::plain_text;

/// Most titles pushed (XTWINOPS 22), as in xterm.
const TITLE_STACK: usize = 10;

impl Emulator {
    /// Obeys what a byte of a sequence completed.
    pub(super) fn obey(&mut self, step: &Step<'_>) {
        match *step {
            Step::More => {}
            Step::Execute(byte) => self.control(byte),
            Step::Escape { intermediate, byte } => self.escape(intermediate, byte),
            Step::Csi(csi) => self.csi(csi),
            Step::String(ref string) => {
                if string.kind == StringKind::Osc && string.is_whole() {
                    self.osc(string.body);
                }
            }
        }
    }

    /// Obeys a control character.
    pub(super) fn control(&mut self, byte: u8) {
        match byte {
            0x08 => self.term.backspace(),
            b'\t' => self.term.put_tab(1),
            b'\n' | 0x0b | 0x0c => {
                self.term.newline();
                self.end_wrap();
            }
            b'\r' => self.term.carriage_return(),
            0x0e => self.shift(true),
            0x0f => self.shift(false),
            _ => return,
        }
        self.preceding = None;
    }

    /// Whatever moves the cursor ends a pending wrap, as in xterm. The engine does that itself for most moves.
    fn end_wrap(&mut self) {
        self.term.grid_mut().cursor.input_needs_wrap = false;
    }

    pub(super) fn shift(&mut self, shifted: bool) {
        self.shifted = shifted;
        self.term.set_active_charset(if shifted { CharsetIndex::G1 } else { CharsetIndex::G0 });
    }

    /// Of all commands only the title changes the screen. Links (OSC 8) are not kept: each cell would carry its
    /// own address.
    fn osc(&mut self, body: &[u8]) {
        if let [b'0' | b'2', b';', title @ ..] = body {
            self.title = plain_text(title);
        }
    }

    fn escape(&mut self, intermediate: u8, byte: u8) {
        self.preceding = None;
        self.modes.obey_escape(intermediate, byte);
        let term = &mut self.term;
        match (intermediate, byte) {
            (0, b'D') => {
                term.linefeed();
                self.end_wrap();
            }
            (0, b'E') => {
                term.linefeed();
                term.carriage_return();
            }
            (0, b'H') => term.set_horizontal_tabstop(),
            (0, b'M') => {
                term.reverse_index();
                self.end_wrap();
            }
            (0, b'7') => term.save_cursor_position(),
            (0, b'8') => term.restore_cursor_position(),
            (0, b'=') => term.set_keypad_application_mode(),
            (0, b'>') => term.unset_keypad_application_mode(),
            (0, b'c') => self.reset(),
            (b'#', b'8') => term.decaln(),
            (b'(' | b')' | b'*' | b'+', b'0' | b'B') => {
                let index = match intermediate {
                    b'(' => CharsetIndex::G0,
                    b')' => CharsetIndex::G1,
                    b'*' => CharsetIndex::G2,
                    _ => CharsetIndex::G3,
                };
                let charset = if byte == b'0' {
                    StandardCharset::SpecialCharacterAndLineDrawing
                } else {
                    StandardCharset::Ascii
                };
                term.configure_charset(index, charset);
            }
            _ => {}
        }
    }

    fn reset(&mut self) {
        self.term.reset_state();
        self.title.clear();
        self.title_stack.clear();
        self.margins = None;
        self.shifted = false;
    }

    fn csi(&mut self, csi: &Csi) {
        let preceding = self.preceding.take();
        let term = &mut self.term;
        let count = usize::from(csi.param(0, 1));
        match csi.id() {
            (0, 0, b'm') => {
                sgr::apply(term, csi);
                self.preceding = preceding;
            }
            (0, 0, b'@') => term.insert_blank(count),
            (0, 0, b'A') => self.move_rows(-(count as i32)),
            (0, 0, b'B' | b'e') => self.move_rows(count as i32),
            (0, 0, b'C' | b'a') => term.move_forward(count),
            (0, 0, b'D') => term.move_backward(count),
            (0, 0, b'E') => {
                self.move_rows(count as i32);
                self.term.carriage_return();
            }
            (0, 0, b'F') => {
                self.move_rows(-(count as i32));
                self.term.carriage_return();
            }
            (0, 0, b'G' | b'`') => self.goto_col(count - 1),
            (0, 0, b'H' | b'f') => term.goto(count as i32 - 1, usize::from(csi.param(1, 1)) - 1),
            (0, 0, b'I') => {
                term.move_forward_tabs(csi.param(0, 1));
                self.end_wrap();
            }
            (0, 0, b'J') => self.erase_screen(csi.param(0, 0)),
            (0, 0, b'K') => match csi.param(0, 0) {
                0 => term.clear_line(LineClearMode::Right),
                1 => term.clear_line(LineClearMode::Left),
                2 => term.clear_line(LineClearMode::All),
                _ => {}
            },
            (0, 0, b'L') => term.insert_blank_lines(count),
            (0, 0, b'M') => term.delete_lines(count),
            (0, 0, b'P') => term.delete_chars(count),
            (0, 0, b'S') => term.scroll_up(count),
            (0, 0, b'T') => term.scroll_down(count),
            (0, 0, b'X') => term.erase_chars(count),
            (0, 0, b'Z') => {
                term.move_backward_tabs(csi.param(0, 1));
                self.end_wrap();
            }
            (0, 0, b'b') => self.repeat(preceding, count),
            (0, 0, b'd') => term.goto_line(count as i32 - 1),
            (0, 0, b'g') => match csi.param(0, 0) {
                0 => term.clear_tabs(TabulationClearMode::Current),
                3 => term.clear_tabs(TabulationClearMode::All),
                _ => {}
            },
            (0, 0, b'r') => self.set_margins(csi.param(0, 1), csi.param(1, self.size.rows())),
            (0, 0, b's') => term.save_cursor_position(),
            (0, 0, b'u') => term.restore_cursor_position(),
            (0, 0, b't') => self.title_operation(csi),
            (0, 0, b'h' | b'l') => self.ansi_modes(csi),
            (b'?', 0, b'h' | b'l') => self.private_modes(csi),
            (0, b'!', b'p') => self.soft_reset(),
            _ => {}
        }
        self.modes.obey_csi(csi);
    }

    /// Moves the cursor `rows` down, or up. A margin stops it when it was on the inner side of it.
    fn move_rows(&mut self, rows: i32) {
        let point = self.term.grid().cursor.point;
        let (top, bottom) =
            self.margins.map_or((0, self.last_row()), |(top, bottom)| (top.into(), bottom.into()));
        let row = point.line.0;
        let target = if rows < 0 {
            (row + rows).max(if row >= top { top } else { 0 })
        } else {
            (row + rows).min(if row <= bottom { bottom } else { self.last_row() })
        };
        self.place(target, point.column.0);
    }

    fn goto_col(&mut self, col: usize) {
        let row = self.term.grid().cursor.point.line.0;
        self.place(row, col);
    }

    /// Puts the cursor on a row of the screen, whatever the origin mode.
    pub(super) fn place(&mut self, row: i32, col: usize) {
        let origin = if self.term.mode().contains(TermMode::ORIGIN) {
            self.margins.map_or(0, |(top, _)| i32::from(top))
        } else {
            0
        };
        self.term.goto(row - origin, col);
    }

    fn last_row(&self) -> i32 {
        i32::from(self.size.rows()) - 1
    }

    /// Repeats a character, at most as often as there are cells: more would only scroll.
    fn repeat(&mut self, preceding: Option<char>, count: usize) {
        let cells = usize::from(self.size.cols()) * usize::from(self.size.rows());
        if let Some(c) = preceding {
            for _ in 0..count.min(cells) {
                self.print(c);
            }
        }
    }

    fn erase_screen(&mut self, what: u16) {
        let term = &mut self.term;
        match what {
            0 => term.clear_screen(ClearMode::Below),
            1 => {
                // The engine leaves the first row when the cursor is on the second.
                term.clear_screen(ClearMode::Above);
                if term.grid().cursor.point.line == 1 {
                    term.grid_mut().reset_region(..alacritty_terminal::index::Line(1));
                }
            }
            2 => term.clear_screen(ClearMode::All),
            3 => term.clear_screen(ClearMode::Saved),
            _ => {}
        }
    }

    /// DECSTBM with margins from 1. As in xterm a region of one row, or outside of the screen, is no region.
    fn set_margins(&mut self, top: u16, bottom: u16) {
        let rows = self.size.rows();
        let bottom = bottom.min(rows);
        if top >= bottom {
            return;
        }
        self.margins = ((top, bottom) != (1, rows)).then_some((top - 1, bottom - 1));
        self.term.set_scrolling_region(top.into(), Some(bottom.into()));
    }

    fn title_operation(&mut self, csi: &Csi) {
        // The second parameter says which: 0 both, 1 the icon's, 2 the window's.
        if csi.param(1, 0) == 1 {
            return;
        }
        match csi.params()[0] {
            22 => {
                if self.title_stack.len() == TITLE_STACK {
                    self.title_stack.remove(0);
                }
                self.title_stack.push(self.title.clone());
            }
            23 => {
                if let Some(title) = self.title_stack.pop() {
                    self.title = title;
                }
            }
            _ => {}
        }
    }
}
