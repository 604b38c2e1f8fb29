//! How text is drawn.

/// A colour of a cell.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Colour {
    /// The terminal's own.
    #[default]
    Default,
    /// Of the palette; 0..=15 are the named ones.
    Palette(u8),
    /// Itself.
    Rgb(u8, u8, u8),
}

/// The line under a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Underline {
    /// None.
    #[default]
    None,
    /// One.
    Single,
    /// Two.
    Double,
    /// A wave.
    Curly,
    /// Dots.
    Dotted,
    /// Dashes.
    Dashed,
}

/// Colours and attributes of a cell.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[expect(clippy::struct_excessive_bools, reason = "attributes are independent, as in the terminal")]
pub struct Style {
    /// Of the text.
    pub foreground: Colour,
    /// Behind it.
    pub background: Colour,
    /// Of the line under it.
    pub underline_colour: Colour,
    /// The line under it.
    pub underline: Underline,
    /// Bold.
    pub bold: bool,
    /// Dim.
    pub dim: bool,
    /// Italic.
    pub italic: bool,
    /// Foreground and background exchanged.
    pub reverse: bool,
    /// Not shown.
    pub hidden: bool,
    /// Struck through.
    pub strike: bool,
}

impl Style {
    /// Appends the SGR sequence that sets exactly this style, whatever was set before.
    pub(crate) fn write_sgr(&self, out: &mut Vec<u8>) {
        use std::io::Write as _;
        out.extend_from_slice(b"\x1b[0");
        let flags = [
            (self.bold, "1"),
            (self.dim, "2"),
            (self.italic, "3"),
            (self.reverse, "7"),
            (self.hidden, "8"),
            (self.strike, "9"),
        ];
        for (_, code) in flags.iter().filter(|(on, _)| *on) {
            out.push(b';');
            out.extend_from_slice(code.as_bytes());
        }
        out.extend_from_slice(match self.underline {
            Underline::None => b"",
            Underline::Single => b";4",
            Underline::Double => b";4:2",
            Underline::Curly => b";4:3",
            Underline::Dotted => b";4:4",
            Underline::Dashed => b";4:5",
        });
        for (colour, base) in [(self.foreground, 30), (self.background, 40), (self.underline_colour, 50)] {
            // Writing to a vector cannot fail.
            let _ = match colour {
                Colour::Default => Ok(()),
                Colour::Palette(n @ 0..=7) if base < 50 => write!(out, ";{}", base + n),
                Colour::Palette(n @ 8..=15) if base < 50 => write!(out, ";{}", base + 60 + n - 8),
                Colour::Palette(n) => write!(out, ";{};5;{n}", base + 8),
                Colour::Rgb(r, g, b) => write!(out, ";{};2;{r};{g};{b}", base + 8),
            };
        }
        out.push(b'm');
    }
}
