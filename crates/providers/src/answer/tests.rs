use std::sync::Arc;

use proptest::prelude::*;
use ptyard_core::{Moment, Size};

use super::{Answer, Reader};
use crate::{Origin, Provider};

const TOY: &str = r#"
id = "toy"
name = "A program to test with"
version = "1.0.0"
engine = 1
[anchors]
rail = '^─{5,}'
user = '^> \S'
reply = '^● '
busy = '^\* working'
[composer]
top = "rail"
end = "rail"
sign = '^>'
[answer]
user = "user"
start = "reply"
marker = '^● '
end = ["busy", "rail"]
[[rules]]
id = "composer"
status = "ready"
when = ["2 rail"]
"#;

const COLS: i64 = 40;
const ROWS: usize = 20;

fn reader() -> Reader {
    let provider = Provider::parse(TOY, Origin::Local).unwrap();
    Reader::new(Arc::clone(&provider), Size::new(COLS, ROWS as i64).unwrap())
}

/// What the program writes of an answer: a marker before the first line, a margin before the others.
fn drawn(lines: &[String]) -> Vec<String> {
    let margin = |(at, line): (usize, &String)| match (at, line.is_empty()) {
        (0, _) => format!("● {line}"),
        (_, true) => String::new(),
        (..) => format!("  {line}"),
    };
    lines.iter().enumerate().map(margin).collect()
}

const COMPOSER: [&str; 3] = ["────────────", ">", "────────────"];

/// A program that prints into the scrollback.
fn inline(lines: &[String]) -> String {
    let mut out = "> do it\r\n\r\n".to_owned();
    for line in drawn(lines) {
        out.push_str(&format!("{line}\r\n"));
    }
    out + &COMPOSER.join("\r\n")
}

/// A full-screen program that scrolls its transcript by itself while it grows by `step` lines a frame.
fn full_screen(lines: &[String], step: usize) -> String {
    let mut transcript = vec!["> do it".to_owned(), String::new()];
    transcript.extend(drawn(lines));
    let mut out = "\x1b[?1049h".to_owned();
    let room = ROWS - COMPOSER.len();
    let mut shown = 2_usize;
    loop {
        let from = shown.saturating_sub(room);
        out.push_str("\x1b[?2026h\x1b[2J\x1b[H");
        for line in &transcript[from..shown] {
            out.push_str(&format!("{line}\r\n"));
        }
        out.push_str(&format!("\x1b[{}H{}\x1b[?2026l", room + 1, COMPOSER.join("\r\n")));
        if shown == transcript.len() {
            return out;
        }
        shown = (shown + step).min(transcript.len());
    }
}

fn answer(output: &str, cut: usize) -> Option<Answer> {
    let mut reader = reader();
    for piece in output.as_bytes().chunks(cut) {
        reader.feed(piece, Moment::EPOCH);
    }
    reader.answer(Moment::EPOCH)
}

fn numbered(count: usize) -> Vec<String> {
    (0..count).map(|n| if n % 7 == 3 { String::new() } else { format!("line {n}") }).collect()
}

#[test]
fn an_answer_of_thousands_of_lines_comes_whole_out_of_the_scrollback() {
    let lines = numbered(4000);
    let whole = Answer { text: lines.join("\n"), partial: false };
    assert!(answer(&inline(&lines), 4096) == Some(whole), "not the same");
}

#[test]
fn an_answer_longer_than_the_screen_is_put_together_from_frames() {
    let lines = numbered(500);
    let whole = Answer { text: lines.join("\n"), partial: false };
    for step in [1, 3, 7] {
        assert_eq!(answer(&full_screen(&lines, step), 4096).as_ref(), Some(&whole), "{step}");
    }
}

#[test]
fn an_answer_whose_beginning_was_never_shown_is_partial() {
    let lines = numbered(201);
    // Each frame is further on than the screen is high.
    let found = answer(&full_screen(&lines, ROWS * 2), 4096).unwrap();
    assert!(found.partial);
    assert!(lines.join("\n").ends_with(&found.text), "{}", found.text);
    assert!(!found.text.is_empty());
}

#[test]
fn what_came_before_the_last_message_is_no_answer() {
    let before = inline(&["old".to_owned()]);
    assert_eq!(answer(&before, 64).unwrap().text, "old");
    let asked = format!("{before}\r\n> and now\r\n\r\n{}", COMPOSER.join("\r\n"));
    assert_eq!(answer(&asked, 64), None);
}

#[test]
fn markdown_is_taken_back() {
    let output = "> do it\r\n\r\n● Here it is, a text that is wrapped by\r\n  the program.\r\n\r\n   • one\r\n   • \
                  two\r\n     and more\r\n\r\n  fn main() {\r\n      x();\r\n  }\r\n";
    let output = format!("{output}{}", COMPOSER.join("\r\n"));
    let expected = "Here it is, a text that is wrapped by the program.\n\n- one\n- two\n  and more\n\nfn main() {\n    \
                    x();\n}";
    assert_eq!(answer(&output, 4096).unwrap().text, expected);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn however_it_was_cut_the_same_answer_is_read(count in 1_usize..120, step in 1_usize..8, cut in 1_usize..300) {
        let lines: Vec<String> = (0..count).map(|n| format!("line {n}")).collect();
        prop_assert_eq!(answer(&inline(&lines), cut).map(|answer| answer.text), Some(lines.join("\n")));
        prop_assert_eq!(answer(&full_screen(&lines, step), cut).map(|answer| answer.text), Some(lines.join("\n")));
    }
}
