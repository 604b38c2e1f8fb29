//! Commands about programs: what they ask the server, and what they print.

use std::io::Write;
use std::process::Stdio;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use crate::fake::*;

#[test]
fn exec_prints_the_output_as_it_is_and_the_status_on_stderr() {
    let fake = Fake::answering(&with(window(), json!({"output": "no newline \u{1b}[1m"})));
    let output = fake.run(&["exec", "--", "make"]);
    assert_eq!(out(&output), "no newline \u{1b}[1m");
    assert_eq!(err(&output), "ptyard: running, session 19523 (ptyard write 19523 gives the next window)\n");
    assert_eq!(output.status.code(), Some(0));
}

#[test]
fn exec_says_how_a_program_ended_and_does_not_take_its_code() {
    let fake =
        Fake::answering(&with(window(), json!({"session_id": null, "exit": exited(3), "ended_by": "exit"})));
    let output = fake.run(&["exec", "-c", "exit 3"]);
    assert_eq!(err(&output), "ptyard: exited 3\n");
    assert_eq!(output.status.code(), Some(0));
}

#[test]
fn exec_json_is_the_reply_and_nothing_else() {
    let fake = Fake::answering(&window());
    let output = fake.run(&["exec", "--json", "--", "make"]);
    assert_eq!(serde_json::from_slice::<Value>(&output.stdout).unwrap(), window());
    assert_eq!(err(&output), "");
}

#[test]
fn case_v05_arguments_reach_the_server_one_by_one() {
    let fake = Fake::answering(&window());
    fake.run(&["exec", "--", "printf", "[%s]", "a 'b;c $HOME", "", "*"]);
    assert_eq!(fake.seen()[0].body["argv"], json!(["printf", "[%s]", "a 'b;c $HOME", "", "*"]));
}

#[test]
fn case_v02_the_callers_path_goes_along_and_its_secrets_do_not() {
    let fake = Fake::answering(&window());
    let mut command =
        fake.command(&["exec", "--env", "GIVEN=1", "--env", "TAKEN", "--no-login", "-c", "mytool"]);
    command
        .env("PATH", "/mybin:/bin")
        .env("LC_TIME", "C")
        .env("SECRET_KEY", "s")
        .env("TAKEN", "t")
        .current_dir("/usr");
    command.output().unwrap();
    let body = &fake.seen()[0].body;
    assert_eq!(body["caller_env"]["PATH"], "/mybin:/bin");
    assert_eq!(body["caller_env"]["LC_TIME"], "C");
    assert_eq!(body["env"], json!({"GIVEN": "1", "TAKEN": "t"}));
    assert_eq!((&body["cwd"], &body["login"]), (&json!("/usr"), &json!(false)));
    assert!(!body.to_string().contains("SECRET_KEY"));
}

#[test]
fn exec_asks_for_what_its_options_say() {
    let fake = Fake::answering(&window());
    let line = "exec --tty --size 120x40 --backend local --name n --cwd sub --yield-ms 5 --max-tokens 7 --until exit \
        --until regex:a:b --shell zsh -c ls";
    let mut command = fake.command(&line.split(' ').filter(|word| !word.is_empty()).collect::<Vec<_>>());
    command.current_dir("/usr").output().unwrap();
    let mut body = fake.seen()[0].body.clone();
    body.as_object_mut().unwrap().remove("caller_env");
    insta::assert_json_snapshot!(body);
}

#[test]
fn write_types_what_its_option_says_and_prints_the_window() {
    let fake = Fake::answering(&window());
    for (args, input) in [
        (&["write", "19523"][..], json!("none")),
        (&["write", "19523", "--chars", "a\x03"], json!({"chars": "a\u{3}"})),
        (&["write", "19523", "--chars", ""], json!("none")),
        (&["write", "19523", "--keys", "C-c Enter"], json!({"keys": "C-c Enter"})),
        (&["write", "19523", "--paste", "x\ny"], json!({"paste": "x\ny"})),
    ] {
        let output = fake.run(args);
        assert_eq!(out(&output), "hi\n");
        let seen = fake.seen().last().unwrap().clone();
        assert_eq!((seen.call().as_str(), &seen.body["input"]), ("POST /v1/terminals/19523/write", &input));
    }
    fake.run(&["write", "my name/x", "--chars", "a", "--key", "k1", "--until", "prompt"]);
    let seen = fake.seen().last().unwrap().clone();
    assert_eq!(seen.path, "/v1/terminals/my%20name%2Fx/write");
    assert_eq!((&seen.body["key"], &seen.body["until"]), (&json!("k1"), &json!(["prompt"])));
}

