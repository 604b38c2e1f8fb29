//! The keeper is killed.

use std::time::{Duration, Instant};

use crate::stage::{Stage, kill, number, runs, until};

fn waiting(stage: &Stage, name: &str) -> std::path::PathBuf {
    let go = stage.file(name);
    let script =
        format!("echo here; trap '' HUP; while [ ! -e {} ]; do sleep 0.01; done; exit 9", go.display());
    stage.json(&["exec", "--name", name, "--until", "regex:here", "--", "sh", "-c", &script]);
    go
}

fn new_programs_start(stage: &Stage) {
    for kind in [&["--tty"][..], &[]] {
        let reply = stage
            .json(&[&["exec", "--until", "exit"], kind, &["--", "sh", "-c", "echo new; exit 4"]].concat());
        assert_eq!(reply["exit"]["code"], 4, "{reply}");
        assert!(reply["output"].as_str().unwrap().starts_with("new"));
    }
}

#[test]
fn law_04_programs_of_a_killed_keeper_run_on_and_their_ends_are_true() {
    let stage = Stage::new();
    let go = waiting(&stage, "p");
    let pid = number(&stage.json(&["info", "p"])["pid"]);
    kill(stage.keeper());
    assert_eq!(stage.json(&["info", "p"])["state"], "running");
    assert!(runs(pid));
    new_programs_start(&stage);
    std::fs::write(go, "").unwrap();
    let began = Instant::now();
    let exit = stage.end("p");
    assert!(began.elapsed() < Duration::from_secs(1), "{:?}", began.elapsed());
    // This server started the keeper, so its programs fell to it.
    assert_eq!((&exit["code"], &exit["cause"]), (&9.into(), &"exited".into()), "{exit}");
    assert_eq!(stage.log("p"), b"here\n");
}

#[test]
fn law_04_an_end_that_nobody_can_know_is_lost_and_never_a_code() {
    let stage = Stage::new();
    let go = waiting(&stage, "p");
    // Another server than the one that started the keeper: the program falls to neither.
    stage.kill_server();
    stage.json(&["list"]);
    kill(stage.keeper());
    assert_eq!(stage.json(&["info", "p"])["state"], "running");
    std::fs::write(go, "").unwrap();
    let began = Instant::now();
    let exit = stage.end("p");
    assert!(began.elapsed() < Duration::from_secs(1), "{:?}", began.elapsed());
    assert!(exit["code"].is_null() && exit["cause"] == "lost", "{exit}");
    new_programs_start(&stage);
    assert_eq!(stage.log("p"), b"here\n");
}

#[test]
fn law_04_without_keeper_and_server_a_terminal_is_lost_and_its_log_readable() {
    let stage = Stage::new();
    let go = waiting(&stage, "p");
    let (server, keeper) = (stage.server(), stage.keeper());
    kill(server);
    kill(keeper);
    let info = stage.json(&["info", "p"]);
    assert_eq!((&info["state"], &info["exit"]["cause"]), (&"exited".into(), &"lost".into()), "{info}");
    assert!(info["pid"].is_null(), "{info}");
    assert_eq!(stage.log("p"), b"here\n");
    new_programs_start(&stage);
    std::fs::write(go, "").unwrap();
}

#[test]
fn programs_that_nobody_can_reach_any_more_are_ended() {
    let stage = Stage::new();
    waiting(&stage, "p");
    let (pid, server, keeper) = (number(&stage.json(&["info", "p"])["pid"]), stage.server(), stage.keeper());
    kill(server);
    // Only its socket: it comes back.
    std::fs::remove_file(stage.state().join("keeper.sock")).unwrap();
    until("the socket", || stage.state().join("keeper.sock").exists());
    assert_eq!(stage.json(&["info", "p"])["state"], "running");
    kill(stage.server());
    std::fs::remove_dir_all(stage.state()).unwrap();
    until("the end", || !runs(pid) && !runs(keeper.into()));
}
