//! A view as the bytes that draw it.

use std::cmp::Ordering;
use std::io::Write as _;

use unicode_width::UnicodeWidthChar;

use super::glyph::ZWJ;
use super::style::{Colour, Style};
use super::view::{Line, View};
use crate::modes::{Mouse, MouseEncoding};

/// Writes formatted text to a vector, which cannot fail.
macro_rules! put {
    ($out:expr, $($format:tt)+) => {{
        let _ = write!($out, $($format)+);
    }};
}

/// Ends whatever sequence was cut, and brings every mode that matters for drawing to its default:
/// CAN, ST, end of an update, soft reset, normal screen, keys, mouse, wrapping, charsets, margins, pen.
const PREAMBLE: &[u8] = b"\x18\x1b\\\x1b[?2026l\x1b[!p\x1b[?1049l\x1b[=0;1u\x1b[>4;0m\x1b>\
    \x1b[?1;9;66;1000;1002;1003;1004;1005;1006;1015;1016;2004;2031;5;6l\x1b[?7;25h\x1b[4;20l\
    \x1b(B\x1b)B\x0f\x1b[r\x1b[0m";

pub(super) fn draw(view: &View) -> Vec<u8> {
    let mut out = PREAMBLE.to_vec();
    if view.modes.alt_screen {
        out.extend_from_slice(b"\x1b[?1049h");
    }
    out.extend_from_slice(b"\x1b[H\x1b[J");
    put!(out, "\x1b]2;{}\x1b\\", view.title);
    lines(view, &mut out);
    state(view, &mut out);
    cursor(view, &mut out);
    modes(view, &mut out);
    out
}

fn lines(view: &View, out: &mut Vec<u8>) {
    let last = view.lines.len().saturating_sub(1);
    for (i, line) in view.lines.iter().enumerate() {
        let used = paint(line, out);
        if i == last {
            break;
        }
        let next = &view.lines[i + 1];
        let next_run = next.runs.first().filter(|run| run.bytes > 0);
        // An emoji would join one that ends in a joiner.
        let joins = line.text.ends_with(ZWJ) && !next.text.starts_with(|c: char| c.is_ascii());
        out.extend_from_slice(b"\x1b[0m");
        match next_run {
            // The next row starts by wrapping. A new row takes the colour of the pen that led to it, so the pen
            // has to be plain.
            Some(run) if line.wrapped && used && !joins => {
                if run.style.background != Colour::Default && has_gap(view, line) {
                    out.extend_from_slice(b"\r\n");
                } else if run.style.background != Colour::Default {
                    out.extend_from_slice(b" \r");
                }
            }
            _ => out.extend_from_slice(b"\r\n"),
        }
    }
    out.extend_from_slice(b"\x1b[0m");
}

/// Whether the last cell of a row was left free by a wide character.
fn has_gap(view: &View, line: &Line) -> bool {
    let width: u16 = line.runs.iter().map(|run| run.cols).sum();
    width < view.size.cols() || line.runs.last().is_some_and(|run| run.bytes == 0)
}

/// Paints one row from its first column; tells whether there was anything.
fn paint(line: &Line, out: &mut Vec<u8>) -> bool {
    let mut style = Style::default();
    out.extend_from_slice(b"\x1b[0m");
    let mut at = 0;
    let mut was_vague = false;
    for run in &line.runs {
        if run.style != style {
            style = run.style;
            style.write_sgr(out);
        }
        if was_vague {
            // Wherever the other terminal's cursor went, the next run has its column.
            put!(out, "\x1b[{}G", run.col + 1);
        }
        let end = at + run.bytes as usize;
        let text = line.text.as_bytes();
        out.extend_from_slice(&text[at.min(text.len())..end.min(text.len())]);
        let blanks = end.saturating_sub(text.len().max(at));
        out.resize(out.len() + blanks, b' ');
        at = end;
        was_vague = run.is_vague;
    }
    !line.runs.is_empty()
}

fn state(view: &View, out: &mut Vec<u8>) {
    let state = &view.state;
    if let Some((top, bottom)) = state.margins {
        put!(out, "\x1b[{};{}r", top + 1, bottom + 1);
    }
    let (row, col, style) = state.saved;
    if (row, col, style) != (0, 0, Style::default()) {
        put!(out, "\x1b[{};{}H", row + 1, col + 1);
        style.write_sgr(out);
        out.extend_from_slice(b"\x1b7");
    }
    if view.modes.origin {
        out.extend_from_slice(b"\x1b[?6h");
    }
}

