use proptest::prelude::*;

use super::*;

/// What no typed text may hold.
fn is_forbidden(c: char) -> bool {
    matches!(c, '\0'..='\u{8}' | '\u{B}'..='\u{1F}' | '\u{7F}'..='\u{9F}')
}

#[test]
fn case_b01_the_end_marker_goes_whole_and_is_told() {
    let cleaned = clean("echo safe \x1b[201~\rtouch PWNED\r");
    assert_eq!(cleaned.text, "echo safe \ntouch PWNED\n");
    assert_eq!(cleaned.removed.of(Kind::PasteMarker), 1);
    assert_eq!(cleaned.removed.characters(), 6);
    assert_eq!(cleaned.removed.to_string(), "6 characters: paste_marker 1");
}

#[test]
fn case_b03_nested_markers_do_not_close_up() {
    for nested in [
        "\x1b[20\x1b[201~1~x",
        "\x1b\x1b[201~[201~x",
        "\x1b[2\u{9b}201~01~x",
        "\u{9b}20\x1b[200~1~x",
        "\x1b[20\x001~x",
        "\x1b[20\x7f1~x",
    ] {
        let once = clean(nested).text;
        assert!(!once.contains(is_forbidden), "{nested:?} became {once:?}");
        assert!(once.ends_with('x'), "{nested:?} became {once:?}");
        assert_eq!(clean(&once).text, once);
    }
}

#[test]
fn each_sequence_goes_with_all_that_belongs_to_it() {
    let table = [
        ("a\x1b[31mb\x1b[?25;1$pc\x1b[ qd", "abcd"),
        ("a\x1b]0;title\x07b\x1b]0;title\x1b\\c\x1b]0;title\u{9c}d", "abcd"),
        ("a\x1bPdcs\x1b\\b\x1b_apc\x1b\\c\x1b^pm\x1b\\d\x1bXsos\x1b\\e", "abcde"),
        ("a\u{9b}31mb\u{9d}0;t\u{9c}c\u{90}q\u{9c}d\u{85}e", "abcde"),
        ("a\x1b(Bb\x1bcc\x1bOPd\u{8f}Pe\x1b7f", "abcdef"),
        // Not sequences: the characters after them are text.
        ("a\x1b[3éb\x1b☃c\x1b[ 5x", "aéb☃c5x"),
        // Not ended: no more than the line.
        ("a\x1b]0;lost\nb\x1bPlost\r\nc\x1b[3\nd\x1b\ne", "a\nb\nc\nd\ne"),
        ("a\x1b]0;lost", "a"),
        // Aborted, and begun anew.
        ("a\x1b]t\x18b\x1b[3\x1ac\x1b]t\x1b[1md\x1b]t\u{9b}1me", "abcde"),
        ("a\x1b]t\x1b\x1b\\b", "ab"),
    ];
    for (text, words) in table {
        assert_eq!(clean(text).text, words, "{text:?}");
    }
}

#[test]
fn controls_go_one_by_one() {
    let cleaned = clean("a\x03b\x04\x04c\x13d\x7fe\u{85}f\x00\x08\x0b\x0cg");
    assert_eq!(cleaned.text, "abcdefg");
    let kinds: Vec<_> = cleaned.removed.kinds().collect();
    assert_eq!(kinds, [(Kind::C0, 8), (Kind::Delete, 1), (Kind::C1, 1)]);
}

#[test]
fn line_ends_are_line_feeds_and_no_removal() {
    let cleaned = clean("  a\tb  \r\n\r\nc\rd\n\r\re");
    assert_eq!(cleaned.text, "  a\tb  \n\nc\nd\n\n\ne");
    assert!(cleaned.removed.is_nothing());
    assert_eq!(clean("a\r\x07\nb").text, "a\n\nb", "a control between them makes them two");
}

#[test]
fn case_w06_text_is_not_normalised() {
    let text = "naïve 中文 👩\u{200d}💻 e\u{301} \u{a0}\u{202e}\u{feff}";
    assert_eq!(clean(text), Cleaned { text: text.to_owned(), removed: Removed::default() });
    assert_eq!(clean_bytes(text.as_bytes()).text, text);
}

