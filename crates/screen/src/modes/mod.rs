//! The modes a program has set on its terminal.

mod kitty;

pub use kitty::KittyKeys;

use crate::parse::Csi;

/// What the mouse is asked to report.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Mouse {
    /// Nothing.
    #[default]
    Off,
    /// Presses (mode 9).
    Press,
    /// Presses and releases (mode 1000).
    Click,
    /// Also motion with a button down (mode 1002).
    Drag,
    /// Also motion without a button (mode 1003).
    Motion,
}

/// How reports of the mouse are encoded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum MouseEncoding {
    /// Three bytes after `CSI M`.
    #[default]
    Legacy,
    /// The same in UTF-8 (mode 1005).
    Utf8,
    /// `CSI <` (mode 1006).
    Sgr,
    /// Decimal without `<` (mode 1015).
    Urxvt,
    /// `CSI <` in pixels (mode 1016).
    SgrPixels,
}

/// The modes in force. The default is a terminal after its reset.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Modes {
    /// Pastes are bracketed (2004).
    pub bracketed_paste: bool,
    /// Cursor keys send `SS3` (1, DECCKM).
    pub application_cursor: bool,
    /// The keypad sends `SS3` (DECKPAM).
    pub application_keypad: bool,
    /// The alternate screen is shown (47, 1047, 1049).
    pub alt_screen: bool,
    /// Focus changes are reported (1004).
    pub focus_events: bool,
    /// What the mouse reports.
    pub mouse: Mouse,
    /// How it reports.
    pub mouse_encoding: MouseEncoding,
    /// The wheel sends cursor keys on the alternate screen (1007).
    pub alternate_scroll: bool,
    /// The cursor is not shown (25, DECTCEM).
    pub cursor_hidden: bool,
    /// The cursor blinks (12).
    pub cursor_blink: bool,
    /// The cursor's shape (DECSCUSR), 0 is the default.
    pub cursor_style: u8,
    /// A synchronized update is going on (2026).
    pub sync_update: bool,
    /// Text wraps at the right margin (7, DECAWM).
    pub autowrap: bool,
    /// Addresses count from the margins (6, DECOM).
    pub origin: bool,
    /// Text pushes what follows to the right (4, IRM).
    pub insert: bool,
    /// A line feed also returns the carriage (20, LNM).
    pub newline: bool,
    /// The screen is shown in reverse (5, DECSCNM).
    pub reverse_video: bool,
    /// Changes between dark and light are reported (2031).
    pub colour_scheme_events: bool,
    /// `modifyOtherKeys` of xterm: 0, 1 or 2.
    pub modify_other_keys: u8,
    /// Kitty's keyboard flags of both screens.
    pub kitty: KittyKeys,
}

impl Default for Modes {
    fn default() -> Self {
        Self {
            bracketed_paste: false,
            application_cursor: false,
            application_keypad: false,
            alt_screen: false,
            focus_events: false,
            mouse: Mouse::Off,
            mouse_encoding: MouseEncoding::Legacy,
            alternate_scroll: true,
            cursor_hidden: false,
            cursor_blink: false,
            cursor_style: 0,
            sync_update: false,
            autowrap: true,
            origin: false,
            insert: false,
            newline: false,
            reverse_video: false,
            colour_scheme_events: false,
            modify_other_keys: 0,
            kitty: KittyKeys::default(),
        }
    }
}

impl Modes {
    /// Kitty's keyboard flags in force on the screen that is shown.
    #[must_use]
    pub fn kitty_flags(&self) -> u8 {
        self.kitty.flags(self.alt_screen)
    }

    /// Whether private mode `number` is set; `None` when it is unknown here.
    #[must_use]
    pub fn private(&self, number: u16) -> Option<bool> {
        Some(match number {
            1 => self.application_cursor,
            5 => self.reverse_video,
            6 => self.origin,
            7 => self.autowrap,
            9 => self.mouse == Mouse::Press,
            12 => self.cursor_blink,
            25 => !self.cursor_hidden,
            47 | 1047 | 1049 => self.alt_screen,
            66 => self.application_keypad,
            1000 => self.mouse == Mouse::Click,
            1002 => self.mouse == Mouse::Drag,
            1003 => self.mouse == Mouse::Motion,
            1004 => self.focus_events,
            1005 => self.mouse_encoding == MouseEncoding::Utf8,
            1006 => self.mouse_encoding == MouseEncoding::Sgr,
            1007 => self.alternate_scroll,
            1015 => self.mouse_encoding == MouseEncoding::Urxvt,
            1016 => self.mouse_encoding == MouseEncoding::SgrPixels,
            2004 => self.bracketed_paste,
            2026 => self.sync_update,
            2031 => self.colour_scheme_events,
            _ => return None,
        })
    }

