//! `exec --wait` and `events`: output as it comes.

use std::process::Stdio;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use crate::fake::*;

const ID: &str = "t0192f0aabbcc7ddd8eeeffff00001111";

fn hello(offset: u64) -> tokio_tungstenite::tungstenite::Message {
    note(&json!({"type": "hello", "id": ID, "offset": offset, "cols": 80, "rows": 24}))
}

fn exit(exit: &Value, offset: u64) -> tokio_tungstenite::tungstenite::Message {
    note(&json!({"type": "exit", "exit": exit, "offset": offset}))
}

#[test]
fn wait_streams_the_bytes_as_they_are_and_exits_with_the_programs_code() {
    let fake = Fake::start(|seen| match seen.path.ends_with("/stream") {
        true => Reply::Stream(
            vec![hello(0), frame(0, b"one\r\n\xff"), frame(6, b"two"), exit(&exited(3), 9)],
            Afterwards::Close,
        ),
        false => Reply::Json(with(window(), json!({"output": "one", "next": 3}))),
    });
    let output = fake.run(&["exec", "--wait", "--", "prog"]);
    assert_eq!(output.stdout, b"one\r\n\xfftwo");
    assert_eq!((err(&output).as_str(), output.status.code()), ("", Some(3)));
    let seen = fake.seen();
    assert_eq!((seen[0].body["yield_ms"].clone(), seen[1].query.as_str()), (json!(0), "since=0"));
}

#[test]
fn wait_exits_with_128_and_the_signal_and_never_0_for_an_unknown_end() {
    for (how, status) in [
        (json!({"code": null, "signal": 9, "cause": "killed", "by": "kill", "descendants": 0}), 137),
        (json!({"code": null, "signal": null, "cause": "lost", "by": null, "descendants": 0}), 1),
    ] {
        let fake = Fake::start(move |seen| match seen.path.ends_with("/stream") {
            true => Reply::Stream(vec![hello(0), exit(&how, 0)], Afterwards::Close),
            false => Reply::Json(window()),
        });
        assert_eq!(fake.run(&["exec", "--wait", "--", "prog"]).status.code(), Some(status));
    }
}

#[test]
fn law_03_a_broken_stream_goes_on_where_it_broke() {
    let fake = Fake::start(|seen| match (seen.path.ends_with("/stream"), seen.query.as_str()) {
        (true, "since=0") => Reply::Stream(vec![hello(0), frame(0, b"abc")], Afterwards::Cut),
        (true, "since=3") => {
            Reply::Stream(vec![hello(3), frame(3, b"def"), exit(&exited(0), 6)], Afterwards::Close)
        }
        (true, other) => panic!("{other}"),
        (false, _) => Reply::Json(window()),
    });
    let output = fake.run(&["exec", "--wait", "--", "prog"]);
    assert_eq!((out(&output).as_str(), output.status.code()), ("abcdef", Some(0)));
}

#[test]
fn a_stream_that_breaks_twice_at_one_place_is_a_failure() {
    let fake = Fake::start(|seen| match seen.path.ends_with("/stream") {
        true => Reply::Stream(vec![hello(0)], Afterwards::Cut),
        false => Reply::Json(window()),
    });
    let output = fake.run(&["exec", "--wait", "--", "prog"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(err(&output).starts_with("error: the connection to the server broke"), "{}", err(&output));
}

#[test]
fn law_01_evicted_output_is_told() {
    let fake = Fake::start(|seen| match seen.path.ends_with("/stream") {
        true => Reply::Stream(
            vec![
                hello(5),
                frame(5, b"abc"),
                note(&json!({"type": "gap", "from": 8, "to": 10})),
                frame(10, b"d"),
                exit(&exited(0), 11),
            ],
            Afterwards::Close,
        ),
        false => Reply::Json(window()),
    });
    let output = fake.run(&["exec", "--wait", "--", "prog"]);
    assert_eq!(out(&output), "abcd");
    assert_eq!(
        err(&output),
        "ptyard: 5 bytes of output were evicted before they were read\nptyard: 2 bytes of output were evicted before they were read\n"
    );
}

#[test]
fn the_first_interrupt_goes_to_the_program_and_the_second_leaves_it_running() {
    let fake = Fake::start(|seen| match seen.path.rsplit('/').next() {
        Some("stream") => Reply::Stream(vec![hello(0)], Afterwards::Stay),
        Some("signal") => Reply::Json(json!({"id": ID, "ok": true})),
        _ => Reply::Json(window()),
    });
    let child = fake
        .command(&["exec", "--wait", "--", "prog"])
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let pid = Pid::from_raw(i32::try_from(child.id()).unwrap()).unwrap();
    let is = |wanted: &'static str| move |happened: &Happened| matches!(happened, Happened::Request(seen) if seen.path.ends_with(wanted));
    fake.wait_for(is("/stream"));
    kill_process(pid, Signal::INT).unwrap();
    let Happened::Request(seen) = fake.wait_for(is("/signal")) else { unreachable!() };
    assert_eq!(seen.body, json!({"signal": "INT", "group": true}));
    kill_process(pid, Signal::INT).unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!((output.status.code(), err(&output).as_str()), (Some(130), "ptyard: left 19523 running\n"));
}

#[test]
fn wait_with_json_prints_the_whole_output_as_one_window() {
    let fake = Fake::start(|seen| match seen.path.rsplit('/').next() {
        Some("wait") => Reply::Json(
            json!({"id": ID, "ended_by": "exit", "matched": null, "offset": 9, "exit": exited(4)}),
        ),
        Some("write") => {
            Reply::Json(with(window(), json!({"output": "all of it", "exit": exited(4), "session_id": null})))
        }
        _ => Reply::Json(window()),
    });
    let output = fake.run(&["exec", "--wait", "--json", "--max-tokens", "5", "--", "prog"]);
    let document: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!((document["output"].clone(), output.status.code()), (json!("all of it"), Some(4)));
    let last = fake.seen().last().unwrap().clone();
    assert_eq!((last.body["since"].clone(), last.body["max_tokens"].clone()), (json!(0), json!(5)));
}

#[test]
fn events_are_lines_and_json_lines() {
    let event = json!({"seq": 7, "at": "2026-01-02T03:04:05Z", "kind": "title", "id": ID, "data": {"title": "\u{1b}x"}});
    let stream = format!(": hello\n\nid: 7\nevent: title\ndata: {event}\n\n");
    let fake = Fake::start(move |_| Reply::EventStream(stream.clone()));
    let output = fake.run(&["events", "--json", "--since", "6"]);
    assert_eq!(serde_json::from_slice::<Value>(&output.stdout).unwrap(), event);
    assert!(fake.seen()[0].query.contains("since=6"));
    let output = fake.run(&["events", "--follow"]);
    assert_eq!(out(&output), format!("7 2026-01-02T03:04:05Z title {ID} {{\"title\":\"\\u001bx\"}}\n"));
    assert!(!fake.seen()[1].query.contains("since"));
}
