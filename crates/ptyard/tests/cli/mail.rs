//! `send`, `inbox` and `message`.

use std::io::Write as _;
use std::process::Stdio;

use crate::fake::out;
use crate::live::Yard;

#[test]
fn mail_is_sent_listed_taken_back_and_sent_again() {
    let yard = Yard::new();
    yard.json(&[
        "exec",
        "--name",
        "worker",
        "--yield-ms",
        "0",
        "--until",
        "exit",
        "--tty",
        "--",
        "sleep",
        "600",
    ]);
    yard.json(&[
        "exec",
        "--name",
        "boss",
        "--yield-ms",
        "0",
        "--until",
        "exit",
        "--tty",
        "--",
        "sleep",
        "600",
    ]);
    let first = yard.json(&["send", "worker", "first", "--from", "boss", "--key", "k"]);
    assert_eq!((&first["seq"], &first["state"]), (&1.into(), &"pending".into()));
    let mut piped = yard.command(&["send", "worker", "-"]).stdin(Stdio::piped()).spawn().unwrap();
    piped.stdin.take().unwrap().write_all("second\nline".as_bytes()).unwrap();
    assert!(piped.wait().unwrap().success());
    // Nobody hands mail over to `sleep`: a wait ends with its time and status 1.
    let waited = yard.run(&["send", "worker", "third", "--wait", "delivered", "--timeout", "0.01"]);
    assert_eq!(waited.status.code(), Some(1));
    let inbox = yard.json(&["inbox", "worker"]);
    let texts: Vec<_> = inbox.as_array().unwrap().iter().map(|message| message["text"].clone()).collect();
    assert_eq!(texts, ["first", "second\nline", "third"]);
    let id = first["id"].as_str().unwrap();
    let urgent = yard.json(&["send", "worker", "now", "--urgency", "now"]);
    assert_eq!(urgent["urgency"], "now");
    let summary = yard.json(&["inbox", "worker", "--summary"]);
    assert_eq!(
        (&summary["pending"], &summary["urgent"], &summary["oldest"]),
        (&4.into(), &1.into(), &first["id"])
    );
    assert!(summary["oldest_age_ms"].is_u64());
    assert_eq!(yard.json(&["inbox", "worker", "--batching", "drain"])["batching"], "drain");
    let told = out(&yard.run(&["inbox", "worker", "--summary"]));
    assert!(told.starts_with("4 wait (1 urgent), the oldest for 0 s; 0 uncertain"), "{told}");
    assert_eq!(yard.json(&["message", urgent["id"].as_str().unwrap(), "cancel"])["state"], "cancelled");
    assert_eq!(yard.json(&["message", id, "cancel"])["state"], "cancelled");
    assert_eq!(yard.json(&["inbox", "worker"]).as_array().unwrap().len(), 2);
    assert_eq!(yard.json(&["inbox", "worker", "--all"]).as_array().unwrap().len(), 4);
    assert_eq!(yard.json(&["message", id, "retry"])["state"], "pending");
    let shown = out(&yard.run(&["message", id]));
    assert!(shown.contains("first") && shown.contains("pending"), "{shown}");
    assert_eq!(yard.run(&["message", "m99"]).status.code(), Some(1));
    assert_eq!(yard.run(&["send", "nobody", "x"]).status.code(), Some(1));
    assert_eq!(yard.run(&["send", "worker", "x", "--from", "worker"]).status.code(), Some(2));
}
