//! What the screen shows, case by case.

mod common;

use common::{rows, screen, size, view};
use ptyard_core::{Moment, Size};
use ptyard_screen::Cursor;

fn at(ms: u64) -> Moment {
    Moment::from_millis(ms)
}

fn cursor(row: u16, col: u16) -> Cursor {
    Cursor { row, col, visible: true }
}

#[test]
fn case_a04_a_progress_bar_is_one_line() {
    let bar: String = (1..=100).map(|i| format!("\r{i:3}%")).collect();
    assert_eq!(view(80, 24, bar + "\r\n").to_text(), "100%\n");
}

#[test]
fn case_a02_controls_of_8_bits_mean_nothing_on_the_screen_and_in_plain_text() {
    for control in '\u{80}'..='\u{9f}' {
        for text in
            [format!("a{control}31mb"), format!("a\x1b[3{control}1mb"), format!("a{control}0;t{control}b")]
        {
            let shown = view(40, 2, text.clone()).to_text();
            assert_eq!(shown, format!("{}\n", ptyard_core::plain::strip(&text)), "{text:?}");
        }
    }
}

#[test]
fn case_a05_inside_a_synchronized_update_the_frame_before_it_is_shown() {
    let mut screen = screen(20, 3);
    screen.feed(b"old", at(0));
    screen.feed(b"\x1b[?2026h\x1b[2J\x1b[H", at(300));
    assert_eq!(screen.deadline(), Some(at(450)));
    let during = screen.view(0, at(449));
    assert!(during.frame_incomplete);
    assert_eq!(during.to_text(), "old\n");
    assert_eq!(screen.held(), 7);
    screen.feed(b"new\x1b[?2026l", at(449));
    let after = screen.view(0, at(449));
    assert!(!after.frame_incomplete);
    assert_eq!((after.to_text().as_str(), screen.deadline(), screen.held()), ("new\n", None, 0));
}

#[test]
fn case_a05_a_hung_update_is_shown_after_150_ms() {
    let mut screen = screen(20, 3);
    screen.feed(b"old\x1b[?2026h\x1b[2J\x1b[Hha", at(0));
    assert_eq!(screen.view(0, at(149)).to_text(), "old\n");
    let released = screen.view(0, at(150));
    assert_eq!(released.to_text(), "ha\n");
    assert!(!released.frame_incomplete);
    screen.feed(b"lf", at(151));
    assert_eq!(screen.view(0, at(151)).to_text(), "half\n");
    screen.feed(b"\x1b[?2026l\x1b[?2026h\x1b[2J", at(152));
    assert_eq!(screen.view(0, at(153)).to_text(), "half\n", "the next update holds again");
}

#[test]
fn case_a05_the_end_of_an_update_is_found_however_it_is_cut_and_written() {
    for end in ["\x1b[?2026l", "\x1b[?25;2026l", "\x1bc"] {
        for cut in 0..=end.len() {
            let mut screen = screen(20, 3);
            screen.feed(b"\x1b[?2026hnew", at(0));
            screen.feed(&end.as_bytes()[..cut], at(0));
            screen.feed(&end.as_bytes()[cut..], at(0));
            assert!(!screen.view(0, at(0)).frame_incomplete, "{end:?} at {cut}");
        }
    }
}

#[test]
fn case_a05_an_update_without_end_costs_bounded_memory() {
    let mut screen = screen(20, 3);
    screen.feed(b"\x1b[?2026h", at(0));
    for _ in 0..100 {
        screen.feed(&[b'x'; 100_000], at(0));
        assert!(screen.held() <= 1 << 20);
    }
    assert!(!screen.view(0, at(0)).frame_incomplete);
}

#[test]
fn case_a06_the_alternate_screen_is_shown_and_left() {
    let numbers: String = (1..=100).map(|i| format!("{i}\r\n")).collect();
    let mut screen = screen(20, 4);
    screen.feed(format!("before\r\n\x1b[?1049h\x1b[H{numbers}").as_bytes(), at(0));
    let alt = screen.view(10, at(0));
    assert_eq!((rows(&alt), alt.scrollback), (vec!["98", "99", "100", ""], 0));
    assert!(alt.modes.alt_screen);
    screen.feed(b"\x1b[?1049lback", at(0));
    assert_eq!(screen.view(10, at(0)).to_text(), "before\nback\n");
}

#[test]
fn case_a07_a_question_survives_any_number_of_repaints() {
    let spinner: String =
        (1..=400).map(|i| format!("\x1b[20;1H\x1b[38;2;1;2;3mspinner {i:4}\x1b[0m")).collect();
    let view = view(80, 24, format!("\x1b[2J\x1b[HProceed? 1.Yes 2.No{spinner}"));
    assert_eq!((rows(&view)[0], rows(&view)[19]), ("Proceed? 1.Yes 2.No", "spinner  400"));
}