/// A program that takes `room` bytes of input and no more, a quarter MiB at a time.
fn reading_at_most(room: u64) -> Fake {
    let taken = std::sync::Mutex::new(0);
    Fake::start(move |seen| {
        if seen.path.ends_with("/write") {
            let offered =
                seen.body["input"]["base64"].as_str().map_or(0, |text| STANDARD.decode(text).unwrap().len());
            let mut taken = taken.lock().unwrap();
            let takes = (offered as u64).min(room - *taken).min(256 << 10);
            *taken += takes;
            let exit = if *taken == room { exited(0) } else { Value::Null };
            return Reply::Json(with(window(), json!({"written": takes, "next": 3, "exit": exit})));
        }
        Reply::Json(info(3))
    })
}

#[test]
fn a_file_is_typed_in_parts_and_its_window_follows() {
    let fake = reading_at_most(u64::MAX);
    let mut child = fake
        .command(&["write", "19523", "--file", "-"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let bytes: Vec<u8> = (0..(5 << 20) / 2).map(|n| (n % 251) as u8).collect();
    child.stdin.take().unwrap().write_all(&bytes).unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!((output.status.code(), out(&output).as_str()), (Some(0), "hi\n"));

    let writes: Vec<Seen> = fake.seen().into_iter().filter(|seen| seen.path.ends_with("/write")).collect();
    let (last, parts) = writes.split_last().unwrap();
    let mut typed = Vec::new();
    for part in parts {
        let offered = STANDARD.decode(part.body["input"]["base64"].as_str().unwrap()).unwrap();
        assert!(offered.len() <= 1 << 20);
        assert_eq!(part.body["since"], 3, "the shared cursor stays where it is");
        let times = (&part.body["take_ms"], &part.body["yield_ms"], &part.body["until"]);
        assert_eq!(times, (&json!(10_000), &json!(0), &json!(["exit"])), "no part waits for output");
        typed.extend_from_slice(&offered[..offered.len().min(256 << 10)]);
    }
    assert!(typed == bytes, "every byte once, in order");
    assert_eq!(last.body, json!({"input": "none", "yield_ms": 250, "until": ["exit"]}));
}

#[test]
fn a_file_stops_with_what_was_taken_when_the_program_ends() {
    let fake = reading_at_most(700 << 10);
    let file = tempfile::NamedTempFile::new().unwrap();
    file.as_file().set_len(3 << 20).unwrap();
    let output = fake.run(&["write", "19523", "--file", file.path().to_str().unwrap()]);
    assert_eq!(output.status.code(), Some(1));
    assert!(
        err(&output).starts_with("error: the program took 716800 bytes, then it ended"),
        "{}",
        err(&output)
    );
}

#[test]
fn read_follows_pages_to_the_end_and_prints_bytes_or_text() {
    let log = b"caf\xc3\xa9 \xff end".to_vec();
    let end = log.len() as u64;
    let fake = Fake::start(move |seen| {
        if !seen.path.ends_with("/output") {
            return Reply::Json(info(end));
        }
        let asked =
            |name: &str| seen.query.split('&').find_map(|p| p.strip_prefix(name)?.parse::<usize>().ok());
        let from = asked("since=").unwrap_or(0);
        // Pages of 4 bytes, so that a character is cut.
        let next = (from + asked("max_bytes=").unwrap().min(4)).min(log.len());
        let data = STANDARD.encode(&log[from..next]);
        Reply::Json(json!({"from": from, "next": next, "evicted": 0, "data_base64": data}))
    });
    assert_eq!(fake.run(&["read", "19523", "--raw"]).stdout, b"caf\xc3\xa9 \xff end");
    assert_eq!(out(&fake.run(&["read", "19523"])), "café \u{fffd} end");
    assert_eq!(
        fake.run(&["read", "19523", "--raw", "--since", "3", "--max-bytes", "6"]).stdout,
        b"\xc3\xa9 \xff e"
    );
    let json = fake.run(&["read", "19523", "--json", "--max-bytes", "2"]);
    assert_eq!(out(&json), "{\"from\":0,\"next\":2,\"evicted\":0,\"data_base64\":\"Y2E=\"}\n");
}

#[test]
fn screen_comes_as_text_ansi_or_json() {
    let screen = json!({
        "cols": 80, "rows": 3, "cursor": {"row": 0, "col": 1, "visible": true}, "title": "t", "modes": {"alt_screen": false},
        "lines": ["one", "", "three", ""], "scrollback": 0, "offset": 9
    });
    let json = screen.clone();
    let fake = Fake::start(move |seen| match seen.query.contains("format=ansi") {
        true => Reply::Text(b"\x1b[1mone\r\n".to_vec(), vec![]),
        false => Reply::Json(json.clone()),
    });
    assert_eq!(out(&fake.run(&["screen", "19523"])), "one\n\nthree\n");
    assert_eq!(out(&fake.run(&["screen", "19523", "--format", "ansi"])), "\x1b[1mone\r\n");
    for args in
        [&["screen", "19523", "--format", "json"][..], &["screen", "19523", "--json", "--scrollback", "5"]]
    {
        assert_eq!(serde_json::from_slice::<Value>(&fake.run(args).stdout).unwrap(), screen);
    }
    assert!(fake.seen().last().unwrap().query.contains("scrollback=5"));
}

#[test]
fn wait_exits_0_when_a_condition_held_and_1_when_none_did() {
    let reply =
        |by: &str| json!({"id": "t1", "ended_by": by, "matched": "a\u{1b}b", "offset": 7, "exit": null});
    let output =
        Fake::answering(&reply("regex")).run(&["wait", "19523", "--until", "regex:a.b", "--timeout", "1.5"]);
    assert_eq!((output.status.code(), out(&output).as_str()), (Some(0), "regex at offset 7: a\\u{1b}b\n"));
    let late = Fake::answering(&reply("deadline"));
    let output = late.run(&["wait", "19523", "--until", "exit", "--timeout", "1.5", "--json"]);
    assert_eq!(output.status.code(), Some(1));
    assert_eq!(late.seen()[0].body, json!({"until": ["exit"], "timeout_ms": 1500}));
    assert_eq!(serde_json::from_slice::<Value>(&output.stdout).unwrap(), reply("deadline"));
}

#[test]
fn commands_that_do_one_thing_are_silent_when_it_is_done() {
    let fake = Fake::answering(&json!({"id": "t1", "ok": true}));
    for (args, call, body) in [
        (&["resize", "1000", "100x30"][..], "POST /v1/terminals/1000/resize", json!({"size": "100x30"})),
        (
            &["signal", "1000", "INT", "--group"],
            "POST /v1/terminals/1000/signal",
            json!({"signal": "INT", "group": true}),
        ),
        (&["close-stdin", "1000"], "POST /v1/terminals/1000/close-stdin", json!({})),
        (&["rm", "1000"], "DELETE /v1/terminals/1000", Value::Null),
    ] {
        let output = fake.run(args);
        assert_eq!((out(&output).as_str(), err(&output).as_str(), output.status.code()), ("", "", Some(0)));
        let seen = fake.seen().last().unwrap().clone();
        assert_eq!((seen.call().as_str(), seen.body), (call, body));
    }
    assert_eq!(out(&fake.run(&["--json", "rm", "1000"])), "{\"id\":\"t1\",\"ok\":true}\n");
}

#[test]
fn kill_says_what_it_did_and_fails_when_something_survived() {
    let killed = json!({"id": "t1", "exit": exited(0), "found": 3, "last_signal": 15, "survivors": []});
    let output = Fake::answering(&killed).run(&["kill", "1000", "--grace", "50"]);
    assert_eq!(
        (out(&output).as_str(), output.status.code()),
        ("exited 0; 3 processes were found, the last signal was 15\n", Some(0))
    );
    let output = Fake::answering(&with(killed, json!({"survivors": [42]}))).run(&["kill", "1000"]);
    assert_eq!(
        (err(&output).as_str(), output.status.code()),
        ("ptyard: these processes survived: [42]\n", Some(1))
    );
}

#[test]
fn list_and_info_for_people_and_for_programs() {
    let all = json!([
        info(12),
        with(
            info(0),
            json!({"session_id": null, "name": "evil\u{1b}]0;x\u{7}", "exit": exited(1), "state": "exited"})
        )
    ]);
    let fake = Fake::answering(&all);
    insta::assert_snapshot!("list", out(&fake.run(&["list"])));
    assert_eq!(serde_json::from_slice::<Value>(&fake.run(&["list", "--json"]).stdout).unwrap(), all);
    insta::assert_snapshot!("info", out(&Fake::answering(&info(12)).run(&["info", "build"])));
}

#[test]
fn debug_truncate_needs_no_server() {
    let state = tempfile::tempdir().unwrap();
    let mut child = ptyard(state.path(), &["debug", "truncate", "--max-tokens", "10"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(&[b'A'; 41]).unwrap();
    let reply: Value = serde_json::from_slice(&child.wait_with_output().unwrap().stdout).unwrap();
    assert_eq!(reply["original_token_count"], 11);
    let text = STANDARD.decode(reply["output_base64"].as_str().unwrap()).unwrap();
    assert_eq!(String::from_utf8(text).unwrap(), "AAAAAAA…7 tokens truncated…AAAAAAAA");
    assert!(!state.path().join("ptyard.sock").exists());
}
