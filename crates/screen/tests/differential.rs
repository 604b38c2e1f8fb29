//! The screen against two other implementations.
//!
//! Known differences, left out of the generated output or listed here:
//!
//! * `avt` gives combining characters and joiners a cell each, and counts every character of an emoji sequence by
//!   itself, as the engine's own parser does. No emoji sequences are generated, accents only against the engine.
//! * `avt` and the engine differ in where a tab after the last column goes. No tabs are generated.
//! * The engine's own parser keeps a pending wrap over a line feed or a reverse index. Every line feed follows a
//!   carriage return, and reverse indexes are compared with `avt` only.
//! * The engine's own parser moves the cursor through margins, and wrongly with the origin mode: neither is
//!   generated against it. Against `avt` margins are.
//! * REP after a control or a sequence repeats nothing here. It is generated right after text only.
//! * Erasing and inserting in the midst of a wide character: `avt` blanks its halves at once, here the view does.
//! * With a wrap pending, `avt` edits behind the last column, the engine (as xterm) in it: against `avt` a column
//!   is addressed before each edit.
//! * A cursor is saved with its pending wrap in the engine (as in xterm), without it in `avt`: against `avt` a carriage
//!   return comes before each.
//! * `avt` inserts and deletes lines outside of the margins too, where xterm and the engine do nothing.
//! * `CSI 2 J` pushes the screen into the scrollback in the engine, not in `avt`: only screens are compared.

#![expect(clippy::unwrap_used, reason = "these are tests; the lint knows only test functions")]

mod common;

use alacritty_terminal::event::VoidListener;
use alacritty_terminal::index::{Column, Line};
use alacritty_terminal::term::cell::Flags;
use alacritty_terminal::term::test::TermSize;
use alacritty_terminal::term::{Config, Term};
use alacritty_terminal::vte::ansi::Processor;
use common::{recording, recordings, rows, size};
use proptest::collection::vec;
use proptest::prelude::*;
use ptyard_core::{Moment, Size};
use ptyard_screen::{View, new_screen};

fn ours(size: Size, output: &str) -> View {
    let mut screen = new_screen(size, 0);
    screen.feed(output.as_bytes(), Moment::EPOCH);
    screen.view(0, Moment::from_millis(1000))
}

/// The screen's rows and the cursor as the engine has them behind its own parser.
fn engine(size: Size, output: &str) -> (Vec<String>, (usize, usize)) {
    let (cols, rows) = (usize::from(size.cols()), usize::from(size.rows()));
    let config = Config { scrolling_history: 0, ..Config::default() };
    let mut term = Term::new(config, &TermSize::new(cols, rows), VoidListener);
    let mut parser: Processor = Processor::new();
    parser.advance(&mut term, output.as_bytes());
    parser.stop_sync(&mut term);
    let spacers = Flags::WIDE_CHAR_SPACER | Flags::LEADING_WIDE_CHAR_SPACER;
    let text = (0..rows as i32)
        .map(|row| {
            let cells = (0..cols).map(|col| &term.grid()[Line(row)][Column(col)]);
            let text: String = cells
                .filter(|cell| !cell.flags.intersects(spacers))
                .flat_map(|cell| {
                    let c = if cell.c == '\t' { ' ' } else { cell.c };
                    std::iter::once(c).chain(cell.zerowidth().unwrap_or_default().iter().copied())
                })
                .collect();
            text.trim_end_matches(' ').to_owned()
        })
        .collect();
    let point = term.grid().cursor.point;
    (text, (point.line.0 as usize, point.column.0))
}

fn avt(size: Size, output: &str) -> (Vec<String>, (usize, usize)) {
    let (cols, rows) = (usize::from(size.cols()), usize::from(size.rows()));
    let mut terminal = avt::Terminal::new(cols, rows).unwrap();
    terminal.feed(output);
    let text =
        terminal.screen().visible_lines().map(|line| line.text().trim_end_matches(' ').to_owned()).collect();
    let cursor = terminal.cursor();
    // A pending wrap is a column of its own there.
    (text, (cursor.row, cursor.col.min(cols - 1)))
}

fn assert_rows(view: &View, (text, cursor): (Vec<String>, (usize, usize)), name: &str) {
    let row_text: Vec<String> =
        rows(view).into_iter().map(|row| row.trim_end_matches(' ').to_owned()).collect();
    assert_eq!(row_text, text, "{name}");
    assert_eq!((usize::from(view.cursor.row), usize::from(view.cursor.col)), cursor, "{name}");
}

fn text() -> impl Strategy<Value = String> {
    prop_oneof![4 => "[ -~]{1,20}", 1 => "[éüß中文한]{1,6}", 1 => "[a-z]\u{301}", 1 => "[a-z]\x1b\\[[1-9]b"]
}