#[test]
fn case_a09_wide_text_on_the_smallest_screens() {
    for rows in [1, 2, 3] {
        let view = view(2, rows, "中文中文x👨\u{200d}👩\u{200d}👧中");
        assert_eq!(view.cursor, cursor(rows - 1, 1));
    }
    assert!(Size::new(1, 3).is_err(), "one column is refused");
}

#[test]
fn case_a10_shrinking_cuts_no_wide_character_in_half() {
    for alt in ["", "\x1b[?1049h\x1b[H"] {
        for write in ["\x1b[1;9Hx", "\x1b[1;9H\x1b[1K", "\x1b[1;9H\x1b[P", "\x1b[1;8Hx"] {
            let mut screen = screen(10, 3);
            screen.feed(format!("{alt}12345678中").as_bytes(), at(0));
            screen.resize(size(9, 3));
            screen.feed(write.as_bytes(), at(0));
            screen.view(0, at(0));
            for cols in (2..9).rev() {
                screen.resize(size(cols, 3));
            }
        }
    }
    let mut screen = screen(10, 3);
    screen.feed("\x1b[?1049h\x1b[H12345678中".as_bytes(), at(0));
    screen.resize(size(9, 3));
    screen.feed(b"\x1b[1;9Hx", at(0));
    assert_eq!(screen.view(0, at(0)).to_text(), "12345678x\n");
}

#[test]
fn case_a12_absurd_parameters_return_at_once() {
    let view = view(80, 24, b"\x1b[99999999999999999999C\x1b[65535;65535H\x1b[65535L\x1b[65535S\x1b[5;2rX\n");
    assert_eq!(view.cursor.row, 23);
    let repeats = "a\x1b[65535b".repeat(100);
    assert_eq!(common::view(80, 24, repeats).cursor.row, 23);
}

#[test]
fn case_r07_the_largest_screen_works() {
    let view = view(1000, 1000, "中".repeat(1000));
    assert_eq!((view.lines.len(), view.cursor), (1000, cursor(1, 999)));
}

#[test]
fn case_w01_an_emoji_family_takes_two_cells_and_is_kept() {
    let family = "👨\u{200d}👩\u{200d}👧\u{200d}👦";
    let view = view(20, 2, format!("{family}|"));
    assert_eq!((rows(&view)[0].to_owned(), view.cursor), (format!("{family}|"), cursor(0, 3)));
}

#[test]
fn case_w04_a_skin_tone_takes_no_cells() {
    for (text, col) in [
        ("👋🏽|", 3),
        ("☝🏽|", 3),
        ("❤\u{fe0f}|", 3),
        ("❤|", 2),
        ("👩🏽\u{200d}⚕\u{fe0f}|", 3),
        ("🇩🇪|", 3),
        ("e\u{301}|", 2),
        ("x🏽|", 4),
        ("🏽|", 3),
        ("中\u{200d}a|", 4),
        ("中\u{200d}中|", 5),
        ("한|", 3),
    ] {
        let view = view(20, 2, text);
        assert_eq!((rows(&view)[0], view.cursor), (text, cursor(0, col)), "{text:?}");
    }
}

#[test]
fn an_emoji_that_grows_at_the_margin_stays_in_its_cell() {
    let view = view(4, 2, "abc❤\u{fe0f}d");
    assert_eq!(rows(&view), ["abc❤\u{fe0f}", "d"]);
}

#[test]
fn combining_characters_without_end_are_bounded() {
    let view = view(4, 2, format!("a{}", "\u{301}".repeat(100_000)));
    assert!(rows(&view)[0].chars().count() <= 33);
}

#[test]
fn case_w05_overwriting_half_of_a_wide_character_leaves_no_ghost() {
    assert_eq!(rows(&view(10, 1, "中\x1b[1;2Hx")), [" x"]);
    assert_eq!(rows(&view(10, 1, "中\x1b[1;1Hx")), ["x"]);
    assert_eq!(rows(&view(10, 1, "a中b\x1b[1;3H\x1b[1X|")), ["a |b"]);
    assert_eq!(rows(&view(10, 1, "a中b\x1b[1;3H\x1b[P")), ["a b"]);
    assert_eq!(rows(&view(10, 1, "a中b\x1b[1;3H\x1b[1@")), ["a   b"]);
    assert_eq!(rows(&view(10, 1, "a中b\x1b[1;2H\x1b[1K")), ["   b"]);
}

#[test]
fn wide_characters_wrap_whole() {
    let view = view(5, 3, "ab中文字");
    assert_eq!(rows(&view), ["ab中", "文字", ""]);
    assert!(view.lines[0].wrapped && !view.lines[1].wrapped);
    assert_eq!(view.to_text(), "ab中文字\n");
}

