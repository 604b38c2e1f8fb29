//! Real sessions of real programs: what they show at their end, and what they say of themselves.

mod common;

use common::{recording, recordings};
use ptyard_core::Moment;
use ptyard_screen::scan::signal::ProgramState;
use ptyard_screen::{Event, Query, Scanner, Signal, new_screen};

/// Every signal of a recorded session.
fn signals(name: &str) -> Vec<Signal> {
    let text = recordings().into_iter().find(|(found, _)| found == name).expect("a recording").1;
    let (mut scanner, mut signals, mut at) = (Scanner::new(), Vec::new(), 0);
    for (_, bytes) in recording(&text).1 {
        scanner.scan(at, &bytes, &mut |signal| signals.push(signal));
        at += bytes.len() as u64;
    }
    signals
}

/// The screen in the middle of each session: its text, cursor, title and modes.
#[test]
fn screens_in_mid_session() {
    for (name, text) in recordings() {
        let (size, events) = recording(&text);
        let mut screen = new_screen(size, 1000);
        let half = events.len() / 2;
        for (ms, bytes) in &events[..half] {
            screen.feed(bytes, Moment::from_millis(*ms));
        }
        let view = screen.view(0, Moment::from_millis(events[half].0));
        let cursor = view.cursor;
        insta::assert_snapshot!(
            name,
            format!(
                "title: {}\ncursor: {} {} {}\nincomplete: {}\npaste: {} alt: {} kitty: {}\n{}",
                view.title,
                cursor.row,
                cursor.col,
                cursor.visible,
                view.frame_incomplete,
                view.modes.bracketed_paste,
                view.modes.alt_screen,
                view.modes.kitty_flags(),
                view.to_text(),
            )
        );
    }
}

#[test]
fn claude_asks_for_status_reports_and_gives_them() {
    let signals = signals("claude_permission");
    let asked =
        signals.iter().position(|signal| matches!(signal.event, Event::Query(Query::ProgramStatus { .. })));
    let states: Vec<_> = signals
        .iter()
        .filter_map(|signal| match &signal.event {
            Event::ProgramStatus(report) => Some((report.state, report.kind.clone())),
            _ => None,
        })
        .collect();
    assert!(asked.is_some());
    let permission = (ProgramState::Blocked, Some("permission".to_owned()));
    assert!(states.contains(&permission), "{states:?}");
    assert_eq!(states.last().map(|(state, _)| *state), Some(ProgramState::Clear), "{states:?}");
}

#[test]
fn codex_asks_its_terminal_at_the_start() {
    let queries: Vec<_> = signals("codex_startup_first")
        .into_iter()
        .filter_map(|signal| match signal.event {
            Event::Query(query) => Some(format!("{query:?}")),
            _ => None,
        })
        .collect();
    insta::assert_snapshot!("codex_queries", queries.join("\n"));
}

#[test]
fn a_small_screen_as_ansi() {
    let mut screen = new_screen(ptyard_core::Size::new(12, 3).expect("a size"), 10);
    let output =
        "\x1b]0;hi\x07one\r\n\x1b[31mtwo\x1b[0m 中文\r\n\x1b[44m  \x1b[0m\r\nlast\x1b[?2004h\x1b[1;4H";
    screen.feed(output.as_bytes(), Moment::EPOCH);
    let ansi = screen.view(10, Moment::EPOCH).to_ansi();
    insta::assert_snapshot!("small_screen_as_ansi", String::from_utf8_lossy(&ansi).replace('\x1b', "␛"));
}