#[test]
fn eight_bit_controls_go_where_they_belong_to_no_character() {
    let cleaned = clean_bytes(b"a\x9b201~b\x9d0;t\x9cc\x85d\xffe\xc3");
    assert_eq!(cleaned.text, "abcd\u{fffd}e\u{fffd}");
    assert_eq!(cleaned.removed.of(Kind::PasteMarker), 1);
    assert_eq!(cleaned.removed.of(Kind::Invalid), 2);
    // The same bytes within a character are that character.
    assert_eq!(clean_bytes("⛛ɛ".as_bytes()).text, "⛛ɛ");
}

/// Text with everything that matters, dense.
fn hostile() -> impl Strategy<Value = String> {
    "([a-z ]{0,3}|\\PC|[\0-\u{9f}]|\x1b\\[20[01]~|\x1b\\[20|1~|\u{9b}201~|\x1b|\x1b\\]|\x1b\\\\|\x1bP|\x07|\r\n|[\\[\\]0-9;?~ mO])\
     {0,24}"
}

proptest! {
    #[test]
    fn nothing_forbidden_is_left(text in hostile()) {
        let cleaned = clean(&text);
        prop_assert!(!cleaned.text.contains(is_forbidden), "{:?}", cleaned.text);
    }

    #[test]
    fn cleaning_twice_is_cleaning_once(text in hostile()) {
        let once = clean(&text);
        let twice = clean(&once.text);
        prop_assert_eq!(&twice.text, &once.text);
        prop_assert!(twice.removed.is_nothing());
    }

    #[test]
    fn plain_text_is_unchanged(text in "(\\PC|[\t\n]){0,60}") {
        prop_assert_eq!(clean(&text), Cleaned { text, removed: Removed::default() });
    }

    #[test]
    fn splits_make_no_difference(text in hostile(), cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..6)) {
        let characters: Vec<char> = text.chars().collect();
        let mut cuts: Vec<usize> = cuts.iter().map(|cut| cut.index(characters.len() + 1)).collect();
        cuts.extend([0, characters.len()]);
        cuts.sort_unstable();
        let (mut cleaner, mut out) = (Cleaner::new(), String::new());
        for pair in cuts.windows(2) {
            cleaner.feed(&characters[pair[0]..pair[1]].iter().collect::<String>(), &mut out);
        }
        let removed = cleaner.finish(&mut out);
        prop_assert_eq!(Cleaned { text: out, removed }, clean(&text));
    }

    #[test]
    fn splits_of_bytes_make_no_difference(
        text in hostile(),
        noise in prop::collection::vec((any::<prop::sample::Index>(), 0x80_u8..), 0..4),
        cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..6),
    ) {
        let mut bytes = text.into_bytes();
        for (at, byte) in noise {
            bytes.insert(at.index(bytes.len() + 1), byte);
        }
        let mut cuts: Vec<usize> = cuts.iter().map(|cut| cut.index(bytes.len() + 1)).collect();
        cuts.extend([0, bytes.len()]);
        cuts.sort_unstable();
        let (mut cleaner, mut out) = (Cleaner::new(), String::new());
        for pair in cuts.windows(2) {
            cleaner.feed_bytes(&bytes[pair[0]..pair[1]], &mut out);
        }
        let removed = cleaner.finish(&mut out);
        prop_assert!(!out.contains(is_forbidden));
        prop_assert_eq!(Cleaned { text: out, removed }, clean_bytes(&bytes));
    }

    #[test]
    fn what_is_left_and_what_is_told_add_up(text in hostile()) {
        let cleaned = clean(&text);
        let kept = cleaned.text.chars().count() as u64;
        let came = text.chars().count() as u64;
        let joined = came - kept - cleaned.removed.characters();
        prop_assert!(joined <= text.matches("\r\n").count() as u64);
        prop_assert_eq!(cleaned.removed.is_nothing(), cleaned.removed.kinds().next().is_none());
    }
}
