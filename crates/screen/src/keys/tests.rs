use super::*;
use crate::Scanner;

/// What the keys named send after the program printed `output`.
fn sent(output: &str, keys: &str) -> String {
    let mut scanner = Scanner::new();
    scanner.scan(0, output.as_bytes(), &mut |_| {});
    let bytes = parse(keys).unwrap().iter().flat_map(|key| encode(key, scanner.modes())).collect();
    String::from_utf8(bytes).unwrap()
}

#[test]
fn legacy_keys() {
    for (keys, bytes) in [
        ("C-c Enter M-x S-Tab F5 Up", "\x03\r\x1bx\x1b[Z\x1b[15~\x1b[A"),
        ("a A é 中", "aAé中"),
        ("S-a M-S-a", "A\x1bA"),
        ("C-Space C-@ C-[ C-_ C-?", "\0\0\x1b\x1f\x7f"),
        ("^C ^[", "\x03\x1b"),
        ("- C-- ^", "--^"),
        ("Escape Backspace C-Backspace M-Backspace Delete Insert", "\x1b\x7f\x08\x1b\x7f\x1b[3~\x1b[2~"),
        ("M-Enter S-Enter C-Enter", "\x1b\r\r\r"),
        ("C-Up S-Left C-M-S-End", "\x1b[1;5A\x1b[1;2D\x1b[1;8F"),
        (
            "F1 F4 F6 F10 F11 F12 F13 F15 F17 F20",
            "\x1bOP\x1bOS\x1b[17~\x1b[21~\x1b[23~\x1b[24~\x1b[25~\x1b[28~\x1b[31~\x1b[34~",
        ),
        ("C-F1 S-F5", "\x1b[1;5P\x1b[15;2~"),
        ("PageUp pgdn HOME end", "\x1b[5~\x1b[6~\x1b[H\x1b[F"),
        ("BTab Space Plus", "\x1b[Z +"),
    ] {
        assert_eq!(sent("", keys), bytes, "{keys}");
    }
}

#[test]
fn application_cursor_keys() {
    assert_eq!(sent("\x1b[?1h", "Up Home C-Up F1"), "\x1bOA\x1bOH\x1b[1;5A\x1bOP");
    assert_eq!(sent("\x1b[?1h\x1b[?1l", "Up"), "\x1b[A");
}

#[test]
fn case_p21_kitty_keys() {
    for (keys, bytes) in [
        ("Enter S-Enter C-c", "\r\x1b[13;2u\x1b[99;5u"),
        ("Tab S-Tab C-Tab", "\t\x1b[9;2u\x1b[9;5u"),
        ("Escape M-Escape Backspace", "\x1b[27u\x1b[27;3u\x7f"),
        ("a A S-a é", "aAAé"),
        ("M-a M-A C-S-a C-A", "\x1b[97;3u\x1b[97;4u\x1b[97;6u\x1b[97;6u"),
        ("Up C-Up F1 F3 F5 F13", "\x1b[A\x1b[1;5A\x1bOP\x1b[13~\x1b[15~\x1b[57376u"),
        ("C-Space M-Enter", "\x1b[32;5u\x1b[13;3u"),
    ] {
        assert_eq!(sent("\x1b[>1u", keys), bytes, "{keys}");
    }
}

#[test]
fn case_p21_kitty_all_keys_as_escapes() {
    assert_eq!(sent("\x1b[>9u", "a A Enter Tab"), "\x1b[97u\x1b[97;2u\x1b[13u\x1b[9u");
    assert_eq!(sent("\x1b[>25u", "a A C-a"), "\x1b[97;;97u\x1b[97;2;65u\x1b[97;5u");
}

#[test]
fn case_p21_modify_other_keys() {
    assert_eq!(sent("\x1b[>4;1m", "Enter S-Enter C-c C-1 M-x"), "\r\x1b[27;2;13~\x03\x1b[27;5;49~\x1bx");
    assert_eq!(sent("\x1b[>4;2m", "C-c M-x x"), "\x1b[27;5;99~\x1b[27;3;120~x");
    assert_eq!(sent("\x1b[>4;2m\x1b[>4m", "C-c"), "\x03");
}

#[test]
fn an_unknown_key_is_named_and_nothing_is_sent() {
    for (keys, bad) in [
        ("Enter Foo", "Foo"),
        ("F25", "F25"),
        ("F0", "F0"),
        ("F05", "F05"),
        ("C-C-c", "C-C-c"),
        ("X-a", "X-a"),
        ("C-", "C-"),
        ("ab", "ab"),
    ] {
        let error = parse(keys).unwrap_err();
        assert_eq!((error.name.as_str(), error.code()), (bad, ErrorCode::UnknownKey));
    }
}

#[test]
fn no_keys_are_no_bytes() {
    assert_eq!(sent("", "  "), "");
}