fn sgr() -> impl Strategy<Value = String> {
    proptest::sample::select(
        &[
            "\x1b[m",
            "\x1b[1;31m",
            "\x1b[38;5;200m",
            "\x1b[48;2;1;2;3m",
            "\x1b[38:2::9:8:7m",
            "\x1b[4:3m",
            "\x1b[7m",
        ][..],
    )
    .prop_map(str::to_owned)
}

fn moves() -> impl Strategy<Value = String> {
    prop_oneof![
        3 => Just("\r\n".to_owned()),
        1 => Just("\r".to_owned()),
        1 => Just("\x08".to_owned()),
        3 => (1u16..12, 1u16..30).prop_map(|(row, col)| format!("\x1b[{row};{col}H")),
        4 => (0u16..9, proptest::sample::select(&b"ABCDEFG`de"[..])).prop_map(|(n, c)| format!("\x1b[{n}{}", c as char)),
        // A carriage return first: a reverse index that scrolls ends a pending wrap in xterm and here, and not there.
        1 => proptest::sample::select(&["\x1b7", "\x1b8", "\r\x1bM", "\x1b[?25l", "\x1b[?25h"][..]).prop_map(str::to_owned),
    ]
}

/// Erasing and inserting, for output without wide characters.
fn edits(actions: &'static [u8]) -> impl Strategy<Value = String> {
    prop_oneof![
        2 => (0u16..3).prop_map(|n| format!("\x1b[{n}K")),
        1 => (0u16..2).prop_map(|n| format!("\x1b[{n}J")),
        3 => (1u16..9, proptest::sample::select(actions)).prop_map(|(n, c)| format!("\x1b[{n}{}", c as char)),
    ]
}

fn narrow(output: &[String]) -> String {
    output.concat().replace(['中', '文', '한'], "w").replace('\u{301}', "")
}

fn for_avt(output: &[String]) -> String {
    narrow(output).replace("\x1b7", "\r\x1b7")
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 500, ..ProptestConfig::default() })]

    #[test]
    fn text_and_movement_equal_the_engines_own_parser(
        output in vec(prop_oneof![4 => text(), 2 => sgr(), 4 => moves()], 0..40),
        cols in 8u16..30,
        lines in 2u16..12,
    ) {
        let (size, output) = (size(cols, lines), output.concat().replace("\x1bM", ""));
        assert_rows(&ours(size, &output), engine(size, &output), &format!("{output:?}"));
    }

    #[test]
    fn edits_equal_the_engines_own_parser(
        output in vec(prop_oneof![4 => text(), 1 => sgr(), 3 => moves(), 3 => edits(b"@LMPSTX")], 0..40),
        cols in 8u16..30,
        lines in 3u16..12,
    ) {
        let (size, output) = (size(cols, lines), narrow(&output));
        // The one deliberate repair: erasing above the second row includes the first.
        let output = output.replace("\x1b[1J", "").replace("\x1bM", "");
        assert_rows(&ours(size, &output), engine(size, &output), &format!("{output:?}"));
    }

    #[test]
    fn text_and_movement_equal_avts(
        output in vec(prop_oneof![4 => text(), 2 => sgr(), 4 => moves()], 0..40),
        cols in 8u16..30,
        lines in 2u16..12,
    ) {
        let (size, output) = (size(cols, lines), for_avt(&output));
        assert_rows(&ours(size, &output), avt(size, &output), &format!("{output:?}"));
    }

    #[test]
    fn margins_and_edits_equal_avts(
        margins in (1u16..5, 5u16..12),
        output in vec(
            prop_oneof![4 => text(), 1 => sgr(), 3 => moves(), 3 => edits(b"@PSTX").prop_map(|edit| format!("\x1b[9G{edit}"))],
            0..40,
        ),
    ) {
        let (size, output) = (size(20, 11), for_avt(&output));
        let output = format!("\x1b[{};{}r{output}", margins.0, margins.1);
        assert_rows(&ours(size, &output), avt(size, &output), &format!("{output:?}"));
    }
}

#[test]
fn recorded_sessions_equal_the_engines_own_parser() {
    for (name, text) in recordings() {
        let (size, events) = recording(&text);
        let output: Vec<u8> = events.into_iter().flat_map(|(_, bytes)| bytes).collect();
        let output = String::from_utf8(output).unwrap();
        assert_rows(&ours(size, &output), engine(size, &output), &name);
    }
}

#[test]
fn recorded_sessions_equal_avts() {
    for (name, text) in recordings() {
        let (size, events) = recording(&text);
        let output: Vec<u8> = events.into_iter().flat_map(|(_, bytes)| bytes).collect();
        let output = String::from_utf8(output).unwrap();
        assert_rows(&ours(size, &output), avt(size, &output), &name);
    }
}
