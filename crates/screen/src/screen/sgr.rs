//! SGR: colours and attributes.

use alacritty_terminal::event::VoidListener;
use alacritty_terminal::term::Term;
use alacritty_terminal::vte::ansi::{Attr, Color, Handler, NamedColor, Rgb};

use crate::parse::Csi;

const NAMED: [NamedColor; 16] = [
    NamedColor::Black,
    NamedColor::Red,
    NamedColor::Green,
    NamedColor::Yellow,
    NamedColor::Blue,
    NamedColor::Magenta,
    NamedColor::Cyan,
    NamedColor::White,
    NamedColor::BrightBlack,
    NamedColor::BrightRed,
    NamedColor::BrightGreen,
    NamedColor::BrightYellow,
    NamedColor::BrightBlue,
    NamedColor::BrightMagenta,
    NamedColor::BrightCyan,
    NamedColor::BrightWhite,
];

/// Applies every attribute of the sequence to the pen.
pub(super) fn apply(term: &mut Term<VoidListener>, csi: &Csi) {
    let mut groups = csi.groups();
    while let Some(group) = groups.next() {
        let attribute = match *group {
            [38] => colour(&mut groups.by_ref().map(|group| group[0])).map(Attr::Foreground),
            [48] => colour(&mut groups.by_ref().map(|group| group[0])).map(Attr::Background),
            [58] => colour(&mut groups.by_ref().map(|group| group[0]))
                .map(|colour| Attr::UnderlineColor(Some(colour))),
            [38, ref rest @ ..] => joined_colour(rest).map(Attr::Foreground),
            [48, ref rest @ ..] => joined_colour(rest).map(Attr::Background),
            [58, ref rest @ ..] => joined_colour(rest).map(|colour| Attr::UnderlineColor(Some(colour))),
            [4, style, ..] => Some(match style {
                0 => Attr::CancelUnderline,
                2 => Attr::DoubleUnderline,
                3 => Attr::Undercurl,
                4 => Attr::DottedUnderline,
                5 => Attr::DashedUnderline,
                _ => Attr::Underline,
            }),
            [code] => simple(code),
            _ => None,
        };
        if let Some(attribute) = attribute {
            term.terminal_attribute(attribute);
        }
    }
}

fn simple(code: u16) -> Option<Attr> {
    let named = |index: u16| Color::Named(NAMED[usize::from(index)]);
    Some(match code {
        0 => Attr::Reset,
        1 => Attr::Bold,
        2 => Attr::Dim,
        3 => Attr::Italic,
        4 => Attr::Underline,
        7 => Attr::Reverse,
        8 => Attr::Hidden,
        9 => Attr::Strike,
        21 => Attr::DoubleUnderline,
        22 => Attr::CancelBoldDim,
        23 => Attr::CancelItalic,
        24 => Attr::CancelUnderline,
        27 => Attr::CancelReverse,
        28 => Attr::CancelHidden,
        29 => Attr::CancelStrike,
        30..=37 => Attr::Foreground(named(code - 30)),
        39 => Attr::Foreground(Color::Named(NamedColor::Foreground)),
        40..=47 => Attr::Background(named(code - 40)),
        49 => Attr::Background(Color::Named(NamedColor::Background)),
        59 => Attr::UnderlineColor(None),
        90..=97 => Attr::Foreground(named(code - 90 + 8)),
        100..=107 => Attr::Background(named(code - 100 + 8)),
        _ => return None,
    })
}

/// A colour after 38, 48 or 58: `5;INDEX` or `2;R;G;B`.
fn colour(params: &mut dyn Iterator<Item = u16>) -> Option<Color> {
    let mut channel = || params.next().and_then(|value| u8::try_from(value).ok());
    match channel()? {
        5 => channel().map(Color::Indexed),
        2 => Some(Color::Spec(Rgb { r: channel()?, g: channel()?, b: channel()? })),
        _ => None,
    }
}

/// The same with colons, where an RGB colour may name its space first: `2::R:G:B`.
fn joined_colour(params: &[u16]) -> Option<Color> {
    let skipped = usize::from(params.len() > 4);
    colour(&mut params[..1].iter().chain(&params[1 + skipped..]).copied())
}
