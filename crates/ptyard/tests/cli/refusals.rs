//! What a command says, and exits with, when it cannot do what it was asked.

use serde_json::{Value, json};

use crate::fake::*;

#[test]
fn a_refusal_is_an_error_line_a_hint_line_and_status_1() {
    let fake = Fake::start(|_| Reply::Refusal(404, "unknown_terminal", "no terminal is called x"));
    let output = fake.run(&["info", "x"]);
    assert_eq!(err(&output), "error: no terminal is called x\nhint: try this\n");
    assert_eq!((out(&output).as_str(), output.status.code()), ("", Some(1)));
}

#[test]
fn with_json_the_refusal_is_a_document_on_stdout_as_well() {
    let fake = Fake::start(|_| Reply::Refusal(404, "unknown_terminal", "no terminal is called x"));
    let output = fake.run(&["info", "x", "--json"]);
    let document: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(document["error"]["code"], "unknown_terminal");
    assert_eq!(document["error"]["message"], "no terminal is called x");
    assert_eq!(document["error"]["hint"], "try this");
    assert!(err(&output).starts_with("error: no terminal"));
}

#[test]
fn case_x04_a_program_that_cannot_start_is_a_refusal_and_not_an_exit_code() {
    let fake = Fake::start(|_| Reply::Refusal(422, "program_not_found", "start /no/such/program: ENOENT"));
    for args in [&["exec", "--", "/no/such/program"][..], &["exec", "--wait", "--", "/no/such/program"]] {
        let output = fake.run(args);
        assert_eq!(output.status.code(), Some(1));
        assert_eq!(err(&output), "error: start /no/such/program: ENOENT\nhint: try this\n");
    }
}

#[test]
fn wrong_usage_is_status_2_and_json_on_request() {
    let state = tempfile::tempdir().unwrap();
    for args in [
        &["exec"][..],
        &["frob"],
        &["write"],
        &["exec", "ls"],
        &["write", "1", "--chars", "a", "--keys", "b"],
        &["exec", "--size", "80x24", "--", "true"],
    ] {
        let output = ptyard(state.path(), args).output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{args:?}");
        let told = err(&output);
        let lines: Vec<&str> = told.lines().collect();
        assert!(
            lines.len() == 2 && lines[0].starts_with("error: ") && lines[1].starts_with("hint: "),
            "{told}"
        );

        let output = ptyard(state.path(), &[&["--json"], args].concat()).output().unwrap();
        let document: Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!((&document["error"]["code"], output.status.code()), (&json!("invalid_argument"), Some(2)));
    }
}

#[test]
fn a_bad_value_found_by_the_server_is_wrong_usage_too() {
    let fake = Fake::start(|_| Reply::Refusal(400, "invalid_size", "0x0 is not a size"));
    assert_eq!(fake.run(&["resize", "1000", "0x0"]).status.code(), Some(2));
}

#[test]
fn values_that_the_server_refuses_in_themselves_are_wrong_usage_and_a_time_is_never_one() {
    let yard = crate::live::Yard::new();
    for args in [
        &["exec", "--until", "foo", "--", "true"][..],
        &["exec", "--until", "quiet:x", "--", "true"],
        &["wait", "1000", "--until", "foo"],
    ] {
        let output = yard.run(args);
        assert_eq!(output.status.code(), Some(2), "{args:?}: {output:?}");
    }
    assert_eq!(yard.json(&["list"]), json!([]), "nothing ran");
    for ms in ["-1", "-99999999999", "0", "9223372036854775808"] {
        let reply = yard.json(&["exec", "--yield-ms", ms, "--", "true"]);
        assert_eq!(reply["exit"]["code"], 0, "{ms}: {reply}");
    }
    let reply = yard.json(&["exec", "--yield-ms", "-1", "--", "sleep", "600"]);
    let wall_ms = reply["wall_ms"].as_f64().unwrap();
    assert!(reply["exit"].is_null() && wall_ms >= 250.0, "the shortest window: {reply}");
}

