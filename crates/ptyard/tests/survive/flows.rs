//! Flows whose server dies.

use serde_json::Value;

use crate::stage::{Stage, text, until};

/// Adds a flow whose agent answers when `go` is there.
fn add(stage: &Stage, go: &std::path::Path) {
    let report = |state: &str| format!("printf '\\033]7501;state={state}\\033\\\\'");
    let script = format!(
        "stty -echo; {idle}; while read line; do case $line in *': end.'*) break;; esac; done; {working}; while [ ! -e {go} ]; do sleep 0.01; done; echo done; {idle}; sleep 600",
        idle = report("idle"),
        working = report("working"),
        go = go.display(),
    );
    let what = ["--cron", "@yearly", "--tz", "UTC", "--provider", "generic", "slow", "look"];
    stage.json(&[&["flow", "add"], &what[..], &["--", "sh", "-c", &script]].concat());
}

fn newest(stage: &Stage) -> Value {
    stage.json(&["flow", "show", "slow"])["runs"][0].clone()
}

#[test]
fn a_run_outlives_the_server_that_began_it_and_is_not_begun_twice() {
    let stage = Stage::new();
    let go = stage.file("go");
    add(&stage, &go);
    let run = stage.json(&["flow", "run", "slow"]);
    let message = text(&run["message"]);
    until("the work is delivered", || stage.json(&["message", &message])["state"] == "delivered");
    stage.kill_server();
    let later = newest(&stage);
    assert_eq!(
        (&later["id"], &later["state"], &later["terminal"]),
        (&run["id"], &"running".into(), &run["terminal"])
    );
    let refused = stage.run(&["--json", "flow", "run", "slow"]);
    assert!(String::from_utf8_lossy(&refused.stdout).contains("flow_running"), "{refused:?}");
    std::fs::write(go, "").unwrap();
    until("it is completed", || newest(&stage)["state"] == "completed");
    assert_eq!(stage.json(&["flow", "show", "slow"])["runs"].as_array().unwrap().len(), 1);
    let info = stage.json(&["flow", "show", "slow"])["flow"].clone();
    assert!(info["next"].is_string() && info["created_at"].is_string(), "{info}");
}

#[test]
fn a_run_whose_server_died_is_failed_when_its_agent_is_gone() {
    let stage = Stage::new();
    add(&stage, &stage.file("go"));
    let run = stage.json(&["flow", "run", "slow"]);
    stage.kill_server();
    stage.json(&["kill", &text(&run["terminal"])]);
    until("it is failed", || newest(&stage)["state"] == "failed");
    assert!(text(&newest(&stage)["note"]).contains("program ended"));
}
