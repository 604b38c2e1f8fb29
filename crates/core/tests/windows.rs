//! Windows one after another over a log: nothing is lost, doubled or changed, wherever they were cut.

use proptest::prelude::*;
use ptyard_core::truncate::truncate_text;
use ptyard_core::utf8::{Decoder, carry_len};
use ptyard_core::window::{Collected, Collector, CollectorSpec, EndedBy, Step};
use ptyard_core::{Exit, Moment};

/// Bytes rich in beginnings, continuations and impossible bytes.
fn bytes() -> impl Strategy<Value = Vec<u8>> {
    let byte = prop_oneof![
        2 => prop::sample::select(b"ab\r\n".to_vec()),
        3 => 0x80u8..=0xBF,
        3 => prop::sample::select(vec![0xC0, 0xC3, 0xE0, 0xE2, 0xED, 0xF0, 0xF4, 0xF5, 0xFF]),
        1 => any::<u8>(),
    ];
    let character = prop::sample::select(vec!["é", "☃", "𝄞", "\u{2028}", "\u{FFFD}"]);
    let piece = prop_oneof![3 => prop::collection::vec(byte, 1..6), 1 => character.prop_map(|c| c.as_bytes().to_vec())];
    prop::collection::vec(piece, 0..25).prop_map(|pieces| pieces.concat())
}

/// Positions in a log of `len` bytes, in order, the end among them.
fn cuts(places: &[prop::sample::Index], len: usize) -> Vec<usize> {
    let mut cuts: Vec<usize> = places.iter().map(|place| place.index(len + 1)).collect();
    cuts.push(len);
    cuts.sort_unstable();
    cuts
}

fn open(from: u64, cap_tokens: Option<i64>) -> Collector {
    Collector::new(CollectorSpec {
        from,
        mark: from,
        cap_tokens,
        conditions: vec![],
        quiet_after: Default::default(),
        started: Moment::EPOCH,
        deadline: Some(Moment::EPOCH),
    })
}

/// Feeds `log[..until]` from where the window is, in chunks that end at `chunk_ends`.
fn feed(window: &mut Collector, log: &[u8], until: usize, chunk_ends: &[usize]) {
    for end in chunk_ends.iter().copied().filter(|end| *end < until).chain([until]) {
        let at = usize::try_from(window.position()).expect("a small log");
        if end > at {
            window.bytes(at as u64, &log[at..end], Moment::EPOCH);
        }
    }
}