fn cursor(view: &View, out: &mut Vec<u8>) {
    let state = &view.state;
    let origin = if view.modes.origin { state.margins.map_or(0, |(top, _)| top) } else { 0 };
    let row = view.cursor.row.saturating_sub(origin) + 1;
    let mut col = view.cursor.col + 1;
    let pending = state.wrap_pending.then(|| {
        // A blank that was cut off the end can be written again as well.
        last_cell(view).unwrap_or((view.size.cols() - 1, " ", Style::default()))
    });
    if let Some((cell_col, ..)) = pending {
        col = cell_col + 1;
    }
    if is_out_of_reach(view) {
        out.extend_from_slice(b"\x1b8");
        let (from, to) = (state.saved.0, view.cursor.row);
        let step: &[u8] = if from < to { b"\x1bD" } else { b"\x1bM" };
        out.extend(step.repeat(usize::from(from.abs_diff(to))));
        match (col - 1).cmp(&state.saved.1) {
            Ordering::Greater => put!(out, "\x1b[{}C", col - 1 - state.saved.1),
            Ordering::Less => put!(out, "\x1b[{}D", state.saved.1 - (col - 1)),
            Ordering::Equal => {}
        }
    } else {
        put!(out, "\x1b[{row};{col}H");
    }
    if let Some((_, text, style)) = pending {
        // Writing the last cell again brings back the state in which the next character wraps.
        style.write_sgr(out);
        out.extend_from_slice(text.as_bytes());
    }
    state.pen.write_sgr(out);
    for (set, drawing) in [b'(', b')', b'*', b'+'].into_iter().zip(state.line_drawing) {
        if drawing {
            out.extend_from_slice(&[0x1b, set, b'0']);
        }
    }
    if state.shifted {
        out.push(0x0e);
    }
}

/// Whether the cursor is outside of margins that it is addressed within. Only the saved position, and steps from there,
/// lead to such a place.
fn is_out_of_reach(view: &View) -> bool {
    let (row, saved) = (view.cursor.row, view.state.saved.0);
    let same_side = |(top, bottom)| (row < top && saved < top) || (row > bottom && saved > bottom);
    view.modes.origin && view.state.margins.is_some_and(same_side)
}

/// The last character of the cursor's row, when it reaches the margin: its column, text and style.
fn last_cell(view: &View) -> Option<(u16, &str, Style)> {
    let line = view.screen_lines().get(usize::from(view.cursor.row))?;
    let run = line.runs.last()?;
    let end: usize = line.runs.iter().map(|run| run.bytes as usize).sum();
    let start = end - run.bytes as usize;
    let text = line.text.get(start..).unwrap_or_default();
    let (col, text) = if run.is_vague {
        (run.col, text)
    } else if end > line.text.len() {
        // Blanks in colour are not part of the text.
        (run.col + run.cols - 1, " ")
    } else {
        let last = text.chars().next_back()?;
        let width = last.width()? as u16;
        (run.col + run.cols - width, &text[text.len() - last.len_utf8()..])
    };
    (run.col + run.cols == view.size.cols()).then_some((col, text, run.style))
}

fn modes(view: &View, out: &mut Vec<u8>) {
    let modes = &view.modes;
    let private = [
        (modes.application_cursor, 1),
        (modes.reverse_video, 5),
        (modes.cursor_blink, 12),
        (modes.focus_events, 1004),
        (modes.bracketed_paste, 2004),
        (modes.colour_scheme_events, 2031),
    ];
    for (_, number) in private.iter().filter(|(on, _)| *on) {
        put!(out, "\x1b[?{number}h");
    }
    for (off, number) in [(!modes.autowrap, 7), (modes.cursor_hidden, 25), (!modes.alternate_scroll, 1007)] {
        if off {
            put!(out, "\x1b[?{number}l");
        }
    }
    for (on, number) in [(modes.insert, 4), (modes.newline, 20)] {
        if on {
            put!(out, "\x1b[{number}h");
        }
    }
    match modes.mouse {
        Mouse::Off => {}
        Mouse::Press => out.extend_from_slice(b"\x1b[?9h"),
        Mouse::Click => out.extend_from_slice(b"\x1b[?1000h"),
        Mouse::Drag => out.extend_from_slice(b"\x1b[?1002h"),
        Mouse::Motion => out.extend_from_slice(b"\x1b[?1003h"),
    }
    match modes.mouse_encoding {
        MouseEncoding::Legacy => {}
        MouseEncoding::Utf8 => out.extend_from_slice(b"\x1b[?1005h"),
        MouseEncoding::Sgr => out.extend_from_slice(b"\x1b[?1006h"),
        MouseEncoding::Urxvt => out.extend_from_slice(b"\x1b[?1015h"),
        MouseEncoding::SgrPixels => out.extend_from_slice(b"\x1b[?1016h"),
    }
    if modes.application_keypad {
        out.extend_from_slice(b"\x1b=");
    }
    if modes.cursor_style != 0 {
        put!(out, "\x1b[{} q", modes.cursor_style);
    }
    if modes.modify_other_keys != 0 {
        put!(out, "\x1b[>4;{}m", modes.modify_other_keys);
    }
    if modes.kitty_flags() != 0 {
        put!(out, "\x1b[={};1u", modes.kitty_flags());
    }
}
