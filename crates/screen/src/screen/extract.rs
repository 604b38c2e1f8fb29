//! A view out of the engine's grid.

use alacritty_terminal::grid::{Dimensions, Row};
use alacritty_terminal::index::{Column, Line as GridLine};
use alacritty_terminal::term::TermMode;
use alacritty_terminal::term::cell::{Cell, Flags};
use alacritty_terminal::vte::ansi::{CharsetIndex, Color, NamedColor, StandardCharset};

use super::emulator::Emulator;
use super::glyph::SKIN_TONES;
use super::style::{Colour, Style, Underline};
use super::view::{Cursor, DrawingState, Line, Run, View};

pub(super) fn cursor(emulator: &Emulator) -> Cursor {
    let point = emulator.term.grid().cursor.point;
    Cursor {
        row: u16::try_from(point.line.0).unwrap_or(0),
        col: u16::try_from(point.column.0).unwrap_or(0),
        visible: emulator.term.mode().contains(TermMode::SHOW_CURSOR),
    }
}

pub(super) fn view(emulator: &Emulator, scrollback: usize, frame_incomplete: bool) -> View {
    let grid = emulator.term.grid();
    let scrollback = scrollback.min(grid.history_size());
    let rows = i32::from(emulator.size.rows());
    let lines = (-(scrollback as i32)..rows)
        .map(|row| line(&grid[GridLine(row)], (row + 1 < rows).then(|| &grid[GridLine(row + 1)])))
        .collect();
    let saved = &grid.saved_cursor;
    let charsets = &grid.cursor.charsets;
    let is_drawing = |index| charsets[index] == StandardCharset::SpecialCharacterAndLineDrawing;
    View {
        size: emulator.size,
        cursor: cursor(emulator),
        title: emulator.title.clone(),
        modes: emulator.modes.clone(),
        lines,
        scrollback,
        frame_incomplete,
        state: DrawingState {
            pen: style(&grid.cursor.template),
            wrap_pending: grid.cursor.input_needs_wrap,
            margins: emulator.margins,
            line_drawing: [CharsetIndex::G0, CharsetIndex::G1, CharsetIndex::G2, CharsetIndex::G3]
                .map(is_drawing),
            shifted: emulator.shifted,
            saved: (
                u16::try_from(saved.point.line.0).unwrap_or(0),
                u16::try_from(saved.point.column.0).unwrap_or(0),
                style(&saved.template),
            ),
        },
    }
}

/// A row as text and runs. A half of a wide character without its other half is a blank, so that every row keeps
/// its columns.
fn line(row: &Row<Cell>, next: Option<&Row<Cell>>) -> Line {
    let starts_wide = |row: &Row<Cell>| {
        row[Column(0)].flags.contains(Flags::WIDE_CHAR)
            && row[Column(1)].flags.contains(Flags::WIDE_CHAR_SPACER)
    };
    let columns = row.len();
    let wrapped = columns > 0 && row[Column(columns - 1)].flags.contains(Flags::WRAPLINE);
    let mut text = String::with_capacity(columns);
    let mut runs: Vec<Run> = Vec::new();
    let mut col = 0;
    while col < columns {
        let cell = &row[Column(col)];
        let start = text.len();
        let mut width = 1;
        let mut is_vague = false;
        let is_leading = cell.flags.contains(Flags::LEADING_WIDE_CHAR_SPACER);
        let next_is_spacer =
            col + 1 < columns && row[Column(col + 1)].flags.contains(Flags::WIDE_CHAR_SPACER);
        if cell.flags.contains(Flags::WIDE_CHAR_SPACER)
            || cell.flags.contains(Flags::WIDE_CHAR) && !next_is_spacer
            || cell.c == '\t'
        {
            text.push(' ');
        } else if is_leading && wrapped && col + 1 == columns && next.is_some_and(starts_wide) {
            // Left free by the wide character that went to the next row: no text.
        } else {
            text.push(cell.c);
            for &c in cell.zerowidth().unwrap_or_default() {
                text.push(c);
                is_vague = true;
            }
            if cell.flags.contains(Flags::WIDE_CHAR) {
                width = 2;
            }
        }
        let style = style(cell);
        let bytes = (text.len() - start) as u32;
        if SKIN_TONES.contains(&cell.c) {
            // By itself: it must not be drawn so that it joins the character before it.
            if let Some(run) = runs.last_mut() {
                run.is_vague = true;
            }
        }
        match runs.last_mut() {
            Some(run) if run.style == style && !run.is_vague && !is_vague => {
                run.bytes += bytes;
                run.cols += width;
            }
            _ => runs.push(Run { col: col as u16, cols: width, bytes, style, is_vague }),
        }
        col += usize::from(width);
    }
    if !wrapped {
        text.truncate(text.trim_end_matches(' ').len());
        trim(&mut runs, text.len());
    }
    Line { text, wrapped, runs }
}

/// Cuts the blanks in default style off the end.
fn trim(runs: &mut Vec<Run>, text_len: usize) {
    let total: usize = runs.iter().map(|run| run.bytes as usize).sum();
    let mut blank = total - text_len;
    while let Some(run) = runs.last_mut() {
        if run.style != Style::default() || blank == 0 {
            break;
        }
        let cut = blank.min(run.bytes as usize);
        run.bytes -= cut as u32;
        run.cols -= cut as u16;
        blank -= cut;
        if run.bytes > 0 {
            break;
        }
        runs.pop();
    }
}

fn style(cell: &Cell) -> Style {
    let flags = cell.flags;
    let underline = match () {
        () if flags.contains(Flags::UNDERLINE) => Underline::Single,
        () if flags.contains(Flags::DOUBLE_UNDERLINE) => Underline::Double,
        () if flags.contains(Flags::UNDERCURL) => Underline::Curly,
        () if flags.contains(Flags::DOTTED_UNDERLINE) => Underline::Dotted,
        () if flags.contains(Flags::DASHED_UNDERLINE) => Underline::Dashed,
        () => Underline::None,
    };
    Style {
        foreground: colour(cell.fg),
        background: colour(cell.bg),
        underline_colour: cell.underline_color().map_or(Colour::Default, colour),
        underline,
        bold: flags.contains(Flags::BOLD),
        dim: flags.contains(Flags::DIM),
        italic: flags.contains(Flags::ITALIC),
        reverse: flags.contains(Flags::INVERSE),
        hidden: flags.contains(Flags::HIDDEN),
        strike: flags.contains(Flags::STRIKEOUT),
    }
}

fn colour(colour: Color) -> Colour {
    match colour {
        Color::Spec(rgb) => Colour::Rgb(rgb.r, rgb.g, rgb.b),
        Color::Indexed(index) => Colour::Palette(index),
        Color::Named(named) if (named as usize) < 16 => Colour::Palette(named as u8),
        Color::Named(NamedColor::Foreground | NamedColor::Background | _) => Colour::Default,
    }
}
