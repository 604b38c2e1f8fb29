//! Answers to what programs ask their terminal, as xterm gives them.
//!
//! What is never answered, because an answer is typed into the program: the title and the icon's name
//! (`CSI 21 t`, `CSI 20 t`), which the output can have set to a command, and the clipboard (OSC 52), which is the
//! user's. They are no [`Query`] at all.

use ptyard_core::Size;

use crate::scan::Query;
use crate::scan::signal::ColourSlot;
use crate::screen::Cursor;

/// A colour, 8 bits a channel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rgb {
    /// Red.
    pub r: u8,
    /// Green.
    pub g: u8,
    /// Blue.
    pub b: u8,
}

impl Rgb {
    /// The colour with these channels.
    #[must_use]
    pub const fn new(r: u8, g: u8, b: u8) -> Self {
        Self { r, g, b }
    }
}

/// The colours a terminal says it has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Colours {
    /// Of text.
    pub foreground: Rgb,
    /// Behind text.
    pub background: Rgb,
    /// Of the cursor.
    pub cursor: Rgb,
}

impl Default for Colours {
    /// Light grey on black: programs that adapt pick their dark theme, the one they are tested with.
    fn default() -> Self {
        Self {
            foreground: Rgb::new(0xe5, 0xe5, 0xe5),
            background: Rgb::new(0, 0, 0),
            cursor: Rgb::new(0xe5, 0xe5, 0xe5),
        }
    }
}

impl Colours {
    /// The colour in `slot`; the palette is xterm's.
    #[must_use]
    pub fn get(&self, slot: ColourSlot) -> Rgb {
        match slot {
            ColourSlot::Foreground => self.foreground,
            ColourSlot::Background => self.background,
            ColourSlot::Cursor => self.cursor,
            ColourSlot::Palette(index) => palette(index),
        }
    }
}

/// xterm's palette of 256: 16 named colours, a cube of 6x6x6, 24 greys.
fn palette(index: u8) -> Rgb {
    const NAMED: [(u8, u8, u8); 16] = [
        (0x00, 0x00, 0x00),
        (0xcd, 0x00, 0x00),
        (0x00, 0xcd, 0x00),
        (0xcd, 0xcd, 0x00),
        (0x00, 0x00, 0xee),
        (0xcd, 0x00, 0xcd),
        (0x00, 0xcd, 0xcd),
        (0xe5, 0xe5, 0xe5),
        (0x7f, 0x7f, 0x7f),
        (0xff, 0x00, 0x00),
        (0x00, 0xff, 0x00),
        (0xff, 0xff, 0x00),
        (0x5c, 0x5c, 0xff),
        (0xff, 0x00, 0xff),
        (0x00, 0xff, 0xff),
        (0xff, 0xff, 0xff),
    ];
    match index {
        0..=15 => {
            let (r, g, b) = NAMED[usize::from(index)];
            Rgb::new(r, g, b)
        }
        16..=231 => {
            let level = |step: u8| if step == 0 { 0 } else { 55 + 40 * step };
            let cube = index - 16;
            Rgb::new(level(cube / 36), level(cube / 6 % 6), level(cube % 6))
        }
        232..=255 => {
            let grey = 8 + 10 * (index - 232);
            Rgb::new(grey, grey, grey)
        }
    }
}

/// The size of a cell in pixels, for programs that ask.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CellPixels {
    /// Pixels across.
    pub width: u16,
    /// Pixels down.
    pub height: u16,
}

impl Default for CellPixels {
    /// 8x16: nothing draws these pixels, but a program that asks waits for an answer.
    fn default() -> Self {
        Self { width: 8, height: 16 }
    }
}

/// What answers depend on, at the question's position in the output.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReplyContext {
    /// Where the cursor is.
    pub cursor: Cursor,
    /// The screen's size.
    pub size: Size,
    /// Its colours.
    pub colours: Colours,
    /// The size of a cell.
    pub cell: CellPixels,
}

