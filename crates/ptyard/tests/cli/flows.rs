//! `ptyard flow`.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::fake::{err, out};
use crate::live::Yard;

/// A flow whose moments are far away, so that only what is asked for happens.
fn add(yard: &Yard, name: &str, toml: &str) -> Value {
    let agent = ptyard_testkit::agent::program().to_str().unwrap();
    let what = ["--cron", "0 0 29 2 *", "--tz", "Europe/Paris", "--provider", "generic"];
    yard.json(&[&["flow", "add"], &what[..], &[name, "look around", "--", agent, "--toml", toml]].concat())
}

/// The newest run once it is over.
fn over(yard: &Yard, name: &str) -> Value {
    let began = Instant::now();
    loop {
        let reply = yard.json(&["flow", "show", name]);
        if !reply["runs"][0]["ended_at"].is_null() {
            return reply["runs"][0].clone();
        }
        assert!(began.elapsed() < Duration::from_secs(60), "{reply}");
    }
}

#[test]
fn a_flow_is_added_run_shown_paused_and_forgotten() {
    let yard = Yard::new();
    let flow = add(&yard, "nightly", "status.osc7501 = 'always'\nturn.answer = 'all is well'");
    assert_eq!((&flow["zone"], &flow["paused"]), (&json!("Europe/Paris"), &json!(false)));
    assert!(flow["next"].as_str().unwrap().contains("-02-28T23:00:00"), "{flow}");
    let run = yard.json(&["flow", "run", "nightly"]);
    assert_eq!((&run["cause"], &run["state"]), (&json!("asked"), &json!("running")));
    let run = over(&yard, "nightly");
    assert_eq!(run["state"], "completed", "{run}");
    assert!(run["note"].as_str().unwrap().contains("all is well"), "{run}");
    let text = out(&yard.run(&["flow", "show", "nightly"]));
    for part in ["Europe/Paris", "look around", "completed"] {
        assert!(text.contains(part), "{part} is not in {text}");
    }
    assert!(out(&yard.run(&["flow", "list"])).contains("nightly"));
    assert_eq!(yard.json(&["flow", "pause", "nightly"])["next"], Value::Null);
    assert!(out(&yard.run(&["flow", "list"])).contains("paused, last completed"));
    assert!(yard.json(&["flow", "resume", "nightly"])["next"].is_string());
    assert!(out(&yard.run(&["flow", "rm", "nightly"])).contains("forgotten"));
    assert_eq!(yard.json(&["flow", "list"]), json!([]));
    let events = out(&yard.run(&["events", "--json", "--since", "0"]));
    for kind in ["\"added\"", "\"paused\"", "\"resumed\"", "\"removed\"", "\"flow_run\"", "\"completed\""] {
        assert!(events.contains(kind), "{kind} is not in {events}");
    }
    let mut told = events.lines().filter(|line| line.contains("\"flow_run\""));
    assert!(!told.any(|line| line.contains("all is well")), "an answer is for those who ask for it");
}

#[test]
fn what_cannot_be_a_flow_is_refused_in_words() {
    let yard = Yard::new();
    add(&yard, "nightly", "");
    assert_eq!(add(&yard, "nightly", "")["error"]["code"], "flow_taken");
    let add = |cron: &str, what: &[&str]| {
        yard.run(&[&["flow", "add", "--cron", cron], what, &["other", "look"]].concat())
    };
    let bad = add("every day", &["--profile", "reviewer"]);
    assert_eq!(bad.status.code(), Some(2));
    assert!(err(&bad).contains("is no schedule") && err(&bad).contains("hint: five fields"), "{bad:?}");
    let unknown = add("@daily", &["--profile", "nobody"]);
    assert!(err(&unknown).contains("there is no profile \"nobody\""), "{unknown:?}");
    let zone = add("@daily", &["--profile", "reviewer", "--tz", "Mars"]);
    assert!(err(&zone).contains("is no time zone"), "{zone:?}");
    assert_eq!(add("@daily", &[]).status.code(), Some(2), "a profile or a provider is needed");
    assert_eq!(yard.json(&["flow", "run", "other"])["error"]["code"], "unknown_flow");
}

#[test]
fn a_run_whose_agent_cannot_be_started_fails_and_says_why() {
    let yard = Yard::new();
    let what = ["--cron", "@yearly", "--provider", "generic", "broken", "look", "--", "/no/such/program"];
    yard.json(&[&["flow", "add"], &what[..]].concat());
    let failed = yard.run(&["flow", "run", "broken"]);
    assert_eq!(failed.status.code(), Some(1));
    assert!(out(&failed).contains("/no/such/program"), "{failed:?}");
}