#[test]
fn case_v05_an_argument_that_is_no_text_is_refused_with_the_reason_and_a_way() {
    use std::os::unix::ffi::OsStrExt;
    let yard = crate::live::Yard::new();
    let bytes = std::ffi::OsStr::from_bytes(b"caf\xe9");
    let output = yard.command(&["exec", "--", "printf", "%s"]).arg(bytes).output().unwrap();
    assert_eq!(output.status.code(), Some(2), "{output:?}");
    let told = err(&output);
    assert!(told.contains(r#""caf\xE9" is not UTF-8"#) && told.contains("JSON"), "{told}");
    // The way that the hint shows is one.
    let output = yard.run(&["exec", "--wait", "--shell", "bash", "-c", r"printf %s $'caf\351'"]);
    assert_eq!(output.stdout, b"caf\xe9", "{output:?}");
}

#[test]
fn each_face_speaks_its_own_words() {
    let yard = crate::live::Yard::new();
    let told = err(&yard.run(&["exec", "--cwd", "/no/such/directory", "--", "true"]));
    assert!(told.contains("`--cwd`"), "{told}");
    let told = err(&yard.run(&["exec", "--size", "80x24", "--", "true"]));
    assert!(told.contains("--tty") && !told.contains("tty: true"), "{told}");
    let told = err(&yard.run(&["info", "nobody"]));
    assert!(told.contains("`ptyard list`"), "{told}");
}

#[test]
fn no_server_and_no_start_is_status_3_and_leaves_nothing_behind() {
    let parent = tempfile::tempdir().unwrap();
    let state = parent.path().join("state");
    let output = ptyard(&state, &["list", "--no-start", "--json"]).output().unwrap();
    assert_eq!(output.status.code(), Some(3));
    let document: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(document["error"]["code"], "no_server");
    assert!(!state.exists());
}

#[test]
fn a_dead_servers_socket_counts_as_no_server() {
    let state = tempfile::tempdir().unwrap();
    drop(std::os::unix::net::UnixListener::bind(state.path().join("ptyard.sock")).unwrap());
    assert_eq!(ptyard(state.path(), &["list", "--no-start"]).output().unwrap().status.code(), Some(3));
}

#[test]
fn a_state_that_cannot_be_a_directory_is_refused_and_is_not_status_3() {
    let parent = tempfile::tempdir().unwrap();
    let file = parent.path().join("file");
    std::fs::write(&file, "").unwrap();
    for state in [file, parent.path().join("long".repeat(30))] {
        let output = ptyard(&state, &["list", "--json"]).output().unwrap();
        let document: Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!(document["error"]["code"], "state_unwritable", "{document}");
        assert_eq!(output.status.code(), Some(1));
    }
}

#[test]
fn another_protocol_is_refused_and_both_versions_named() {
    let fake = Fake::start(|seen| match seen.path.as_str() {
        VERSION => Reply::Json(json!({"version": "9.9.9", "protocol": 99, "pid": 1, "state": "/s"})),
        _ => Reply::Json(json!([])),
    });
    let output = fake.run(&["list", "--json"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(
        err(&output).starts_with(
            "error: the server is version 9.9.9 (protocol 99), this program is 0.1.0 (protocol 1)"
        )
    );
    assert_eq!(
        serde_json::from_slice::<Value>(&output.stdout).unwrap()["error"]["code"],
        "incompatible_server"
    );
    assert!(fake.seen().is_empty(), "nothing is asked of it");
}

#[test]
fn stop_without_a_server_is_done() {
    let state = tempfile::tempdir().unwrap();
    let output = ptyard(state.path(), &["stop", "--json"]).output().unwrap();
    assert_eq!((out(&output).as_str(), output.status.code()), ("{\"id\":null,\"ok\":true}\n", Some(0)));
}

#[test]
fn version_starts_no_server() {
    let state = tempfile::tempdir().unwrap();
    let output = ptyard(state.path(), &["version", "--json"]).output().unwrap();
    assert_eq!(out(&output), "{\"version\":\"0.1.0\",\"protocol\":1,\"server\":null}\n");
    assert!(!state.path().join("ptyard.sock").exists());
    let output = Fake::answering(&json!({})).run(&["version"]);
    assert_eq!(out(&output), "ptyard 0.1.0 (protocol 1)\nserver 0.1.0 (protocol 1), pid 1, state /state\n");
}

#[test]
fn a_closed_stdout_is_not_a_panic() {
    let fake = Fake::answering(&with(window(), json!({"output": "x".repeat(1 << 20)})));
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let output = fake.command(&["exec", "--", "yes"]).stdout(writer).output().unwrap();
    assert_eq!(output.status.code(), Some(141));
    assert_eq!(err(&output), "");
}
