use super::*;

/// Everything the parser reports for `bytes`, as text, and what is left as plain bytes.
fn parse(bytes: &[u8]) -> Vec<String> {
    let mut parser = Parser::default();
    let mut seen = Vec::new();
    for &byte in bytes {
        if parser.is_ground() {
            if byte == ESC {
                parser.escape();
            } else {
                seen.push(format!("text {byte:02x}"));
            }
            continue;
        }
        match parser.step(byte) {
            Step::More => {}
            Step::Execute(byte) => seen.push(format!("execute {byte:02x}")),
            Step::Escape { intermediate, byte } => seen.push(format!("esc {intermediate} {}", byte as char)),
            Step::Csi(csi) => {
                let groups: Vec<_> = csi.groups().map(<[u16]>::to_vec).collect();
                let (marker, intermediate, action) = csi.id();
                seen.push(format!("csi {marker} {groups:?} {intermediate} {}", action as char));
            }
            Step::String(s) => {
                let body = String::from_utf8_lossy(s.body);
                seen.push(format!("{:?} {body} {} {:?} {}", s.kind, s.len, s.end, s.has_controls));
            }
        }
    }
    seen
}

#[test]
fn sequences_are_recognised() {
    assert_eq!(parse(b"\x1b[?25;1049h"), ["csi 63 [[25], [1049]] 0 h"]);
    assert_eq!(parse(b"\x1b[38:2::1:2:3;4m"), ["csi 0 [[38, 2, 0, 1, 2, 3], [4]] 0 m"]);
    assert_eq!(parse(b"\x1b[?2026$p"), ["csi 63 [[2026]] 36 p"]);
    assert_eq!(parse(b"\x1b(0"), ["esc 40 0"]);
    assert_eq!(parse(b"\x1b]0;hi\x07"), ["Osc 0;hi 4 Bel false"]);
    assert_eq!(parse(b"\x1b]0;hi\x1b\\"), ["Osc 0;hi 4 St false"]);
    assert_eq!(parse(b"\x1bP+q54\x07e\x1b\\"), ["Dcs +q54\x07e 6 St true"]);
}

#[test]
fn cancelled_and_abandoned_sequences_do_nothing() {
    assert_eq!(parse(b"\x1b]0;half\x18"), ["execute 18"]);
    assert_eq!(parse(b"\x1b]0;half\x1b[m"), ["csi 0 [[0]] 0 m"]);
    assert_eq!(parse(b"\x1b[1\x1b[2m"), ["csi 0 [[2]] 0 m"]);
    assert_eq!(parse(b"\x1b[12\x1am"), ["execute 1a", "text 6d"]);
    assert_eq!(parse(b"\x1b[1?2h"), ["csi 0 [[12]] 0 \0"]);
}

#[test]
fn controls_inside_a_sequence_are_obeyed_at_once() {
    assert_eq!(parse(b"\x1b[1\n2m"), ["execute 0a", "csi 0 [[12]] 0 m"]);
}

#[test]
fn case_a12_absurd_parameters_saturate() {
    assert_eq!(parse(b"\x1b[99999999999999999999C"), ["csi 0 [[65535]] 0 C"]);
    let many = format!("\x1b[{}m", "1;".repeat(5000));
    assert!(parse(many.as_bytes())[0].ends_with("\0"));
}

#[test]
fn long_strings_cost_no_more_than_the_cap() {
    let mut parser = Parser::default();
    parser.escape();
    parser.step(b']');
    for _ in 0..1_000_000 {
        parser.step(b'x');
    }
    let Step::String(string) = parser.step(7) else { panic!("no string") };
    assert_eq!((string.body.len(), string.len), (STRING_CAP, 1_000_000));
    assert!(!string.is_whole());
}
