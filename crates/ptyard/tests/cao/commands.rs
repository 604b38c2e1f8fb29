//! CAO's command line.

use std::time::{Duration, Instant};

use serde_json::Value;

use crate::site::Site;

#[test]
fn an_agent_is_launched_told_looked_at_and_shut_down() {
    let Some(site) = Site::start() else { return };
    assert!(site.cao(&["session", "list"]).contains("No active"), "nothing runs yet");
    let launch = ["launch", "--agents", "helper", "--headless", "--auto-approve", "--session-name", "demo"];
    let told = site.cao(&[&launch[..], &["first words"]].concat());
    assert!(told.contains("Session created: cao-demo"), "{told}");
    assert!(told.contains("You said: first words"), "{told}");

    let listed: Value = serde_json::from_str(&site.cao(&["session", "list", "--json"])).unwrap();
    assert_eq!(listed[0]["session"], "cao-demo");
    assert_eq!(listed[0]["conductor"]["agent_profile"], "helper");
    assert_eq!(listed[0]["terminal_count"], 1);
    assert_eq!(site.windows("cao-demo").len(), 1);
    let status = site.cao(&["session", "status", "cao-demo"]);
    assert!(status.contains("You said: first words"), "{status}");
    let answer = site.cao(&["session", "send", "cao-demo", "more words"]);
    assert!(answer.contains("You said: more words"), "{answer}");

    // What CAO's clients did not start is not theirs to end.
    let own = site.json(&["launch", "--provider", "generic", "--session", "own", "--", "sleep", "600"]);
    assert_eq!(own["session"], "own", "{own}");
    let told = site.cao(&["shutdown", "--all"]);
    assert!(told.contains("cao-demo"), "{told}");
    assert_eq!(site.json(&["session", "show", "cao-demo"])["error"]["code"], "unknown_session");
    assert_eq!(site.json(&["session", "show", "own"])["members"].as_array().unwrap().len(), 1);
}

#[test]
fn a_person_attaches_with_tmux_types_and_detaches() {
    let Some(site) = Site::start() else { return };
    let person = site.person(&["launch", "--agents", "helper", "--auto-approve", "--session-name", "seen"]);
    // The status line of tmux: the session, and the window with the agent.
    assert!(site.shown(person, "0:helper-").contains("[cao-seen]"));
    let terminal = site.get("/sessions/cao-seen/terminals")[0].clone();
    assert_eq!(site.windows("cao-seen"), [terminal["tmux_window"].as_str().unwrap()]);
    let written = site.json(&["write", person, "--chars", "typed by hand\r"]);
    assert!(written["error"].is_null(), "{written}");
    site.shown(person, "You said: typed by hand");
    // The agent has the size of the person's terminal, less tmux's status line.
    let id = terminal["id"].as_str().unwrap();
    let members = site.json(&["session", "show", "cao-seen"]);
    let full = members["members"][0]["id"].as_str().unwrap_or_else(|| panic!("{members}"));
    let info = site.json(&["info", full]);
    assert_eq!(info["size"], serde_json::json!({"cols": 100, "rows": 29}), "{info}");
    site.json(&["write", person, "--keys", "C-b d"]);
    let left = site.json(&["wait", person, "--until", "exit", "--timeout", "30"]);
    assert!(left.to_string().contains("exit"), "{left}");

    // The agent goes on, and its clients with it.
    let output = site.get(&format!("/terminals/{id}/output?mode=last"));
    assert!(output["output"].as_str().unwrap().contains("You said: typed by hand"), "{output}");
    let listed = site.cao(&["session", "list"]);
    assert!(listed.contains("cao-seen") && listed.contains("completed"), "{listed}");
    let answer = site.cao(&["session", "send", "cao-seen", "sent words"]);
    assert!(answer.contains("You said: sent words"), "{answer}");
    site.cao(&["shutdown", "--session", "cao-seen"]);
    assert_eq!(site.windows("cao-seen"), [""; 0]);
    let stopped = site.ptyard(&["stop"]).output().unwrap();
    assert!(stopped.status.success(), "{stopped:?}");
    let began = Instant::now();
    while site.tmux(&["has-session"]).status.success() {
        assert!(
            began.elapsed() < Duration::from_secs(20),
            "tmux is left: {:?}",
            site.tmux(&["list-windows", "-a"])
        );
    }
}

#[test]
fn without_tmux_a_launch_says_what_to_do() {
    // Nothing but the agents is in it.
    let Some(site) = Site::start_with_path("") else { return };
    let told = site.cao_refused(&["launch", "--agents", "helper", "--headless", "--auto-approve"]);
    assert!(told.contains("install tmux"), "{told}");
    assert_eq!(site.get("/sessions"), serde_json::json!([]));
}
