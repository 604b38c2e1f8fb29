//! What holds for every output.

mod common;

use common::{screen, size};
use proptest::collection::vec;
use proptest::prelude::*;
use ptyard_core::{Moment, Size};
use ptyard_screen::catch_up::{Pen, skip_point};
use ptyard_screen::{Scanner, Screen, View, new_screen};

/// A piece of output: text of every kind, controls, sequences that exist and bytes that mean nothing.
fn piece() -> impl Strategy<Value = Vec<u8>> {
    let number = prop_oneof![6 => 0u32..12, 2 => 0u32..130, 1 => Just(65_535u32), 1 => Just(99_999_999u32)];
    let csi = (
        prop_oneof![6 => Just(""), 2 => Just("?"), 1 => Just(">"), 1 => Just("="), 1 => Just("<")],
        vec(number, 0..4),
        prop_oneof![8 => Just(""), 1 => Just("$"), 1 => Just(" "), 1 => Just("!")],
        prop_oneof![
            8 => (b'@'..=b'~').prop_map(char::from),
            2 => Just('m'), 2 => Just('H'), 1 => Just('r'), 1 => Just('h'), 1 => Just('l'),
        ],
    )
        .prop_map(|(marker, params, intermediate, action)| {
            let params: Vec<_> = params.iter().map(u32::to_string).collect();
            format!("\x1b[{marker}{}{intermediate}{action}", params.join(";")).into_bytes()
        });
    let mode = (
        proptest::sample::select(&[1u16, 3, 5, 6, 7, 25, 47, 1047, 1048, 1049, 2004, 2026, 2026, 1049][..]),
        any::<bool>(),
    )
        .prop_map(|(mode, on)| format!("\x1b[?{mode}{}", if on { 'h' } else { 'l' }).into_bytes());
    let escape = proptest::sample::select(
        &[
            "\x1bM", "\x1bD", "\x1bE", "\x1b7", "\x1b8", "\x1bc", "\x1b#8", "\x1bH", "\x1b(0", "\x1b)0",
            "\x1b(B", "\x1b",
        ][..],
    )
    .prop_map(|escape| escape.as_bytes().to_vec());
    let string = proptest::sample::select(
        &[
            "\x1b]0;ti\x07",
            "\x1b]8;;u\x1b\\",
            "\x1bP+q41\x1b\\",
            "\x1b_Gi=1\x1b\\",
            "\x1b]2;cut",
            "\x1bPcut",
            "\x18",
            "\x07",
        ][..],
    )
    .prop_map(|string| string.as_bytes().to_vec());
    let glyphs = vec(
        proptest::sample::select(
            &[
                "a",
                "b",
                "中",
                "한",
                "é",
                "e\u{301}",
                "👋🏽",
                "☝🏽",
                "❤\u{fe0f}",
                "👨\u{200d}👩\u{200d}👧",
                "\u{301}",
                "\u{200d}",
                "🇩🇪",
                "\u{fe0f}",
            ][..],
        ),
        1..6,
    )
    .prop_map(|glyphs| glyphs.concat().into_bytes());
    prop_oneof![
        3 => "[ -~]{1,30}".prop_map(String::into_bytes),
        3 => glyphs,
        3 => proptest::sample::select(&["\r\n", "\n", "\r", "\t", "\x08", "\x0e", "\x0f", "\x0b"][..]).prop_map(|c| c.as_bytes().to_vec()),
        6 => csi,
        2 => mode,
        2 => escape,
        1 => string,
        1 => vec(any::<u8>(), 1..12),
    ]
}

#[derive(Debug, Clone)]
enum Act {
    Feed(Vec<u8>),
    Resize(Size),
    Wait(u64),
}

fn any_size() -> impl Strategy<Value = Size> {
    let side = || prop_oneof![4 => 2u16..10, 2 => 10u16..90, 1 => 90u16..300];
    (side(), prop_oneof![1 => Just(1u16), 4 => 2u16..8, 1 => 8u16..60])
        .prop_map(|(cols, rows)| size(cols, rows))
}

fn acts() -> impl Strategy<Value = Vec<Act>> {
    vec(
        prop_oneof![
            12 => piece().prop_map(Act::Feed),
            2 => any_size().prop_map(Act::Resize),
            1 => (0u64..200).prop_map(Act::Wait),
        ],
        0..60,
    )
}

/// Feeds `bytes` in chunks of the given lengths, repeated.
fn feed(screen: &mut dyn Screen, mut bytes: &[u8], chunks: &[usize], now: Moment) {
    let mut lengths = chunks.iter().copied().cycle();
    while !bytes.is_empty() {
        let (chunk, rest) = bytes.split_at(lengths.next().unwrap_or(1).min(bytes.len()));
        screen.feed(chunk, now);
        bytes = rest;
    }
}