/// The windows that end at `window_ends`, and then the one that tells the exit.
fn windows(log: &[u8], window_ends: &[usize], chunk_ends: &[usize], cap: Option<i64>) -> Vec<Collected> {
    let mut all: Vec<Collected> = vec![];
    for end in window_ends {
        let mut window = open(all.last().map_or(0, |last| last.next), cap);
        feed(&mut window, log, *end, chunk_ends);
        assert_eq!(window.step(Moment::EPOCH), Step::Done(EndedBy::Deadline));
        all.push(window.finish());
    }
    let mut last = open(all.last().map_or(0, |last| last.next), cap);
    last.sealed(Exit::exited(0), log.len() as u64);
    feed(&mut last, log, log.len(), chunk_ends);
    assert_eq!(last.step(Moment::EPOCH), Step::Done(EndedBy::Exit));
    all.push(last.finish());
    all
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn law_02_decoding_in_chunks_equals_decoding_the_whole(
        log in bytes(),
        places in prop::collection::vec(any::<prop::sample::Index>(), 0..12),
    ) {
        let (mut decoder, mut text, mut done) = (Decoder::new(), String::new(), 0);
        for end in cuts(&places, log.len()) {
            decoder.feed(&log[done..end], &mut text);
            done = end;
            let held = carry_len(&log[..end]);
            prop_assert_eq!(decoder.held(), held);
            prop_assert_eq!(&text, &String::from_utf8_lossy(&log[..end - held]));
        }
        decoder.finish(&mut text);
        prop_assert_eq!(text, String::from_utf8_lossy(&log));
    }

    #[test]
    fn law_02_uncapped_windows_join_to_one_decode_of_the_whole(
        log in bytes(),
        window_places in prop::collection::vec(any::<prop::sample::Index>(), 0..8),
        chunk_places in prop::collection::vec(any::<prop::sample::Index>(), 0..12),
    ) {
        let windows = windows(&log, &cuts(&window_places, log.len()), &cuts(&chunk_places, log.len()), None);
        let joined: String = windows.iter().map(|window| window.text.as_str()).collect();
        prop_assert_eq!(joined, String::from_utf8_lossy(&log));
        for (before, after) in windows.iter().zip(&windows[1..]) {
            prop_assert_eq!(before.next, after.from, "windows touch");
            prop_assert_eq!(&before.exit, &None);
        }
        let last = windows.last().unwrap();
        prop_assert_eq!(last.next, log.len() as u64);
        prop_assert_eq!(&last.exit, &Some(Exit::exited(0)));
    }

    #[test]
    fn law_03_windows_that_vanish_cost_nothing(
        log in bytes(),
        places in prop::collection::vec(any::<(prop::sample::Index, bool)>(), 0..12),
    ) {
        // Each window is delivered or dropped; the cursor moves only for a delivered one.
        let ends = cuts(&places.iter().map(|(place, _)| *place).collect::<Vec<_>>(), log.len());
        let (mut cursor, mut joined) = (0, String::new());
        for (end, delivered) in ends.iter().zip(places.iter().map(|(_, delivered)| *delivered)) {
            let mut window = open(cursor, None);
            feed(&mut window, &log, *end, &[]);
            window.step(Moment::EPOCH);
            if delivered {
                let window = window.finish();
                cursor = window.next;
                joined.push_str(&window.text);
            }
        }
        let mut last = open(cursor, None);
        last.sealed(Exit::exited(0), log.len() as u64);
        feed(&mut last, &log, log.len(), &[]);
        joined.push_str(&last.finish().text);
        prop_assert_eq!(joined, String::from_utf8_lossy(&log));
    }

    #[test]
    fn law_05_a_capped_window_is_the_uncapped_one_truncated(
        log in bytes(),
        chunk_places in prop::collection::vec(any::<prop::sample::Index>(), 0..12),
        window_places in prop::collection::vec(any::<prop::sample::Index>(), 0..3),
        cap in 0i64..30,
    ) {
        let (window_ends, chunk_ends) = (cuts(&window_places, log.len()), cuts(&chunk_places, log.len()));
        let whole = windows(&log, &window_ends, &chunk_ends, None);
        let capped = windows(&log, &window_ends, &chunk_ends, Some(cap));
        for (whole, capped) in whole.iter().zip(&capped) {
            let expected = truncate_text(&whole.text, Some(cap));
            prop_assert_eq!(&capped.text, &expected.text);
            prop_assert_eq!(capped.original_token_count, expected.original_token_count);
            prop_assert_eq!((capped.from, capped.next), (whole.from, whole.next));
        }
    }

    #[test]
    fn law_01_what_was_evicted_is_counted(
        log in bytes(),
        gap in any::<(prop::sample::Index, prop::sample::Index)>(),
    ) {
        let (a, b) = (gap.0.index(log.len() + 1), gap.1.index(log.len() + 1));
        let (gone_from, gone_to) = (a.min(b), a.max(b));
        let mut window = open(0, None);
        feed(&mut window, &log, gone_from, &[]);
        window.gap(gone_to as u64);
        feed(&mut window, &log, log.len(), &[]);
        window.sealed(Exit::exited(0), log.len() as u64);
        let window = window.finish();
        prop_assert_eq!(window.evicted, (gone_to - gone_from) as u64);
        let kept = if gone_from == gone_to {
            String::from_utf8_lossy(&log).into_owned()
        } else {
            format!("{}{}", String::from_utf8_lossy(&log[..gone_from]), String::from_utf8_lossy(&log[gone_to..]))
        };
        prop_assert_eq!(window.text, kept);
    }
}

#[test]
fn r01_the_windows_around_a_split_character() {
    let log = b"h\xC3\xA9llo\n";
    let texts: Vec<String> = windows(log, &[2], &[], None).into_iter().map(|window| window.text).collect();
    assert_eq!(texts, ["h", "éllo\n"]);
}

#[test]
fn r02_r03_windows_hold_nothing_that_cannot_become_a_character() {
    for (log, shown) in [
        (&b"x\xFF"[..], "x\u{FFFD}"),
        (b"x\xC0", "x\u{FFFD}"),
        (b"x\x80", "x\u{FFFD}"),
        (b"x\xED\xA0", "x\u{FFFD}\u{FFFD}"),
        (b"x\xE0\x80", "x\u{FFFD}\u{FFFD}"),
        (b"x\xF4\x90", "x\u{FFFD}\u{FFFD}"),
    ] {
        let first = &windows(log, &[log.len()], &[], None)[0];
        assert_eq!((first.text.as_str(), first.next), (shown, log.len() as u64), "{log:02x?}");
    }
}

#[test]
fn case_u01_a_character_printed_in_two_halves() {
    let texts: Vec<String> =
        windows(b"\xE4\xB8\xAD\n", &[2], &[2], None).into_iter().map(|window| window.text).collect();
    assert_eq!(texts, ["", "中\n"]);
}
