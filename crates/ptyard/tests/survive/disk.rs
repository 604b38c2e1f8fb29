//! State on a disk that is full, or read-only: clear errors, and living programs.

use std::time::Duration;

use serde_json::Value;

use crate::stage::{Stage, kill, number, pass, runs, until};

fn is_refused(reply: &Value, codes: &[&str]) {
    let code = reply["error"]["code"].as_str().unwrap_or("none");
    assert!(codes.contains(&code), "{reply}");
}

/// Prints numbered lines whenever it is told to, and at its end.
fn program(stage: &Stage, name: &str) -> std::path::PathBuf {
    let go = stage.file(name);
    let script = format!(
        "trap '' HUP; echo begin; while [ ! -e {} ]; do sleep 0.01; done; seq 1 40000; echo end; exit 5",
        go.display()
    );
    stage.json(&["exec", "--name", name, "--until", "regex:begin", "--", "sh", "-c", &script]);
    go
}

fn whole_output() -> String {
    let lines: String = (1..=40_000).map(|n| format!("{n}\n")).collect();
    format!("begin\n{lines}end\n")
}

#[test]
fn a_full_disk_is_told_at_every_step_and_ends_nothing() {
    let Some(stage) = Stage::on_small_disk() else { return };
    stage.fill_disk();
    is_refused(&stage.json(&["list"]), &["disk_full"]);
    stage.free_disk();
    // Programs that run when it is full: one prints then, one only waits, one is typed into.
    let (prints, waits) = (program(&stage, "prints"), program(&stage, "waits"));
    stage.json(&["exec", "--stdin", "pipe", "--name", "cat", "--until", "quiet:1", "--", "cat"]);
    let ended = stage.json(&["exec", "--name", "ended", "--until", "exit", "--", "echo", "x"]);
    assert_eq!(ended["exit"]["code"], 0, "{ended}");
    let pids = ["prints", "waits", "cat"].map(|name| number(&stage.json(&["info", name])["pid"]));
    stage.fill_disk();
    is_refused(&stage.json(&["exec", "--until", "exit", "--", "true"]), &["disk_full"]);
    assert_eq!(
        stage.json(&["list"]).as_array().unwrap().len(),
        4,
        "nothing is left of the one that was refused"
    );
    std::fs::write(&prints, "").unwrap();
    let typed = stage.json(&["write", "cat", "--chars", "typed\n", "--until", "regex:typed"]);
    assert_eq!(typed["output"], "typed\n", "{typed}");
    until("the output", || stage.log("prints").len() > 1000);
    // The next server, and the next keeper, start on the full disk, or say why they do not; programs live on.
    for victim in ["server", "keeper", "server"] {
        match victim {
            "server" => stage.kill_server(),
            _ => kill(stage.keeper()),
        }
        let list = stage.json(&["list"]);
        if list["error"]["code"] == "disk_full" {
            // Said clearly; nobody is ended for it.
            assert!(pids.iter().all(|pid| runs(*pid)), "{victim}");
            break;
        }
        assert!(list.as_array().is_some_and(|all| all.len() == 4), "{victim}: {list}");
        assert!(pids.iter().all(|pid| runs(*pid)), "{victim}");
        if victim == "keeper" {
            pass(Duration::from_millis(500));
        }
    }
    std::fs::write(&waits, "").unwrap();
    stage.free_disk();
    assert_eq!(stage.log("ended"), b"x\n");
    stage.json(&["close-stdin", "cat"]);
    let end = stage.end("cat");
    assert!(end["code"] == 0 || end["cause"] == "lost", "{end}");
    for name in ["prints", "waits"] {
        let exit = stage.end(name);
        assert!(exit["code"] == 5 || exit["cause"] == "lost", "{name}: {exit}");
        assert_eq!(String::from_utf8(stage.log(name)).unwrap(), whole_output(), "{name}");
    }
    assert_eq!(stage.json(&["exec", "--until", "exit", "--", "true"])["exit"]["code"], 0);
}

#[test]
fn a_read_only_state_is_told_at_every_step_and_ends_nothing() {
    let Some(stage) = Stage::on_small_disk() else { return };
    {
        let _read_only = stage.make_read_only();
        is_refused(&stage.json(&["list"]), &["state_unwritable"]);
    }
    let go = program(&stage, "p");
    let pid = number(&stage.json(&["info", "p"])["pid"]);
    stage.json(&["exec", "--stdin", "pipe", "--name", "cat", "--until", "quiet:1", "--", "cat"]);
    {
        let _read_only = stage.make_read_only();
        is_refused(&stage.json(&["exec", "--until", "exit", "--", "true"]), &["state_unwritable"]);
        let typed = stage.json(&["write", "cat", "--chars", "typed\n", "--until", "regex:typed"]);
        assert_eq!(typed["output"], "typed\n", "{typed}");
        assert_eq!(stage.json(&["info", "p"])["state"], "running");
        let server = stage.running_server();
        is_refused(&stage.json(&["serve", "--replace"]), &["state_unwritable"]);
        assert!(runs(pid));
        if runs(server.into()) {
            kill(server);
        }
        is_refused(&stage.json(&["list"]), &["state_unwritable"]);
        assert!(runs(pid));
    }
    std::fs::write(go, "").unwrap();
    assert_eq!(stage.end("p")["code"], 5);
    assert_eq!(String::from_utf8(stage.log("p")).unwrap(), whole_output());
}