#[test]
fn invalid_utf8_shows_as_replacement_characters_however_it_is_cut() {
    let bytes = b"a\xffb\xe2\x82c\xe2\x82\x1b[mxy\xf0\x9f\x98\x80\xc3\xa9AB\xe2\xc0z\x9b1m";
    let whole = view(40, 1, bytes);
    assert_eq!(rows(&whole), ["a\u{fffd}b\u{fffd}c\u{fffd}xy😀éAB\u{fffd}\u{fffd}z\u{fffd}1m"]);
    for cut in 0..bytes.len() {
        for second in cut..bytes.len() {
            let mut screen = screen(40, 1);
            for part in [&bytes[..cut], &bytes[cut..second], &bytes[second..]] {
                screen.feed(part, at(0));
            }
            assert_eq!(rows(&screen.view(0, at(0))), rows(&whole), "{cut} {second}");
        }
    }
}

#[test]
fn titles_are_kept_pushed_and_popped() {
    let title = |bytes: &str| view(20, 2, bytes).title;
    assert_eq!(title("\x1b]0;one\x07"), "one");
    assert_eq!(title("\x1b]0;one\x07\x1b[22;0t\x1b]2;two\x1b\\\x1b[23;0t"), "one");
    assert_eq!(title("\x1b]0;one\x07\x1b]0;half\x18"), "one");
    assert_eq!(title("\x1b]0;one\x07\x1b]1;icon\x07"), "one");
    assert_eq!(title("\x1b]0;one\x07\x1bc"), "");
}

#[test]
fn margins_stop_the_cursor_and_scroll_their_region() {
    let view = view(10, 5, "1\r\n2\r\n3\r\n4\r\n5\x1b[2;4r\x1b[4;1H\nx\x1b[99A^\x1b[5;1H\x1b[9A\x1b[1Ctop");
    assert_eq!(rows(&view), ["1", "3top", "4", "x", "5"]);
}

#[test]
fn a_soft_reset_forgets_margins_and_modes_and_keeps_the_text() {
    let mut screen = screen(10, 3);
    screen.feed(b"abc\x1b[2;3r\x1b[4h\x1b[?6h\x1b[31m\x1b[?7l\x1b[?25l", at(0));
    assert!(!screen.can_skip());
    screen.feed(b"\x1b[!p", at(0));
    assert!(screen.can_skip());
    let view = screen.view(0, at(0));
    assert_eq!((rows(&view)[0], view.cursor.visible), ("abc", true));
}

#[test]
fn only_an_ordinary_screen_between_two_sequences_can_skip() {
    let can_skip = |bytes: &[u8]| {
        let mut screen = screen(10, 5);
        screen.feed(bytes, at(0));
        screen.can_skip()
    };
    assert!(can_skip(b"text\x1b[31m\r\n\x1b[?2004h\x1b)0\x0e\x0f\x1b[2;3r\x1b[r"));
    for state in [
        "\x1b[2;3r",
        "\x1b[?1049h",
        "\x1b[4h",
        "\x1b[?6h",
        "\x1b[?7l",
        "\x0e",
        "\x1b",
        "\x1b[3",
        "\x1b]0;t",
        "\x1b[?2026h",
    ] {
        assert!(!can_skip(state.as_bytes()), "{state:?}");
    }
    assert!(!can_skip(&"中".as_bytes()[..2]));
}

#[test]
fn line_drawing_is_drawn() {
    assert_eq!(rows(&view(10, 1, "\x1b(0lqk\x1b(Bq\x1b)0\x0ex\x0fx")), ["┌─┐q│x"]);
}

#[test]
fn case_n08_wrapped_lines_stay_lines_in_a_view_drawn_again() {
    let output =
        "\x1b[32ma long line of text\x1b[0m\r\n\x1b[44mwith colour behind it\x1b[0m\r\n中文中文中文x\r\nend";
    let original = view(7, 5, output);
    let again = view(7, 5, original.to_ansi());
    assert_eq!(again, original);
    assert_eq!(again.to_text(), "a long line of text\nwith colour behind it\n中文中文中文x\nend\n");
}

#[test]
fn looking_changes_nothing() {
    let bytes = "abc\x1b[31mdef\r\n中文\x1b[?2026hx\x1b[?2026l".as_bytes();
    let mut looked_at = screen(10, 3);
    for byte in bytes {
        looked_at.feed(&[*byte], at(0));
        looked_at.view(100, at(0));
    }
    assert_eq!(looked_at.view(100, at(0)), view(10, 3, bytes));
}

#[test]
fn an_osc_without_end_costs_bounded_memory() {
    let mut screen = screen(10, 3);
    screen.feed(b"ok\x1b]2;", at(0));
    for _ in 0..1000 {
        screen.feed(&[b'x'; 10_000], at(0));
    }
    screen.feed(b"\x07!", at(0));
    assert_eq!(screen.view(0, at(0)).to_text(), "ok!\n");
}
