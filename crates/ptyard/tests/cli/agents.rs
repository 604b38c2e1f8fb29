//! Agents, as a user and as another agent start them.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::fake::{err, out};
use crate::live::Yard;

const PTYARD: &str = env!("CARGO_BIN_EXE_ptyard");

/// A program that reports that it asks something, and once it read a line that it is idle.
const ASKS: &str = "stty -echo; printf '\\033]7501;state=blocked:kind=permission\\033\\\\'; read line; \
                    echo got=$line; printf '\\033]7501;state=idle\\033\\\\'; sleep 600";

fn launch(yard: &Yard, options: &[&str], script: &str) -> Value {
    yard.json(&[&["launch", "--provider", "generic"], options, &["--", "sh", "-c", script]].concat())
}

fn id(reply: &Value) -> String {
    reply["session_id"].to_string()
}

/// The status document once it says `status`: what was printed is judged a moment after it is in the log.
fn status_becomes(yard: &Yard, id: &str, status: &str) -> Value {
    let began = Instant::now();
    loop {
        let document = yard.json(&["status", id, "--explain"]);
        if document["status"] == status {
            return document;
        }
        assert!(began.elapsed() < Duration::from_secs(20), "it is not {status}: {document}");
    }
}

/// All that a program printed, once it printed `text`.
fn printed_with(yard: &Yard, id: &str, text: &str) -> String {
    let began = Instant::now();
    loop {
        let printed = out(&yard.run(&["read", id, "--raw"]));
        if printed.contains(text) {
            return printed;
        }
        assert!(began.elapsed() < Duration::from_secs(60), "{text:?} is not in {printed:?}");
    }
}

#[test]
fn an_agent_is_launched_asked_answered_and_shut_down() {
    let yard = Yard::new();
    let reply = launch(&yard, &["--session", "team", "--name", "asker"], ASKS);
    assert_eq!((&reply["session"], &reply["agent"]["provider"]), (&json!("team"), &json!("generic")));
    let id = id(&reply);
    let asks = status_becomes(&yard, &id, "waiting_user_answer");
    assert_eq!((&asks["blocked_on"]["kind"], &asks["source"]), (&json!("permission"), &json!("native")));
    assert_eq!(asks["explain"]["hold"], "dialog");

    let answered = yard.json(&["answer", &id, "yes\u{1b}[A"]);
    assert_eq!(answered["removed"], 3);
    status_becomes(&yard, &id, "idle");
    let printed = out(&yard.run(&["read", &id, "--raw"]));
    assert!(printed.contains("got=yes"), "it was printed before the report: {printed:?}");
    let refused = yard.json(&["answer", &id, "again"]);
    assert_eq!(refused["error"]["code"], "not_asking");

    let text = out(&yard.run(&["session", "list"]));
    assert!(text.contains("team") && text.contains("1 terminals"), "{text}");
    assert_eq!(yard.json(&["session", "show", "team"])["conductor"], reply["id"]);
    assert!(yard.run(&["session", "shutdown", "team"]).status.success());
    assert_eq!(yard.json(&["session", "show", "team"])["error"]["code"], "unknown_session");
    assert_eq!(yard.json(&["list"]), json!([]));
}

#[test]
fn case_sec04_an_agent_that_starts_another_is_known_by_its_token() {
    let yard = Yard::new();
    let inner = format!(
        "{PTYARD} --json launch --provider generic -- sleep 600; \
         PTYARD_TOKEN={zeros} {PTYARD} --json launch --provider generic -- true; echo all-done; sleep 600",
        zeros = "0".repeat(64)
    );
    let boss = launch(&yard, &["--session", "team"], &inner);
    let printed = printed_with(&yard, &id(&boss), "all-done");
    let members = yard.json(&["session", "show", "team"])["members"].clone();
    let members = members.as_array().unwrap();
    assert_eq!(members.len(), 2, "the one with the wrong token started nothing: {members:?}");
    assert_eq!((&members[1]["creator"], &members[1]["depth"]), (&boss["id"], &json!(1)));
    assert!(printed.contains("\"forbidden\""), "{printed}");
}

