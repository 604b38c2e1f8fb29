//! Manifests that change while a server runs.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::fake::out;
use crate::live::Yard;

/// Ready when it says `ready>`, in a version of its own.
fn manifest(version: &str, ready: &str) -> String {
    format!(
        r#"
id = "toy"
name = "Toy"
version = "{version}"
engine = 1
[launch]
binaries = ["sh"]
[anchors]
ready = '^{ready}'
[[rules]]
id = "ready"
status = "ready"
when = ["ready"]
[[selftest]]
status = "idle"
screen = "{ready} "
"#
    )
}

/// What is known of `toy`, once `holds` is true of it.
fn toy_becomes(yard: &Yard, holds: impl Fn(&Value) -> bool) -> Value {
    let began = Instant::now();
    loop {
        let all = yard.json(&["provider", "list"]);
        let toy = all.as_array().unwrap().iter().find(|row| row["id"] == "toy").cloned().unwrap_or_default();
        if holds(&toy) {
            return toy;
        }
        assert!(began.elapsed() < Duration::from_secs(20), "{toy}");
    }
}

#[test]
fn an_edited_manifest_is_in_use_at_once_and_a_broken_one_never() {
    let yard = Yard::new();
    let script = "printf 'waits>'; exec sleep 600";
    // The directory comes when the server runs already.
    yard.json(&["list"]);
    let directory = yard.state().join("providers");
    std::fs::create_dir(&directory).unwrap();
    let write = |text: &str| {
        // As editors do: whole or not at all.
        std::fs::write(directory.join("part"), text).unwrap();
        std::fs::rename(directory.join("part"), directory.join("toy.toml")).unwrap();
    };
    write(&manifest("1.0.0", "ready>"));
    toy_becomes(&yard, |toy| toy["version"] == "1.0.0");
    let id = yard.json(&["launch", "--provider", "toy", "--", "-c", script])["session_id"].to_string();
    let began = Instant::now();
    while !out(&yard.run(&["read", &id, "--raw"])).contains("waits>") {
        assert!(began.elapsed() < Duration::from_secs(20), "it printed nothing");
    }
    let status = || yard.json(&["status", &id])["status"].clone();
    assert_ne!(status(), "idle");

    // The one that runs goes by the new edition, without a byte of output.
    write(&manifest("1.1.0", "waits>"));
    toy_becomes(&yard, |toy| toy["version"] == "1.1.0");
    let ready = yard.json(&["wait", &id, "--until", "status:idle", "--timeout", "60"]);
    assert_eq!(ready["ended_by"], "status", "{ready}");

    // One that fails its own test.
    write(&manifest("1.2.0", "waits>").replace("screen = \"waits> \"", "screen = \"nothing\""));
    let toy = toy_becomes(&yard, |toy| !toy["problem"].is_null());
    assert_eq!(toy["version"], "1.1.0");
    let problem = toy["problem"].as_str().unwrap();
    assert!(problem.contains("toy.toml: line 14") && problem.contains("version 1.1.0 stays in use"), "{toy}");
    assert_eq!(status(), "idle");
    let text = out(&yard.run(&["provider", "list"]));
    assert!(text.contains("not used: ") && text.contains("a test of its own"), "{text}");
    let doctor = yard.json(&["doctor"]);
    let check = doctor["checks"].as_array().unwrap().iter().find(|check| check["name"] == "providers");
    assert_eq!(check.unwrap()["level"], "note", "{doctor}");

    write(&manifest("1.3.0", "waits>"));
    let toy = toy_becomes(&yard, |toy| toy["version"] == "1.3.0");
    assert_eq!((&toy["problem"], &toy["origin"]), (&Value::Null, &json!("local")));
    // What runs goes on with it when it is gone.
    std::fs::remove_file(directory.join("toy.toml")).unwrap();
    toy_becomes(&yard, Value::is_null);
    assert_eq!(status(), "idle");
}

/// An agent that is given hooks, and tells them of a prompt.
const TELLS_HOOKS: &str = r#"
id = "toy"
name = "Toy"
version = "1.0.0"
engine = 1
[launch]
binaries = ["sh"]
args = ["-c", 'hook=$(sed -E "s/.*\"command\":\"(([^\"\\\\]|\\\\.)*)\".*/\\1/; s/\\\\(.)/\\1/g" "$0"); printf "ready>"; read line; told=$(printf "{\"hook_event_name\":\"UserPromptSubmit\",\"prompt\":\"%s\"}" "$line" | sh -c "$hook"); printf "[%s %s]" "$?" "$told"; exec sleep 600']
hooks = { words = "claude", args = ["{file}"] }
[anchors]
ready = '^ready>'
[[rules]]
id = "ready"
status = "ready"
when = ["ready"]
[[selftest]]
status = "idle"
screen = "ready>"
"#;

#[test]
fn an_agent_tells_its_hooks_which_text_it_took_and_nobody_tells_it_for_another() {
    let yard = Yard::new();
    std::fs::create_dir_all(yard.state().join("providers")).unwrap();
    std::fs::write(yard.state().join("providers/toy.toml"), TELLS_HOOKS).unwrap();
    let id = yard.json(&["launch", "--provider", "toy"])["session_id"].to_string();
    let ready = yard.json(&["wait", &id, "--until", "status:idle", "--timeout", "60"]);
    assert_eq!(ready["ended_by"], "status", "{ready}");
    // The hook ran, ended well, and printed nothing that the agent could take for something.
    yard.json(&["write", &id, "--chars", "look at it\n", "--until", "regex:\\[0 \\]", "--yield-ms", "60000"]);
    let status = yard.json(&["status", &id, "--explain"]);
    assert_eq!((&status["source"], &status["rule"]), (&json!("hook"), &json!("hook.prompt")), "{status}");

    // Whoever has not its token tells nothing, and is told nothing.
    let own = yard.json(&["info", &id])["id"].as_str().unwrap().to_owned();
    let mut other = yard.command(&["hook", "claude"]);
    other.env("PTYARD_TERMINAL", &own).env("PTYARD_TOKEN", "0".repeat(64)).env("PTYARD_STATE", yard.state());
    let told = yard.state().join("told.json");
    std::fs::write(&told, r#"{"hook_event_name": "Stop", "stop_hook_active": false}"#).unwrap();
    other.stdin(std::fs::File::open(&told).unwrap());
    let output = other.output().unwrap();
    assert!(output.status.success() && output.stdout.is_empty(), "{output:?}");
    assert_eq!(yard.json(&["status", &id])["rule"], "hook.prompt");
    let mut unknown = yard.command(&["hook", "claude"]);
    unknown.stdin(std::fs::File::open(&told).unwrap());
    assert!(unknown.output().unwrap().status.success());
    assert_eq!(yard.json(&["status", &id])["rule"], "hook.prompt");
}
