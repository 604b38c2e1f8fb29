//! What a new server knows of the one before.

use std::io::{BufRead as _, BufReader};
use std::os::unix::fs::PermissionsExt as _;
use std::process::{Command, Stdio};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};

use crate::stage::{Stage, number, pass, runs, text, until};

#[test]
fn law_03_the_next_window_goes_on_where_the_last_one_ended() {
    let stage = Stage::new();
    let script = "printf 'one h\\303'; read x; printf '\\251llo %s\\n' $x; read x";
    let first =
        stage.json(&["exec", "--tty", "--name", "p", "--until", "quiet:100", "--", "sh", "-c", script]);
    assert_eq!(first["output"], "one h");
    stage.kill_server();
    let second = stage.json(&["write", "p", "--chars", "you\n", "--until", "regex:llo you"]);
    assert_eq!(second["from"], first["next"], "{second}");
    // The echo of the line comes between the two halves of the character.
    assert!(text(&second["output"]).contains("you"), "{second}");
    stage.kill_server();
    let third = stage.json(&["write", "p", "--chars", "\n", "--until", "exit"]);
    assert_eq!(third["from"], second["next"]);
    assert_eq!(third["exit"]["code"], 0);
    // The end was handed over: the short id holds no longer, for the next server either.
    stage.kill_server();
    assert!(stage.json(&["info", "p"])["session_id"].is_null());
}

#[test]
fn law_04_an_end_that_no_server_saw_is_told_to_the_next_once() {
    let stage = Stage::new();
    let (go, gone) = (stage.file("go"), stage.file("gone"));
    let script = format!(
        "while [ ! -e {} ]; do sleep 0.01; done; echo bye; touch {}; exit 42",
        go.display(),
        gone.display()
    );
    stage.json(&["exec", "--name", "p", "--until", "quiet:1", "--", "sh", "-c", &script]);
    let pid = number(&stage.json(&["info", "p"])["pid"]);
    stage.kill_server();
    std::fs::write(go, "").unwrap();
    until("the end", || gone.exists() && !runs(pid));
    for _ in 0..2 {
        let exit = stage.end("p");
        assert_eq!((&exit["code"], &exit["cause"]), (&42.into(), &"exited".into()), "{exit}");
        assert_eq!(stage.log("p"), b"bye\n");
        stage.kill_server();
    }
    let events = stage.run(&["events", "--json"]);
    let events = String::from_utf8_lossy(&events.stdout);
    let told = events.matches("\"kind\":\"exited\"").count();
    // A server that was killed right when it told may not have written it down; then it left a gap.
    assert!(told == 1 || (told == 0 && events.contains("\"kind\":\"gap\"")), "{events}");
}

#[test]
fn a_screen_its_sizes_title_and_modes_are_the_same_after_a_restart() {
    let stage = Stage::new();
    let script = r"printf '\033]0;the title\007\033[?2004h\033[?1049h\033[2J\033[3;5Hhere'; read x; printf '\033[5;1Hwide'; read x";
    let args =
        ["exec", "--tty", "--size", "40x10", "--name", "p", "--until", "quiet:100", "--", "sh", "-c", script];
    stage.json(&args);
    stage.json(&["resize", "p", "60x12"]);
    stage.json(&["write", "p", "--chars", "\n", "--until", "regex:wide"]);
    let before = (stage.json(&["screen", "p"]), stage.json(&["info", "p"]));
    stage.kill_server();
    let after = (stage.json(&["screen", "p"]), stage.json(&["info", "p"]));
    assert_eq!(before.0, after.0);
    for field in ["id", "session_id", "name", "size", "log", "cursor", "pid", "title"] {
        assert_eq!(before.1[field], after.1[field], "{field}");
    }
    assert_eq!(after.0["title"], "the title");
}