#[test]
fn case_sec04_an_agent_sends_in_its_own_name_and_in_no_other() {
    let yard = Yard::new();
    let other = launch(&yard, &["--name", "other"], "sleep 600");
    let inner = format!(
        "{PTYARD} --json send other plain; {PTYARD} --json send other forged --from other; echo all-done; sleep 600"
    );
    let sender = launch(&yard, &["--name", "sender"], &inner);
    let printed = printed_with(&yard, &id(&sender), "all-done");
    assert!(printed.contains("\"forbidden\""), "{printed}");
    let mail = yard.json(&["inbox", &id(&other), "--all"]);
    let mail = mail.as_array().unwrap();
    assert_eq!(mail.len(), 1, "{mail:?}");
    assert_eq!(mail[0]["from"], sender["id"]);
}

#[test]
fn law_13_the_first_message_is_on_disk_when_launch_returns_and_comes_once_it_is_ready() {
    let yard = Yard::new();
    let agent = ptyard_testkit::agent::program().to_str().unwrap();
    let toml = "boot_ms = 300\nstatus.osc7501 = 'asks'";
    let what = ["launch", "--provider", "generic", "--message", "look around", "--", agent, "--toml", toml];
    let reply = yard.json(&what);
    let message = reply["message"].as_str().unwrap();
    let mail = yard.json(&["inbox", &id(&reply), "--all"]);
    assert_eq!((&mail[0]["id"], &mail[0]["text"]), (&json!(message), &json!("look around")));
    let began = Instant::now();
    while yard.json(&["message", message])["state"] != "delivered" {
        assert!(
            began.elapsed() < Duration::from_secs(60),
            "{}",
            yard.json(&["status", &id(&reply), "--explain"])
        );
    }
    let empty = yard.run(&["launch", "--provider", "generic", "--message", " ", "--", "sleep", "600"]);
    assert_eq!(empty.status.code(), Some(2));
    assert_eq!(yard.json(&["list"]).as_array().unwrap().len(), 1, "nothing was started for an empty message");
}

#[test]
fn profiles_are_listed_and_what_cannot_be_launched_is_told() {
    let yard = Yard::new();
    let own = yard.state().join("profiles");
    std::fs::create_dir_all(&own).unwrap();
    std::fs::write(own.join("mine.md"), "---\nname: mine\ndescription: My own\n---\nDo it.").unwrap();
    std::fs::write(own.join("bad.md"), "---\nname: bad\n").unwrap();
    let text = out(&yard.run(&["profile", "list"]));
    for part in ["mine", "My own", "supervisor", "built in", "cannot be used: line 1"] {
        assert!(text.contains(part), "{part} is not in {text}");
    }
    for (args, code) in [
        (&["launch", "nobody"][..], "unknown_profile"),
        (&["launch", "bad", "--provider", "generic"], "invalid_profile"),
        (&["launch", "mine"], "invalid_argument"),
        (&["launch", "--provider", "nothing"], "invalid_argument"),
        (&["status", "7777"], "unknown_terminal"),
    ] {
        assert_eq!(yard.json(args)["error"]["code"], code, "{args:?}");
    }
    assert_eq!(yard.run(&["launch"]).status.code(), Some(2));
    let plain = yard.json(&["exec", "--tty", "--yield-ms", "0", "--until", "exit", "--", "sleep", "600"]);
    let refused = yard.run(&["status", &id(&plain)]);
    assert!(err(&refused).contains("no agent runs"), "{refused:?}");
}

