//! Agents whose server dies in the middle of a turn, or of a delivery.

use std::path::Path;

use serde_json::Value;

use crate::stage::{Stage, text, until};

/// An agent that says on the terminal what it does, and ends its turns when `go` is there.
fn agent(go: &Path) -> String {
    let report = |state: &str| format!("printf '\\033]7501;state={state}\\033\\\\'");
    format!(
        "stty -echo; {idle}; while read line; do {working}; while [ ! -e {go} ]; do sleep 0.01; done; \
         echo \"got=$line;\"; {idle}; done",
        idle = report("idle"),
        working = report("working"),
        go = go.display(),
    )
}

fn launch(stage: &Stage, script: &str) {
    stage.json(&["launch", "--provider", "generic", "--name", "a", "--", "sh", "-c", script]);
    until("it is ready", || stage.json(&["status", "a"])["status"] == "idle");
}

fn state(stage: &Stage, message: &Value) -> Value {
    stage.json(&["message", &text(&message["id"])])["state"].clone()
}

#[test]
fn law_08_mail_waits_for_the_end_of_a_turn_that_an_earlier_server_began() {
    let stage = Stage::new();
    let go = stage.file("go");
    launch(&stage, &agent(&go));
    let first = stage.json(&["send", "a", "one", "--wait", "delivered"]);
    assert_eq!(first["state"], "delivered");
    stage.kill_server();
    let second = stage.json(&["send", "a", "two"]);
    until("it is known to work", || stage.json(&["status", "a"])["status"] == "processing");
    assert_eq!(stage.json(&["status", "a"])["epoch"], 1);
    assert_eq!(state(&stage, &second), "pending");
    assert_eq!(stage.json(&["message", &text(&first["id"])])["turn"], "open");
    std::fs::write(go, "").unwrap();
    until("the second is delivered", || state(&stage, &second) == "delivered");
    until("both were read", || String::from_utf8_lossy(&stage.log("a")).contains("got=two;"));
    assert_eq!(String::from_utf8_lossy(&stage.log("a")).matches("got=").count(), 2);
    until("the first turn is over", || stage.json(&["message", &text(&first["id"])])["turn"] == "completed");
}

#[test]
fn law_13_mail_that_may_have_arrived_is_uncertain_and_nothing_overtakes_it() {
    let stage = Stage::new();
    // It reads everything and says nothing: nobody can know what it understood.
    launch(&stage, "stty -echo; printf '\\033]7501;state=idle\\033\\\\'; cat >/dev/null");
    let first = stage.json(&["send", "a", "one"]);
    until("it is being handed over", || state(&stage, &first) == "dispatching");
    until("it is noted", || stage.json(&["status", "a", "--explain"])["explain"]["hold"] == "unconfirmed");
    stage.kill_server();
    let second = stage.json(&["send", "a", "two"]);
    assert_eq!(state(&stage, &first), "uncertain");
    until("the agent is known", || {
        stage.json(&["status", "a", "--explain"])["explain"]["hold"] == "unconfirmed"
    });
    assert_eq!(state(&stage, &second), "pending");
    // A person decides: what is in doubt is given up, and the rest goes on.
    stage.json(&["reset", "a"]);
    until("the second is handed over", || state(&stage, &second) != "pending");
    assert_eq!(state(&stage, &first), "uncertain");
}
