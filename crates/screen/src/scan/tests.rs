use super::signal::{Clipboard, ProgramState, Progress, PromptMark};
use super::*;
use crate::parse::Terminator;

fn scan(bytes: &[u8]) -> Vec<Signal> {
    let mut signals = Vec::new();
    Scanner::new().scan(0, bytes, &mut |signal| signals.push(signal));
    signals
}

fn events(bytes: &[u8]) -> Vec<Event> {
    scan(bytes).into_iter().map(|signal| signal.event).collect()
}

#[test]
fn case_q02_a_query_cut_anywhere_is_seen_once_at_the_same_offset() {
    let output = b"ab\x1b[cde\x1b]7501;?\x1b\\\x1b]0;t\xc3\xa4\x07\x1bP+q544e\x1b\\\x1b[?2004h\x1b[?6n\x07";
    let whole = scan(output);
    assert_eq!(whole.len(), 8);
    assert_eq!(whole[0], Signal { at: 5, event: Event::Query(Query::PrimaryAttributes) });
    for cut in 0..output.len() {
        for second in cut..output.len() {
            let mut scanner = Scanner::new();
            let mut signals = Vec::new();
            for (from, to) in [(0, cut), (cut, second), (second, output.len())] {
                scanner.scan(from as u64, &output[from..to], &mut |signal| signals.push(signal));
            }
            assert_eq!(signals, whole);
            assert!(scanner.modes().bracketed_paste);
        }
    }
}

#[test]
fn program_status_reports() {
    let [Event::ProgramStatus(report)] = &events(
        b"\x1b]7501;state=blocked:kind=permission:app=claude:msg=dHJ1c3QgdGhpcw==:id=a/b:progress=250\x07",
    )[..] else {
        panic!("no report")
    };
    assert_eq!(report.state, ProgramState::Blocked);
    assert_eq!(report.kind.as_deref(), Some("permission"));
    assert_eq!(report.app.as_deref(), Some("claude"));
    assert_eq!(report.message.as_deref(), Some("trust this"));
    assert_eq!(report.id.as_deref(), Some("a/b"));
    assert_eq!(report.progress, Some(100));
    assert_eq!(events(b"\x1b]7501;state=dancing\x07"), []);
    assert_eq!(events(b"\x1b]7501;kind=auth\x07"), []);
    let question = Query::ProgramStatus { end: Terminator::St };
    assert_eq!(events(b"\x1b]7501;?\x1b\\"), [Event::Query(question)]);
}

#[test]
fn a_message_that_is_no_base64_or_no_text_does_no_harm() {
    let message = |body: &str| match events(body.as_bytes()).pop() {
        Some(Event::ProgramStatus(report)) => report.message,
        other => panic!("{other:?}"),
    };
    assert_eq!(message("\x1b]7501;state=idle:msg=%%%\x07"), None);
    assert_eq!(message("\x1b]7501;state=idle:msg=/w\x07"), Some("\u{fffd}".to_owned()));
    assert_eq!(message("\x1b]7501;state=idle:msg=G1szMW1h\x07"), Some("[31ma".to_owned()));
}

#[test]
fn titles_progress_prompts_and_the_rest() {
    let title = |text: &str| Event::Title(text.to_owned());
    let icon = |text: &str| Event::Icon(text.to_owned());
    assert_eq!(events(b"\x1b]0;a\x1b\\"), [icon("a"), title("a")]);
    assert_eq!(events("\x1b]2;✳ Claude;x\x07".as_bytes()), [title("✳ Claude;x")]);
    assert_eq!(events(b"\x1b]2;a\x01\xc2\x9bb\x7f\x07"), [title("ab")]);
    assert_eq!(events(b"\x1b]9;4;1;42\x07"), [Event::Progress(Progress::Percent(42))]);
    assert_eq!(events(b"\x1b]9;4;0\x07"), [Event::Progress(Progress::Clear)]);
    assert_eq!(events(b"\x1b]9;4;3;\x07"), [Event::Progress(Progress::Indeterminate)]);
    let note = |title: Option<&str>, body: &str| Event::Notification {
        title: title.map(str::to_owned),
        body: body.to_owned(),
    };
    assert_eq!(events(b"\x1b]9;done; really\x07"), [note(None, "done; really")]);
    assert_eq!(
        events(b"\x1b]777;notify;Claude Code;needs you\x07"),
        [note(Some("Claude Code"), "needs you")]
    );
    assert_eq!(events(b"\x1b]99;i=1:d=0;Hello\x1b\\"), [note(Some("Hello"), "")]);
    assert_eq!(events(b"\x1b]99;i=1:p=body:e=1;SGk=\x1b\\"), [note(None, "Hi")]);
    assert_eq!(events(b"\x1b]133;A;k=i\x07"), [Event::Prompt(PromptMark::PromptStart)]);
    assert_eq!(events(b"\x1b]133;D;130;x\x07"), [Event::Prompt(PromptMark::CommandEnd { exit: Some(130) })]);
    assert_eq!(events(b"\x1b]133;D\x07"), [Event::Prompt(PromptMark::CommandEnd { exit: None })]);
    let cwd = Event::Cwd { host: "box".to_owned(), path: "/tmp/a b%2".to_owned() };
    assert_eq!(events(b"\x1b]7;file://box/tmp/a%20b%2\x07"), [cwd]);
    assert_eq!(events(b"\x07"), [Event::Bell]);
    assert_eq!(events(b"\x1b[1\x07m"), [Event::Bell]);
}