impl ReplyContext {
    /// A context with the default colours and cell.
    #[must_use]
    pub fn new(cursor: Cursor, size: Size) -> Self {
        Self { cursor, size, colours: Colours::default(), cell: CellPixels::default() }
    }
}

/// Whether answering `query` needs the cursor, and so a screen that is fed up to the question.
#[must_use]
pub fn needs_cursor(query: &Query) -> bool {
    matches!(query, Query::CursorPosition | Query::ExtendedCursorPosition)
}

/// The bytes that answer `query`, to be written to the program; `None` when it is not answered.
#[must_use]
pub fn reply(query: &Query, context: &ReplyContext) -> Option<Vec<u8>> {
    let ReplyContext { cursor, size, colours, cell } = context;
    let (rows, cols) = (u32::from(size.rows()), u32::from(size.cols()));
    let (row, col) = (u32::from(cursor.row) + 1, u32::from(cursor.col) + 1);
    let text = match query {
        // A VT220 (62) with ANSI colours (22): what is drawn, and nothing of sixels, printers or mice.
        Query::PrimaryAttributes => "\x1b[?62;22c".to_owned(),
        // A VT220 (1), the version as one number.
        Query::SecondaryAttributes => format!("\x1b[>1;{};0c", version_number()),
        Query::TertiaryAttributes => "\x1bP!|00000000\x1b\\".to_owned(),
        Query::Status => "\x1b[0n".to_owned(),
        Query::CursorPosition => format!("\x1b[{row};{col}R"),
        Query::ExtendedCursorPosition => format!("\x1b[?{row};{col};1R"),
        Query::Version => format!("\x1bP>|ptyard({})\x1b\\", env!("CARGO_PKG_VERSION")),
        Query::KittyKeys { flags } => format!("\x1b[?{flags}u"),
        Query::ModifyOtherKeys { value } => format!("\x1b[>4;{value}m"),
        Query::Colour { slot, end } => {
            let Rgb { r, g, b } = colours.get(*slot);
            let slot = match slot {
                ColourSlot::Foreground => "10".to_owned(),
                ColourSlot::Background => "11".to_owned(),
                ColourSlot::Cursor => "12".to_owned(),
                ColourSlot::Palette(index) => format!("4;{index}"),
            };
            let mut answer =
                format!("\x1b]{slot};rgb:{r:02x}{r:02x}/{g:02x}{g:02x}/{b:02x}{b:02x}").into_bytes();
            answer.extend_from_slice(end.as_bytes());
            return Some(answer);
        }
        Query::ProgramStatus { end } => {
            return Some([b"\x1b]7501;?", end.as_bytes()].concat());
        }
        Query::PrivateMode { number, is_set } => format!("\x1b[?{number};{}$y", mode_value(*is_set)),
        Query::AnsiMode { number, is_set } => format!("\x1b[{number};{}$y", mode_value(*is_set)),
        Query::Capabilities { names } => format!("\x1bP0+r{names}\x1b\\"),
        Query::Setting => "\x1bP0$r\x1b\\".to_owned(),
        Query::WindowPixels => {
            format!("\x1b[4;{};{}t", rows * u32::from(cell.height), cols * u32::from(cell.width))
        }
        Query::CellPixels => format!("\x1b[6;{};{}t", cell.height, cell.width),
        Query::TextArea => format!("\x1b[8;{rows};{cols}t"),
        Query::ScreenCells => format!("\x1b[9;{rows};{cols}t"),
    };
    Some(text.into_bytes())
}

/// DECRPM's values: 0 unknown, 1 set, 2 reset.
fn mode_value(is_set: Option<bool>) -> u8 {
    match is_set {
        None => 0,
        Some(true) => 1,
        Some(false) => 2,
    }
}