    /// Whether ANSI mode `number` is set; `None` when it is unknown here.
    #[must_use]
    pub fn ansi(&self, number: u16) -> Option<bool> {
        Some(match number {
            4 => self.insert,
            20 => self.newline,
            _ => return None,
        })
    }

    /// Obeys a control sequence; sequences that set no mode change nothing.
    pub(crate) fn obey_csi(&mut self, csi: &Csi) {
        match csi.id() {
            (b'?', 0, b'h') => csi.params().iter().for_each(|&mode| self.set_private(mode, true)),
            (b'?', 0, b'l') => csi.params().iter().for_each(|&mode| self.set_private(mode, false)),
            (0, 0, b'h') => csi.params().iter().for_each(|&mode| self.set_ansi(mode, true)),
            (0, 0, b'l') => csi.params().iter().for_each(|&mode| self.set_ansi(mode, false)),
            (0, b' ', b'q') => {
                if let Ok(style @ 0..=6) = u8::try_from(csi.param(0, 0)) {
                    self.cursor_style = style;
                }
            }
            (b'>', 0, b'm') if csi.params()[0] == 4 => {
                self.modify_other_keys = csi.param(1, 0).min(2) as u8;
            }
            (b'>', 0, b'm') if csi.params() == [0] => self.modify_other_keys = 0,
            (b'>', 0, b'n') if csi.params()[0] == 4 => self.modify_other_keys = 0,
            (b'>' | b'<' | b'=', 0, b'u') => self.kitty.obey(csi, self.alt_screen),
            (0, b'!', b'p') => self.soft_reset(),
            _ => {}
        }
    }

    /// Obeys an escape sequence; those that set no mode change nothing.
    pub(crate) fn obey_escape(&mut self, intermediate: u8, byte: u8) {
        match (intermediate, byte) {
            (0, b'=') => self.application_keypad = true,
            (0, b'>') => self.application_keypad = false,
            (0, b'c') => *self = Self::default(),
            _ => {}
        }
    }

    /// DECSTR: what xterm puts back, and bracketed paste and the kitty flags of the screen shown, because a
    /// program that asks for a reset does not expect them either. The mouse, focus reports and the alternate
    /// screen stay.
    fn soft_reset(&mut self) {
        self.kitty.reset(self.alt_screen);
        *self = Self {
            alt_screen: self.alt_screen,
            focus_events: self.focus_events,
            mouse: self.mouse,
            mouse_encoding: self.mouse_encoding,
            alternate_scroll: self.alternate_scroll,
            reverse_video: self.reverse_video,
            colour_scheme_events: self.colour_scheme_events,
            sync_update: self.sync_update,
            kitty: std::mem::take(&mut self.kitty),
            ..Self::default()
        };
    }

    fn set_ansi(&mut self, number: u16, on: bool) {
        match number {
            4 => self.insert = on,
            20 => self.newline = on,
            _ => {}
        }
    }

    fn set_private(&mut self, number: u16, on: bool) {
        let mouse = |kind, now| {
            if on {
                kind
            } else if now == kind {
                Mouse::Off
            } else {
                now
            }
        };
        let encoding = |kind, now| {
            if on {
                kind
            } else if now == kind {
                MouseEncoding::Legacy
            } else {
                now
            }
        };
        match number {
            1 => self.application_cursor = on,
            5 => self.reverse_video = on,
            6 => self.origin = on,
            7 => self.autowrap = on,
            9 => self.mouse = mouse(Mouse::Press, self.mouse),
            12 => self.cursor_blink = on,
            25 => self.cursor_hidden = !on,
            47 | 1047 | 1049 => self.alt_screen = on,
            66 => self.application_keypad = on,
            1000 => self.mouse = mouse(Mouse::Click, self.mouse),
            1002 => self.mouse = mouse(Mouse::Drag, self.mouse),
            1003 => self.mouse = mouse(Mouse::Motion, self.mouse),
            1004 => self.focus_events = on,
            1005 => self.mouse_encoding = encoding(MouseEncoding::Utf8, self.mouse_encoding),
            1006 => self.mouse_encoding = encoding(MouseEncoding::Sgr, self.mouse_encoding),
            1007 => self.alternate_scroll = on,
            1015 => self.mouse_encoding = encoding(MouseEncoding::Urxvt, self.mouse_encoding),
            1016 => self.mouse_encoding = encoding(MouseEncoding::SgrPixels, self.mouse_encoding),
            2004 => self.bracketed_paste = on,
            2026 => self.sync_update = on,
            2031 => self.colour_scheme_events = on,
            _ => {}
        }
    }
}