#[test]
fn case_sec02_the_clipboard_is_an_event_without_content() {
    assert_eq!(events(b"\x1b]52;c;UFdORUQ=\x07"), [Event::Clipboard(Clipboard::Write { encoded_len: 8 })]);
    assert_eq!(events(b"\x1b]52;c;?\x07"), [Event::Clipboard(Clipboard::Read)]);
    let large = [b"\x1b]52;c;", &b"A".repeat(1_000_000)[..], b"\x07"].concat();
    assert_eq!(events(&large), [Event::Clipboard(Clipboard::Write { encoded_len: 1_000_000 })]);
}

#[test]
fn a_string_over_the_cap_is_skipped_to_its_end() {
    let long = [b"\x1b]2;", &b"x".repeat(100_000)[..], b"\x07\x1b[c"].concat();
    assert_eq!(events(&long), [Event::Query(Query::PrimaryAttributes)]);
}

#[test]
fn case_n07_a_title_that_was_cut_is_no_title() {
    assert_eq!(events(b"\x1b]0;half\x18"), []);
    assert_eq!(events(b"\x1b]0;half\x1b[c"), [Event::Query(Query::PrimaryAttributes)]);
}

#[test]
fn modes_follow_the_output() {
    let modes = |bytes: &[u8]| {
        let mut scanner = Scanner::new();
        scanner.scan(0, bytes, &mut |_| {});
        scanner.modes().clone()
    };
    let tui = b"\x1b[?1049h\x1b[?2004h\x1b[?1004h\x1b[?1000h\x1b[?1002h\x1b[?1003h\x1b[?1006h\x1b[?25l\x1b[>7u\x1b=";
    let set = modes(tui);
    assert!(set.alt_screen && set.bracketed_paste && set.focus_events && set.cursor_hidden);
    assert!(set.application_keypad);
    assert_eq!((set.mouse, set.kitty_flags()), (crate::modes::Mouse::Motion, 7));
    assert_eq!(modes(&[&tui[..], b"\x1bc"].concat()), Modes::default());
    let soft = modes(&[&tui[..], b"\x1b[!p"].concat());
    assert!(soft.alt_screen && soft.focus_events);
    assert!(!soft.bracketed_paste && !soft.cursor_hidden && soft.kitty_flags() == 0);
    assert_eq!(modes(b"\x1b[?1000h\x1b[?1002h\x1b[?1002l").mouse, crate::modes::Mouse::Off);
}

#[test]
fn plain_runs_are_what_scrolls_and_nothing_else() {
    let plain_since = |bytes: &[u8]| {
        let mut scanner = Scanner::new();
        scanner.scan(0, bytes, &mut |_| {});
        scanner.plain_since()
    };
    let harmless = b"text\r\n\t\x08\x07\x1b[31;1m\x1b[0m\x1b[K\x1b[2K\x1b]8;;http://a\x1b\\x\x1b]8;;\x07\x1b]133;A\x07\x1b]9;hi\x07";
    assert_eq!(plain_since(harmless), 0);
    for (bytes, since) in [
        (&b"ab\x1b[2Jc"[..], 6),
        (b"ab\x1b[Hc", 5),
        (b"ab\x1b[?25lc", 8),
        (b"ab\x1bMc", 4),
        (b"ab\x1b(0c", 5),
        (b"ab\x0ec", 3),
        (b"ab\x1b[1\nmc", 6),
        (b"ab\x1b]2;t\x07c", 8),
        (b"ab\x1b]8;;\n\x07c", 9),
        (b"ab\x1bPq\x1b\\c", 7),
        (b"ab\x1b[3bc", 6),
        (b"ab\x1b[4\x18c", 6),
    ] {
        assert_eq!(plain_since(bytes), since, "{:?}", String::from_utf8_lossy(bytes));
    }
}

#[test]
fn the_pen_changes_with_sgr_only() {
    let mut scanner = Scanner::new();
    scanner.scan(100, b"a\x1b[31mb\x1b[Kc", &mut |_| {});
    assert_eq!(scanner.pen_since(), 106);
}