#[test]
fn work_is_handed_off_and_its_result_is_kept() {
    let yard = Yard::new();
    let own = yard.state().join("profiles");
    std::fs::create_dir_all(&own).unwrap();
    std::fs::write(own.join("helper.md"), "---\nname: helper\nprovider: generic\n---\n").unwrap();
    let agent = ptyard_testkit::agent::program().to_str().unwrap();
    let worker = |turn: &str| format!("status.osc7501 = 'always'\nturn = {{ {turn} }}");
    let quick = worker("answer = 'it is 42'");
    let output = yard.run(&["handoff", "helper", "compute", "--", agent, "--toml", &quick]);
    assert!(output.status.success() && out(&output).contains("it is 42"), "{output:?}");
    let began = Instant::now();
    while yard.json(&["list"]) != json!([]) {
        assert!(began.elapsed() < Duration::from_secs(60), "the worker is dismissed, behind its result");
    }

    let slow = worker("busy_ms = 300, answer = 'late'");
    let open = yard.json(&["handoff", "helper", "compute", "--timeout", "0", "--", agent, "--toml", &slow]);
    assert_eq!(open["state"], "open");
    let id = open["id"].as_str().unwrap();
    let kept = yard.json(&["result", id, "--timeout", "60"]);
    assert!(kept["result"].as_str().unwrap().contains("late"), "{kept}");
    assert_eq!(yard.json(&["result", "h999"])["error"]["code"], "unknown_handoff");
}

/// A kind of program that asks at its start whether the folder it shows is trusted.
const ASKS_FOR_TRUST: &str = r#"
id = "toy"
name = "Toy"
version = "1.0.0"
engine = 1
[launch]
binaries = ["sh"]
[anchors]
trust = '^Do you trust'
yes = '^> 1\. Yes'
prompt = '^ready>'
[[rules]]
id = "trust"
status = "waiting"
kind = "dialog"
asks = "trust"
when = ["yes", "trust above yes"]
[[rules]]
id = "prompt"
status = "ready"
when = ["prompt"]
[[dialogs]]
rule = "trust"
about = "trust_cwd"
keys = ["Enter"]
"#;

/// Asks about `folder`, takes an Enter for yes, and is ready.
fn asks_about(folder: &str) -> String {
    format!(
        "printf 'Do you trust it?\\n%s\\n> 1. Yes' {folder}; read yes; printf '\\033[2J\\033[Hready>'; sleep 600"
    )
}

#[test]
fn a_dialog_is_answered_only_as_the_operator_said() {
    let yard = Yard::new();
    std::fs::create_dir_all(yard.state().join("providers")).unwrap();
    std::fs::write(yard.state().join("providers/toy.toml"), ASKS_FOR_TRUST).unwrap();
    let start = |options: &[&str], folder: &str| {
        let script = asks_about(folder);
        id(&yard.json(&[&["launch", "--provider", "toy"], options, &["--", "-c", &script]].concat()))
    };
    let asked = start(&[], "\"$PWD\"");
    let trusted = start(&["--on-dialog", "trust-cwd"], "\"$PWD\"");
    let elsewhere = start(&["--on-dialog", "trust-cwd"], "/somewhere/else");
    let below = start(&["--on-dialog", "trust-cwd"], "\"$PWD\"/below");
    let window = yard.json(&["wait", &trusted, "--until", "status:idle", "--timeout", "60"]);
    assert_eq!(window["ended_by"], "status", "{window}");
    status_becomes(&yard, &trusted, "idle");
    for other in [&asked, &elsewhere, &below] {
        let status = status_becomes(&yard, other, "waiting_user_answer");
        assert_eq!(
            status["blocked_on"],
            json!({"kind": "dialog", "message": "Do you trust it?"}),
            "{other}: {status}"
        );
    }
    yard.json(&["answer", &asked, "--keys", "Enter"]);
    status_becomes(&yard, &asked, "idle");
    assert_eq!(yard.json(&["status", &elsewhere])["status"], "waiting_user_answer");
    assert_eq!(yard.json(&["status", &below])["status"], "waiting_user_answer");
}
