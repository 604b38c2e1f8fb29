//! CAO's command line.

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