#[test]
fn a_question_that_came_while_no_server_ran_is_answered_by_the_next_and_one_before_is_not_again() {
    let stage = Stage::new();
    let (go, asked) = (stage.file("go"), stage.file("asked"));
    let script = format!(
        r#"
import os, sys, time, tty
tty.setraw(0)
os.write(1, b'\x1b[6n')
first = os.read(0, 100)
os.write(1, b'first %r' % first)
while not os.path.exists({go:?}): time.sleep(0.01)
os.write(1, b'\x1b[c')
open({asked:?}, 'w')
second = os.read(0, 100)
os.write(1, b'second %r' % second)
time.sleep(0.3)
os.set_blocking(0, False)
try: os.write(1, b'more %r' % os.read(0, 100))
except BlockingIOError: os.write(1, b'nothing more')
"#
    );
    stage.json(&["exec", "--tty", "--name", "p", "--until", "regex:first", "--", "python3", "-c", &script]);
    stage.kill_server();
    std::fs::write(go, "").unwrap();
    until("the question", || asked.exists());
    let exit = stage.end("p");
    assert_eq!(exit["code"], 0, "{exit}");
    let log = String::from_utf8(stage.log("p")).unwrap();
    assert!(log.contains("second b'\\x1b[?"), "{log:?}");
    assert!(log.ends_with("nothing more"), "{log:?}");
}

#[test]
fn case_e02_the_input_of_a_pipe_ends_although_the_keeper_has_a_copy() {
    let stage = Stage::new();
    stage.json(&["exec", "--stdin", "pipe", "--name", "p", "--until", "quiet:1", "--", "cat"]);
    stage.json(&["write", "p", "--chars", "abc"]);
    stage.json(&["close-stdin", "p"]);
    assert_eq!(stage.end("p")["code"], 0);
    stage.json(&["exec", "--stdin", "pipe", "--name", "q", "--until", "quiet:1", "--", "cat"]);
    stage.kill_server();
    stage.json(&["close-stdin", "q"]);
    assert_eq!(stage.end("q")["code"], 0);
}

#[test]
fn a_program_is_killed_with_what_it_started_by_the_next_server() {
    let stage = Stage::new();
    stage.json(&[
        "exec",
        "--tty",
        "--name",
        "p",
        "--until",
        "regex:two",
        "--",
        "sh",
        "-c",
        "setsid sleep 600 & echo two; sleep 601",
    ]);
    let pid = number(&stage.json(&["info", "p"])["pid"]);
    stage.kill_server();
    let killed = stage.json(&["kill", "p"]);
    assert!(number(&killed["found"]) >= 3, "{killed}");
    assert_eq!(killed["survivors"], serde_json::json!([]), "{killed}");
    assert_eq!(killed["exit"]["cause"], "killed");
    assert!(!runs(pid));
}

#[test]
fn stop_ends_the_programs_of_a_server_that_died_and_the_keeper() {
    let stage = Stage::new();
    stage.json(&["exec", "--name", "p", "--until", "quiet:1", "--", "sleep", "600"]);
    let (pid, keeper) = (number(&stage.json(&["info", "p"])["pid"]), stage.keeper());
    stage.kill_server();
    assert!(runs(pid));
    assert!(stage.run(&["stop"]).status.success());
    assert!(!runs(pid), "the program lives on");
    assert!(!stage.state().join("keeper.sock").exists());
    // Its lock is free when stop returns; its process may need a moment more.
    until("the keeper's end", || !runs(keeper.into()));
}

#[test]
fn law_04_a_kill_that_outlived_its_server_is_still_ours() {
    let stage = Stage::new();
    let (asked, go) = (stage.file("asked"), stage.file("go"));
    let script = format!(
        "trap 'touch {}' TERM HUP; echo ready; while [ ! -e {} ]; do sleep 0.01; done; kill -9 $$",
        asked.display(),
        go.display()
    );
    stage.json(&["exec", "--name", "p", "--until", "regex:ready", "--", "sh", "-c", &script]);
    let mut kill = stage.command(&["kill", "p", "--grace", "60000"]).spawn().unwrap();
    until("the question", || asked.exists());
    stage.kill_server();
    assert!(!kill.wait().unwrap().success());
    std::fs::write(go, "").unwrap();
    let exit = stage.end("p");
    assert_eq!((&exit["cause"], &exit["by"]), (&"killed".into(), &"kill".into()), "{exit}");
}

#[test]
fn law_07_a_keyed_write_is_typed_once_by_all_servers_together() {
    let stage = Stage::new();
    stage.json(&["exec", "--stdin", "pipe", "--name", "p", "--until", "quiet:1", "--", "cat"]);
    let write = ["write", "p", "--chars", "once\n", "--key", "k1", "--until", "quiet:50"];
    stage.json(&write);
    stage.kill_server();
    stage.json(&write);
    stage.json(&["close-stdin", "p"]);
    stage.end("p");
    assert_eq!(stage.log("p"), b"once\n");
}

