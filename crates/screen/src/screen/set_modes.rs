//! Modes that change how is drawn.

use alacritty_terminal::vte::ansi::{
    Attr, CharsetIndex, Handler, NamedMode, NamedPrivateMode, StandardCharset,
};

use super::emulator::Emulator;
use crate::parse::Csi;

impl Emulator {
    pub(super) fn ansi_modes(&mut self, csi: &Csi) {
        let on = csi.id().2 == b'h';
        for &number in csi.params() {
            let mode = match number {
                4 => NamedMode::Insert.into(),
                20 => NamedMode::LineFeedNewLine.into(),
                _ => continue,
            };
            if on {
                self.term.set_mode(mode);
            } else {
                self.term.unset_mode(mode);
            }
        }
    }

    pub(super) fn private_modes(&mut self, csi: &Csi) {
        let on = csi.id().2 == b'h';
        for &number in csi.params() {
            let mode = match number {
                3 => {
                    self.margins = None;
                    NamedPrivateMode::ColumnMode
                }
                6 => NamedPrivateMode::Origin,
                7 => NamedPrivateMode::LineWrap,
                25 => NamedPrivateMode::ShowCursor,
                47 | 1047 | 1049 => NamedPrivateMode::SwapScreenAndSetRestoreCursor,
                1048 => {
                    if on {
                        self.term.save_cursor_position();
                    } else {
                        self.term.restore_cursor_position();
                    }
                    continue;
                }
                _ => continue,
            };
            if on {
                self.term.set_private_mode(mode.into());
            } else {
                self.term.unset_private_mode(mode.into());
            }
            if number == 6 && !on {
                // Both changes of the origin take the cursor home.
                self.term.goto(0, 0);
            }
        }
    }

    /// DECSTR. The cursor stays.
    pub(super) fn soft_reset(&mut self) {
        let term = &mut self.term;
        let point = term.grid().cursor.point;
        term.unset_mode(NamedMode::Insert.into());
        term.unset_mode(NamedMode::LineFeedNewLine.into());
        term.unset_private_mode(NamedPrivateMode::Origin.into());
        term.set_private_mode(NamedPrivateMode::LineWrap.into());
        term.set_private_mode(NamedPrivateMode::ShowCursor.into());
        term.set_scrolling_region(1, None);
        term.goto(point.line.0, point.column.0);
        for index in [CharsetIndex::G0, CharsetIndex::G1, CharsetIndex::G2, CharsetIndex::G3] {
            term.configure_charset(index, StandardCharset::Ascii);
        }
        term.terminal_attribute(Attr::Reset);
        term.grid_mut().saved_cursor = Default::default();
        self.margins = None;
        self.shift(false);
    }
}