/// The version as `major * 10000 + minor * 100 + patch`.
fn version_number() -> u32 {
    let part = |text: &str| text.parse::<u32>().unwrap_or(0);
    part(env!("CARGO_PKG_VERSION_MAJOR")) * 10_000
        + part(env!("CARGO_PKG_VERSION_MINOR")) * 100
        + part(env!("CARGO_PKG_VERSION_PATCH"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scan::{Event, Scanner};

    /// Everything a 120x40 terminal with its cursor in row 5, column 7 answers to `output`.
    fn answers(output: &[u8]) -> String {
        let cursor = Cursor { row: 4, col: 6, visible: true };
        let context = ReplyContext::new(cursor, Size::new(120, 40).unwrap());
        let mut answers = Vec::new();
        Scanner::new().scan(0, output, &mut |signal| {
            if let Event::Query(query) = signal.event {
                answers.extend(reply(&query, &context).unwrap_or_default());
            }
        });
        String::from_utf8(answers).unwrap()
    }

    #[test]
    fn answers_are_xterms() {
        for (question, answer) in [
            ("\x1b[c", "\x1b[?62;22c"),
            ("\x1b[0c", "\x1b[?62;22c"),
            ("\x1bZ", "\x1b[?62;22c"),
            ("\x1b[=c", "\x1bP!|00000000\x1b\\"),
            ("\x1b[5n", "\x1b[0n"),
            ("\x1b[6n", "\x1b[5;7R"),
            ("\x1b[?6n", "\x1b[?5;7;1R"),
            ("\x1b[?u", "\x1b[?0u"),
            ("\x1b[>7u\x1b[?u", "\x1b[?7u"),
            ("\x1b[>4;2m\x1b[?4m", "\x1b[>4;2m"),
            ("\x1b]10;?\x07", "\x1b]10;rgb:e5e5/e5e5/e5e5\x07"),
            ("\x1b]11;?\x1b\\", "\x1b]11;rgb:0000/0000/0000\x1b\\"),
            ("\x1b]4;1;?\x07", "\x1b]4;1;rgb:cdcd/0000/0000\x07"),
            ("\x1b]4;16;#fff;231;?\x07", "\x1b]4;231;rgb:ffff/ffff/ffff\x07"),
            ("\x1b]10;?;?\x07", "\x1b]10;rgb:e5e5/e5e5/e5e5\x07\x1b]11;rgb:0000/0000/0000\x07"),
            ("\x1b]7501;?\x1b\\", "\x1b]7501;?\x1b\\"),
            ("\x1b]7501;?\x07", "\x1b]7501;?\x07"),
            ("\x1b[?2004$p", "\x1b[?2004;2$y"),
            ("\x1b[?2026h\x1b[?2026$p", "\x1b[?2026;1$y"),
            ("\x1b[?9999$p", "\x1b[?9999;0$y"),
            ("\x1b[4$p", "\x1b[4;2$y"),
            ("\x1bP+q544e\x1b\\", "\x1bP0+r544e\x1b\\"),
            ("\x1bP+q\rrm -rf\x1b\\", "\x1bP0+r\x1b\\"),
            ("\x1bP$qm\x1b\\", "\x1bP0$r\x1b\\"),
            ("\x1b[14t", "\x1b[4;640;960t"),
            ("\x1b[16t", "\x1b[6;16;8t"),
            ("\x1b[18t", "\x1b[8;40;120t"),
            ("\x1b[19t", "\x1b[9;40;120t"),
        ] {
            assert_eq!(answers(question.as_bytes()), answer, "{question:?}");
        }
        assert!(answers(b"\x1b[>q").starts_with("\x1bP>|ptyard("));
        assert!(answers(b"\x1b[>c").starts_with("\x1b[>1;"));
    }

    #[test]
    fn case_sec02_the_clipboard_is_never_read() {
        assert_eq!(answers(b"\x1b]52;c;?\x07"), "");
    }

    #[test]
    fn case_sec03_the_title_is_never_reported() {
        assert_eq!(answers(b"\x1b]2;touch PWNED\x07\x1b[21t\x1b[20t"), "");
    }

    #[test]
    fn replies_are_no_questions() {
        for question in
            ["\x1b[?62;22c", "\x1b[>1;100;0c", "\x1b[0n", "\x1b[5;7R", "\x1b[?7u", "\x1b[8;40;120t"]
        {
            assert_eq!(answers(question.as_bytes()), "", "{question:?}");
        }
    }
}