fn play(first: Size, acts: &[Act], chunks: &[usize], look: bool) -> View {
    let mut screen = new_screen(first, 20);
    let mut ms = 0;
    for act in acts {
        let now = Moment::from_millis(ms);
        match act {
            Act::Feed(bytes) => feed(&mut *screen, bytes, chunks, now),
            Act::Resize(size) => screen.resize(*size),
            Act::Wait(wait) => ms += wait,
        }
        if look {
            let view = screen.view(100, now);
            check(&view);
        }
    }
    screen.view(100, Moment::from_millis(ms))
}

/// What holds for every view.
fn check(view: &View) {
    assert_eq!(view.lines.len(), view.scrollback + usize::from(view.size.rows()));
    assert!(view.cursor.row < view.size.rows() && view.cursor.col < view.size.cols());
    assert!(view.scrollback <= 20);
    assert!(!view.modes.alt_screen || view.scrollback == 0);
    for line in &view.lines {
        assert!(line.text.chars().all(|c| !c.is_control()), "{:?}", line.text);
    }
    let _ = (view.to_text(), view.to_ansi());
}

fn starts_wide(text: &str) -> bool {
    text.chars().next().is_some_and(|first| unicode_width::UnicodeWidthChar::width(first) == Some(2))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, ..ProptestConfig::default() })]

    #[test]
    fn case_r07_no_bytes_at_any_size_panic(first in any_size(), acts in acts()) {
        play(first, &acts, &[usize::MAX], true);
    }

    #[test]
    fn the_same_output_shows_the_same_screen_however_it_is_cut(
        first in any_size(),
        acts in acts(),
        chunks in vec(1usize..9, 1..6),
    ) {
        let whole = play(first, &acts, &[usize::MAX], false);
        prop_assert_eq!(&play(first, &acts, &chunks, false), &whole);
        prop_assert_eq!(&play(first, &acts, &chunks, true), &whole);
    }

    #[test]
    fn case_n05_a_view_drawn_on_a_fresh_terminal_is_the_same_view(
        size in any_size(),
        pieces in vec(piece(), 0..40),
        cut in "(\x1b|\x1b\\[3|\x1b\\]0;half|\x1bPhalf)?",
        more in "[ -~]{0,12}",
    ) {
        // On three columns the engine takes the gap before a wrapped wide character for a blank once that
        // character is written again, as it is to restore a pending wrap.
        prop_assume!(size.cols() > 3);
        let mut original = new_screen(size, 20);
        let late = Moment::from_millis(1000);
        original.feed(&pieces.concat(), Moment::EPOCH);
        original.view(0, late);
        original.feed(b"\x18", late);
        let before = original.view(100, late);
        // See `View::to_ansi`: what a wide character left free in colour, where it wrapped, is not carried.
        let coloured = pieces.concat().windows(3).any(|bytes| {
            matches!(bytes, [b'[' | b';', b'4' | b'7', _] | [b'[' | b';', b'1', b'0'])
        });
        prop_assume!(!coloured || !before.lines.windows(2).any(|rows| rows[0].wrapped && starts_wide(&rows[1].text)));
        let mut fresh = new_screen(size, 20);
        fresh.feed(cut.as_bytes(), late);
        fresh.feed(&before.to_ansi(), late);
        let drawn = fresh.view(100, late);
        assert_same(&before, &drawn)?;
        // And it goes on from there in the same way.
        original.feed(more.as_bytes(), late);
        fresh.feed(more.as_bytes(), late);
        assert_same(&original.view(100, late), &fresh.view(100, late))?;
    }

    #[test]
    fn the_scanner_and_the_screen_agree_about_modes(pieces in vec(piece(), 0..40), chunk in 1usize..9) {
        let output = pieces.concat();
        let mut screen = screen(20, 5);
        let mut scanner = Scanner::new();
        let mut at = 0;
        for part in output.chunks(chunk) {
            scanner.scan(at, part, &mut |_| {});
            at += part.len() as u64;
        }
        screen.feed(&output, Moment::EPOCH);
        let late = Moment::from_millis(1000);
        let mut modes = screen.view(0, late).modes;
        modes.sync_update = scanner.modes().sync_update;
        prop_assert_eq!(&modes, scanner.modes());
    }

    #[test]
    fn signals_do_not_depend_on_the_chunks(pieces in vec(piece(), 0..40), chunk in 1usize..9) {
        let output = pieces.concat();
        let scan = |chunk| {
            let (mut scanner, mut signals, mut at) = (Scanner::new(), Vec::new(), 0);
            for part in output.chunks(chunk) {
                scanner.scan(at, part, &mut |signal| signals.push(signal));
                at += part.len() as u64;
            }
            (signals, scanner.modes().clone(), scanner.plain_since(), scanner.pen_since())
        };
        prop_assert_eq!(scan(chunk), scan(output.len().max(1)));
    }
}

