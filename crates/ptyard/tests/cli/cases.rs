//! The field's reports as a user of the command line would meet them.

use std::path::Path;

use serde_json::{Value, json};

use crate::fake::{err, out, ptyard};
use crate::live::Yard;

/// Starts a program and gives its short id once `until` holds.
fn start(yard: &Yard, until: &str, program: &[&str]) -> String {
    let line = [&["exec", "--tty", "--yield-ms", "20000", "--until", until, "--"], program].concat();
    let reply = yard.json(&line);
    assert!(reply["session_id"].is_u64(), "{reply}");
    reply["session_id"].to_string()
}

/// A program on a raw terminal that prints the next `bytes` bytes it reads as hex.
fn hex_reader(yard: &Yard, bytes: usize) -> String {
    let script = format!("stty raw -echo; echo ready; head -c {bytes} | od -An -tx1 -v | tr -d ' \\n'");
    start(yard, "regex:ready", &["sh", "-c", &script])
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[test]
fn case_p12_p13_p22_text_of_any_form_is_typed_byte_for_byte() {
    let yard = Yard::new();
    for text in [
        "run this;",
        "-n 5 lines please",
        "--json",
        "  x \r\n",
        " ",
        "\t",
        "$HOME `id` 'a' \"b\" \\",
        "naïve 中文 👩‍💻",
    ] {
        let id = hex_reader(&yard, text.len());
        let reply = yard.json(&["write", &id, "--chars", text, "--until", "exit", "--yield-ms", "20000"]);
        assert!(reply["output"].as_str().unwrap().ends_with(&hex(text.as_bytes())), "{text:?}: {reply}");
    }
    let id = start(&yard, "quiet:10", &["sh", "-c", "echo up; exec cat"]);
    let nothing = yard.json(&["write", &id, "--chars", "", "--until", "exit", "--yield-ms", "0"]);
    assert_eq!((&nothing["output"], &nothing["written"]), (&json!(""), &Value::Null), "{nothing}");
}

#[test]
fn case_rs06_every_byte_arrives_from_a_file() {
    let yard = Yard::new();
    let bytes: Vec<u8> = (0..=255).collect();
    let file = yard.state().join("bytes");
    std::fs::write(&file, &bytes).unwrap();
    let id = hex_reader(&yard, bytes.len());
    let reply = yard.json(&[
        "write",
        &id,
        "--file",
        file.to_str().unwrap(),
        "--until",
        "exit",
        "--yield-ms",
        "20000",
    ]);
    assert!(reply["output"].as_str().unwrap().ends_with(&hex(&bytes)), "{reply}");
}

#[test]
fn case_r07_sizes_out_of_range_are_wrong_usage_and_change_nothing() {
    let yard = Yard::new();
    let id = start(&yard, "regex:中文", &["sh", "-c", "while :; do printf 中文; sleep .05; done"]);
    for size in ["1x1", "0x0", "65535x65535", "-5x3", "80", "80x-1", "99999999999999999999x2", "", "80x24x3"]
    {
        let output = yard.run(&["resize", &id, size]);
        assert_eq!(output.status.code(), Some(2), "{size:?}: {output:?}");
        assert_eq!(yard.json(&["resize", &id, size])["error"]["code"], "invalid_size", "{size:?}");
        let output = yard.run(&["exec", "--tty", "--size", size, "--", "true"]);
        assert_eq!(output.status.code(), Some(2), "{size:?}: {output:?}");
    }
    assert_eq!(yard.json(&["info", &id])["size"], json!({"cols": 80, "rows": 24}));
    for size in ["2x1", "1000x1000", "80x24"] {
        assert!(yard.run(&["resize", &id, size]).status.success(), "{size}");
        assert!(yard.run(&["screen", &id]).status.success(), "{size}");
    }
}

#[test]
fn case_v01_a_server_started_with_no_environment_runs_programs_that_draw() {
    let yard = Yard::new();
    let bare = |args: &[&str]| {
        let mut command = yard.command(args);
        command.env_clear().env("PTYARD_STATE", yard.state());
        command.output().unwrap()
    };
    let output = bare(&["exec", "--tty", "--wait", "--", "tput", "cols"]);
    assert_eq!((out(&output).as_str(), output.status.code()), ("80\r\n", Some(0)), "{output:?}");
    let script = r#": "${TERM:?}" "${LANG:?}" "${HOME:?}" "${PATH:?}" "${SHELL:?}"; ls / >/dev/null"#;
    assert_eq!(bare(&["exec", "--wait", "--", "sh", "-c", script]).status.code(), Some(0));
    // Without even a place for its state named, the account's home is found.
    let mut command = yard.command(&["version", "--json"]);
    let output = command.env_clear().output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{output:?}");
}

#[test]
fn case_v09_no_command_falls_back_to_a_program_that_was_not_named() {
    let yard = Yard::new();
    let id = start(&yard, "quiet:10", &["sh", "-c", "echo up; exec sleep 600"]);
    for command in ["write", "kill", "signal", "close-stdin", "screen", "read", "rm", "info"] {
        assert_eq!(yard.run(&[command]).status.code(), Some(2), "{command} names no program");
    }
    for name in ["current", "", "0", "-", "."] {
        for line in [&["kill", "--", name][..], &["info", "--", name], &["write", "--chars", "x", "--", name]]
        {
            let output =
                yard.command(&[&["--json"], line].concat()).env("PTYARD_TERMINAL", &id).output().unwrap();
            assert!(!output.status.success(), "{line:?}");
        }
    }
    assert_eq!(yard.json(&["info", &id])["state"], "running");
}

#[test]
fn case_z07_a_list_says_all_that_is_needed_to_find_a_program_again() {
    let yard = Yard::new();
    let id = start(&yard, "quiet:10", &["sh", "-c", "echo up; exec sleep 600"]);
    let list = yard.json(&["list"]);
    let found = &list[0];
    assert_eq!(found["session_id"].to_string(), id);
    assert_eq!(found["argv"], json!(["sh", "-c", "echo up; exec sleep 600"]));
    assert_eq!((&found["state"], &found["exit"]), (&json!("running"), &Value::Null));
    for field in ["id", "cwd", "backend", "created_at", "last_output_at"] {
        assert!(found[field].is_string(), "{field}: {found}");
    }
    assert!(found.as_object().unwrap().contains_key("client"), "whose it is: {found}");
    assert!(out(&yard.run(&["list"])).contains(&id));
}

#[test]
fn case_api02_screens_and_events_are_had_by_id_and_number() {
    let yard = Yard::new();
    let id = start(&yard, "regex:shown", &["sh", "-c", "echo shown; exec sleep 600"]);
    let screen = yard.json(&["screen", &id]);
    assert_eq!((&screen["lines"][0], screen["offset"].as_u64()), (&json!("shown"), Some(7)));
    yard.run(&["kill", &id, "--grace", "0"]);
    let events = |since: &str| -> Vec<u64> {
        out(&yard.run(&["events", "--json", "--since", since]))
            .lines()
            .map(|line| serde_json::from_str::<Value>(line).unwrap()["seq"].as_u64().unwrap())
            .collect()
    };
    let all = events("0");
    assert_eq!(all, (1..=all.len() as u64).collect::<Vec<_>>());
    assert_eq!(events("1"), all[1..]);
    assert!(yard.json(&["version"])["protocol"].is_u64());
}

#[test]
fn case_api04_each_reason_has_a_code_and_says_whether_to_try_again() {
    let yard = Yard::new();
    let removed = yard.json(&["exec", "--until", "exit", "--", "true"])["id"].as_str().unwrap().to_owned();
    yard.run(&["rm", &removed]);
    let ended = yard.json(&["exec", "--until", "exit", "--", "true"])["id"].as_str().unwrap().to_owned();
    let down = tempfile::tempdir().unwrap();
    let no_server = ptyard(down.path(), &["--json", "--no-start", "list"]).output().unwrap();
    let no_server: Value = serde_json::from_slice(&no_server.stdout).unwrap();
    for (reply, code, retryable) in [
        (yard.json(&["read", "nobody"]), "unknown_terminal", false),
        (yard.json(&["read", &removed]), "terminal_removed", false),
        (yard.json(&["signal", &ended, "TERM"]), "terminal_exited", false),
        (yard.json(&["read", &ended, "--since", "18446744073709551615"]), "offset_beyond_end", false),
        (yard.json(&["exec", "--max-tokens", "-1", "--", "true"]), "invalid_argument", false),
        (no_server, "no_server", true),
    ] {
        let error = &reply["error"];
        assert_eq!(
            (error["code"].as_str(), error["retryable"].as_bool()),
            (Some(code), Some(retryable)),
            "{reply}"
        );
        assert!(!error["message"].as_str().unwrap().is_empty());
    }
}

#[test]
fn case_h05_a_line_without_an_end_costs_the_server_no_memory() {
    let yard = Yard::new();
    let pid = {
        yard.run(&["list"]);
        yard.json(&["version"])["server"]["pid"].as_u64().unwrap()
    };
    let before = peak_kib(pid);
    let script = "head -c 100000000 /dev/zero | tr '\\000' x";
    let line = [
        "exec",
        "--tty",
        "--until",
        "exit",
        "--yield-ms",
        "60000",
        "--max-tokens",
        "1000",
        "--",
        "sh",
        "-c",
        script,
    ];
    let reply = yard.json(&line);
    assert_eq!((reply["next"].as_u64(), reply["exit"]["code"].as_i64()), (Some(100_000_000), Some(0)));
    assert_eq!(reply["original_token_count"], 25_000_000);
    let id = reply["id"].as_str().unwrap();
    let part = yard.json(&["read", id, "--since", "99999990", "--max-bytes", "4"]);
    assert_eq!((&part["from"], &part["next"]), (&json!(99_999_990), &json!(99_999_994)), "{part}");
    assert!(yard.run(&["screen", id]).status.success());
    let grown = peak_kib(pid).saturating_sub(before);
    assert!(grown < 64 * 1024, "{grown} KiB");
}

/// The most memory process `pid` ever had.
fn peak_kib(pid: u64) -> u64 {
    let status = std::fs::read_to_string(Path::new("/proc").join(pid.to_string()).join("status")).unwrap();
    let line = status.lines().find(|line| line.starts_with("VmHWM:")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse().unwrap()
}

#[test]
fn case_t02_one_document_of_a_large_output_has_the_end_and_the_true_count() {
    let yard = Yard::new();
    let script = "yes 0123456789 | head -c 60000000; echo END; exit 5";
    let output = yard.run(&["--json", "exec", "--wait", "--max-tokens", "100", "--", "sh", "-c", script]);
    let reply: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!((output.status.code(), reply["exit"]["code"].as_i64()), (Some(5), Some(5)), "{reply}");
    assert_eq!(reply["original_token_count"], 60_000_004 / 4);
    assert!(reply["output"].as_str().unwrap().ends_with("END\n"), "{reply}");
}

#[test]
fn case_t04_output_that_was_cut_is_read_whole_after_the_server_was_stopped() {
    let yard = Yard::new();
    let script = "for i in $(seq 1 5000); do printf 'line %d 中\\n' $i; done";
    let reply = yard.json(&["exec", "--until", "exit", "--max-tokens", "50", "--", "sh", "-c", script]);
    assert!(reply["output"].as_str().unwrap().len() <= 200);
    let id = reply["id"].as_str().unwrap();
    let whole: String = (1..=5_000).map(|n| format!("line {n} 中\n")).collect();
    assert_eq!(out(&yard.run(&["read", id])), whole);
    assert!(yard.run(&["stop"]).status.success());
    assert_eq!(out(&yard.run(&["read", id])), whole);
    assert_eq!(yard.json(&["info", id])["exit"]["code"], 0);
}

#[test]
fn case_k01_k02_a_time_limit_gives_what_there_is_and_the_id_to_end_it_by() {
    let yard = Yard::new();
    for kind in [&["--tty"][..], &["--stdin", "null"]] {
        let script = "printf part; for j in 1 2; do (while :; do sleep .05; done) & done; wait";
        let line = [&["exec", "--yield-ms", "500"], kind, &["--", "sh", "-c", script]].concat();
        let reply = yard.json(&line);
        assert_eq!((&reply["output"], &reply["ended_by"]), (&json!("part"), &json!("deadline")), "{reply}");
        let id = reply["session_id"].to_string();
        let killed = yard.json(&["kill", &id, "--grace", "0"]);
        assert!(killed["found"].as_u64() >= Some(3) && killed["survivors"] == json!([]), "{killed}");
        let again = yard.json(&["kill", &id, "--grace", "0"]);
        assert_eq!(again["found"], 0, "killed twice, there is nothing left: {again}");
    }
}

#[test]
fn case_x04_x08_statuses_are_the_programs_own() {
    let yard = Yard::new();
    for (argv, status) in [
        (&["sh", "-c", "false | cat"][..], 0),
        (&["bash", "-o", "pipefail", "-c", "false | cat"], 1),
        (&["sh", "-c", "nosuchcmd 2>/dev/null"], 127),
        (&["sh", "-c", "/etc/passwd 2>/dev/null"], 126),
        (&["sh", "-c", "kill -TERM $$"], 143),
        (&["sh", "-c", "exit 255"], 255),
    ] {
        for kind in [&["--tty"][..], &[]] {
            let output = yard.run(&[&["exec", "--wait"], kind, &["--"], argv].concat());
            assert_eq!(output.status.code(), Some(status), "{argv:?} {kind:?}: {}", err(&output));
        }
    }
}
