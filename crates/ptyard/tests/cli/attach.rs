//! The user's own terminal, before, during and after.

use std::process::ExitStatus;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::json;
use tokio_tungstenite::tungstenite::Message;

use crate::fake::*;
use crate::pty::Pty;

/// What a careless program switches on, and the end of it.
const MESS: &[u8] = b"\x1b[>1u\x1b[?1003h\x1b[?2004h\x1b[?1049h\x1b[?25lmess\x1b[6n";
const RESETS: [&str; 5] = ["\x1b[?1003l", "\x1b[?2004l", "\x1b[?1049l", "\x1b[?25h", "\x1b[<1u"];

fn server(mut messages: Vec<Message>, afterwards: Afterwards) -> Fake {
    messages.insert(0, note(&json!({"type": "hello", "id": "t1", "offset": 9, "cols": 120, "rows": 40})));
    Fake::start(move |seen| match seen.path.rsplit('/').next() {
        Some("stream") => Reply::Stream(messages.clone(), afterwards),
        Some("screen") if seen.query.contains("format=ansi") => {
            Reply::Text(b"\x1b[1mold screen\r\n".to_vec(), vec![("ptyard-offset", "9".to_owned())])
        }
        Some("screen") => Reply::Json(json!({
            "cols": 120, "rows": 40, "cursor": {"row": 1, "col": 2, "visible": true}, "title": "", "modes": {},
            "lines": ["old screen"], "scrollback": 0, "offset": 9
        })),
        _ => Reply::Json(info(9)),
    })
}

struct Ended {
    shown: String,
    status: ExitStatus,
    stderr: String,
    cooked: bool,
}

/// Attaches, does `act` once the mess is on the terminal, and gives what the terminal got.
fn attached(fake: &Fake, args: &[&str], act: impl FnOnce(&mut Pty, Pid)) -> Ended {
    let mut pty = Pty::new(80, 24);
    let child = pty.spawn(fake.command(&[&["attach", "19523"], args].concat()));
    let shown = pty.read_until("mess");
    assert!(shown.contains("old screen") && shown.contains("\x1b[2;3H"), "{shown:?}");
    assert!(!shown.contains("\x1b[6n"), "a question reached the terminal");
    act(&mut pty, Pid::from_raw(i32::try_from(child.id()).unwrap()).unwrap());
    let output = child.wait_with_output().unwrap();
    pty.type_text("#\n");
    let shown = pty.read_until("#");
    Ended { shown, status: output.status, stderr: err(&output), cooked: pty.is_cooked() }
}

fn assert_clean(ended: &Ended) {
    for reset in RESETS {
        assert!(ended.shown.contains(reset), "{reset:?} in {:?}", ended.shown);
    }
    assert!(ended.cooked);
}

#[test]
fn case_a13_detaching_leaves_the_terminal_as_it_was() {
    let fake = server(vec![frame(9, MESS)], Afterwards::Stay);
    let ended = attached(&fake, &[], |pty, _| pty.type_text("ls\x1c\x04"));
    assert_clean(&ended);
    assert_eq!((ended.status.code(), ended.stderr.as_str()), (Some(0), "ptyard: detached from 19523\n"));
    assert_eq!(
        fake.wait_for(|h| matches!(h, Happened::Message(Message::Binary(_)))),
        Happened::Message(Message::binary("ls"))
    );
    let stream = fake.seen().into_iter().find(|seen| seen.path.ends_with("/stream")).unwrap();
    assert_eq!(stream.query, "since=9&input=true");
}

#[test]
fn case_a13_the_end_of_the_program_leaves_the_terminal_as_it_was() {
    let exit = json!({"code": null, "signal": 9, "cause": "signaled", "by": null, "descendants": 0});
    let exit = note(&json!({"type": "exit", "exit": exit, "offset": 50}));
    let ended = attached(&server(vec![frame(9, MESS), exit], Afterwards::Close), &[], |_, _| {});
    assert_clean(&ended);
    assert_eq!(ended.stderr, "ptyard: ended by signal 9\n");
}

#[test]
fn case_a13_signals_leave_the_terminal_as_it_was() {
    for signal in [Signal::TERM, Signal::HUP, Signal::INT, Signal::QUIT] {
        let fake = server(vec![frame(9, MESS)], Afterwards::Stay);
        let ended = attached(&fake, &[], |_, pid| kill_process(pid, signal).unwrap());
        assert_clean(&ended);
        assert_eq!(ended.status.code(), Some(128 + signal.as_raw()));
    }
}

#[test]
fn case_a13_a_broken_server_leaves_the_terminal_as_it_was() {
    let ended = attached(&server(vec![frame(9, MESS)], Afterwards::Cut), &[], |_, _| {});
    assert_clean(&ended);
    assert_eq!(ended.status.code(), Some(1));
    assert!(ended.stderr.starts_with("error: the connection to the server broke"), "{}", ended.stderr);
}

#[test]
fn case_r06_a_viewer_does_not_resize_and_a_read_only_one_does_not_type() {
    let fake = server(vec![frame(9, MESS)], Afterwards::Stay);
    attached(&fake, &["--read-only"], |pty, _| pty.type_text("typed\x1cd"));
    let stream = fake.seen().into_iter().find(|seen| seen.path.ends_with("/stream")).unwrap();
    assert_eq!(stream.query, "since=9");
    let said = fake.wait_for(|h| matches!(h, Happened::Message(_)));
    assert!(matches!(said, Happened::Message(Message::Close(_))), "{said:?}");
}

#[test]
fn only_an_owner_that_says_so_gives_the_program_its_size() {
    let fake = server(vec![frame(9, MESS)], Afterwards::Stay);
    attached(&fake, &["--resize"], |pty, _| pty.type_text("\x1cd"));
    let said = fake.wait_for(|h| matches!(h, Happened::Message(_)));
    let Happened::Message(Message::Text(said)) = said else { panic!("{said:?}") };
    let said: serde_json::Value = serde_json::from_str(&said).unwrap();
    assert_eq!(said, json!({"type": "resize", "cols": 80, "rows": 24}));
}

#[test]
fn attach_without_a_terminal_is_refused() {
    let output = server(vec![], Afterwards::Stay).run(&["attach", "19523"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(err(&output).starts_with("error: attach needs a terminal on stdin and stdout\nhint: "));
}