/// Equal in all that is drawn. What follows the screen is compared by what it does.
fn assert_same(a: &View, b: &View) -> Result<(), TestCaseError> {
    prop_assert_eq!(a.cursor, b.cursor);
    prop_assert_eq!(&a.title, &b.title);
    prop_assert_eq!(a.lines.len(), b.lines.len());
    for (mine, theirs) in a.lines.iter().zip(&b.lines) {
        // Some wraps cannot be drawn, for one those into a row that was emptied later.
        if mine.wrapped && !theirs.wrapped {
            prop_assert_eq!(mine.text.trim_end(), &theirs.text);
        } else {
            prop_assert_eq!(mine, theirs);
        }
    }
    let in_force = |view: &View| {
        let mut modes = view.modes.clone();
        let flags = modes.kitty_flags();
        modes.kitty = Default::default();
        (modes, flags)
    };
    prop_assert_eq!(in_force(a), in_force(b));
    Ok(())
}

/// A line of a log: colours, wide text, tabs, progress bars, rests erased; longer than the screen at times.
fn log_line() -> impl Strategy<Value = String> {
    let part = prop_oneof![
        4 => "[ -~]{0,30}",
        1 => "[中文字한👋🏽é]{1,8}",
        1 => Just("\t".to_owned()),
        1 => Just("\x08\x08x".to_owned()),
        1 => Just("\r 10%\r 20%\x1b[K".to_owned()),
        1 => Just("\x1b[1K".to_owned()),
        1 => Just("\x1b[2K".to_owned()),
        1 => Just("\x1b]8;;http://x\x07".to_owned()),
        1 => Just("\x1b]133;A\x1b\\".to_owned()),
        1 => Just("e\u{301}\u{200d}".to_owned()),
        2 => (0u8..108).prop_map(|code| format!("\x1b[{code}m")),
        3 => Just("\x1b[0m".to_owned()),
        2 => Just("\x1b[m".to_owned()),
    ];
    let end = prop_oneof![8 => Just("\r\n"), 1 => Just("\n"), 1 => Just("\r\n\r\n")];
    (vec(part, 0..5), end).prop_map(|(parts, end)| parts.concat() + end)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, ..ProptestConfig::default() })]

    #[test]
    fn a_skip_shows_exactly_what_feeding_everything_shows(
        size in any_size(),
        scrollback in 0usize..12,
        before in vec(piece(), 0..30),
        run in vec(log_line(), 1..120),
        repeats in 1usize..4,
        after in vec(piece(), 0..6),
        changes_pen in any::<bool>(),
    ) {
        let now = Moment::EPOCH;
        let mut full = new_screen(size, scrollback);
        full.feed(&before.concat(), now);
        full.feed(b"\x18", now);
        full.view(0, Moment::from_millis(1000));
        let now = Moment::from_millis(1000);
        let mut skipping = new_screen(size, scrollback);
        skipping.feed(&before.concat(), Moment::EPOCH);
        skipping.feed(b"\x18", Moment::EPOCH);
        skipping.view(0, now);

        let mut run = run.concat().repeat(repeats);
        let mut scanner = Scanner::new();
        if !changes_pen {
            run = run.replace("\x1b[0m", "").replace("\x1b[m", "");
        }
        scanner.scan(0, run.as_bytes(), &mut |_| {});
        prop_assert_eq!(scanner.plain_since(), 0);
        let pen = if scanner.pen_since() == 0 { Pen::Unchanged } else { Pen::Unknown };

        full.feed(run.as_bytes(), now);
        let point = skip_point(run.as_bytes(), size.rows(), scrollback, pen);
        match point {
            Some(point) if skipping.can_skip() => skipping.feed(&run.as_bytes()[point..], now),
            _ => skipping.feed(run.as_bytes(), now),
        }
        prop_assert_eq!(full.view(100, now), skipping.view(100, now));
        full.feed(&after.concat(), now);
        skipping.feed(&after.concat(), now);
        prop_assert_eq!(full.view(100, now), skipping.view(100, now));
    }
}

#[test]
fn a_flood_is_skipped() {
    let plain: String = (0..100_000).map(|i| format!("{i}\r\n")).collect();
    let point = skip_point(plain.as_bytes(), 40, 1000, Pen::Unchanged).unwrap();
    assert!(plain.len() - point < 10_000);
    assert_eq!(skip_point(plain.as_bytes(), 40, 1000, Pen::Unknown), None, "no reset to start from");
    let coloured: String = (0..100_000).map(|i| format!("\x1b[32m{i}\x1b[0m\r\n")).collect();
    assert!(coloured.len() - skip_point(coloured.as_bytes(), 40, 1000, Pen::Unknown).unwrap() < 20_000);
    assert_eq!(skip_point(b"a\r\nb\r\n", 40, 1000, Pen::Unchanged), None);
}