#[test]
fn a_server_that_cannot_start_leaves_the_programs_to_one_that_can() {
    let stage = Stage::new();
    stage.json(&["exec", "--name", "p", "--until", "quiet:1", "--", "sleep", "600"]);
    let pid = number(&stage.json(&["info", "p"])["pid"]);
    stage.kill_server();
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    for _ in 0..3 {
        let refused = stage.json(&["serve", "--listen", &address]);
        assert_eq!(refused["error"]["code"], "invalid_argument", "{refused}");
    }
    assert!(runs(pid), "it was ended for a server that never served");
    assert_eq!(stage.json(&["info", "p"])["state"], "running");
}

#[test]
fn a_command_waits_for_a_server_whose_starter_was_killed() {
    let stage = Stage::new();
    let list = || stage.command(&["list"]).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    let mut starter = list();
    let mut server = String::new();
    until("the server", || {
        server = std::fs::read_to_string(stage.state().join("lock")).unwrap_or_default();
        server.ends_with('\n')
    });
    let pid = Pid::from_raw(server.trim().parse().unwrap()).unwrap();
    kill_process(pid, Signal::STOP).unwrap();
    starter.kill().unwrap();
    starter.wait().unwrap();
    let mut next = list();
    pass(Duration::from_millis(300));
    let went_on = next.try_wait().unwrap();
    kill_process(pid, Signal::CONT).unwrap();
    assert!(went_on.is_none_or(|status| status.success()), "{went_on:?}");
    let output = next.wait_with_output().unwrap();
    assert!(output.status.success(), "{output:?}");
    assert_eq!(stage.server(), pid.as_raw_pid() as u32, "it is the one that began");
}

#[test]
fn a_command_waits_for_a_server_that_ends_and_listens_no_more() {
    let stage = Stage::new();
    std::fs::create_dir_all(stage.state()).unwrap();
    std::fs::set_permissions(stage.state(), std::fs::Permissions::from_mode(0o700)).unwrap();
    let lock = stage.state().join("lock");
    let script = "echo $$ >\"$1\"; exec flock -x \"$1\" sh -c 'echo locked; exec sleep 1'";
    let mut last = Command::new("sh");
    let mut last = last.args(["-c", script, "sh"]).arg(&lock).stdout(Stdio::piped()).spawn().unwrap();
    let mut locked = String::new();
    BufReader::new(last.stdout.take().unwrap()).read_line(&mut locked).unwrap();
    assert_eq!(locked, "locked\n");
    let output = stage.run(&["list"]);
    assert!(output.status.success(), "{output:?}");
    assert!(last.wait().unwrap().success());
}

#[test]
fn law_01_a_log_that_the_last_server_still_holds_is_waited_for() {
    let stage = Stage::new();
    stage.json(&[
        "exec",
        "--name",
        "p",
        "--until",
        "regex:here",
        "--",
        "sh",
        "-c",
        "echo here; exec sleep 600",
    ]);
    let info = stage.json(&["info", "p"]);
    let pid = number(&info["pid"]);
    let keeper = Pid::from_raw(i32::try_from(stage.keeper()).unwrap()).unwrap();
    // So that it does not take the log first.
    kill_process(keeper, Signal::STOP).unwrap();
    stage.kill_server();
    let ring = stage.state().join("terminals").join(text(&info["id"])).join("ring");
    let mut dying = Command::new("flock");
    let dying = dying.arg("-x").arg(ring).args(["sh", "-c", "echo locked; exec sleep 1"]);
    let mut dying = dying.stdout(Stdio::piped()).spawn().unwrap();
    let mut locked = String::new();
    BufReader::new(dying.stdout.take().unwrap()).read_line(&mut locked).unwrap();
    kill_process(keeper, Signal::CONT).unwrap();
    let again = stage.json(&["info", "p"]);
    assert_eq!((&again["state"], number(&again["pid"])), (&"running".into(), pid), "{again}");
    assert!(runs(pid));
    dying.wait().unwrap();
}
