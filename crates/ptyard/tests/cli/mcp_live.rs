//! The tools for programs, on programs.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::live::Yard;
use crate::mcp::Session;

fn ids(listed: &Value) -> Vec<u64> {
    let sessions = listed["structuredContent"]["sessions"].as_array().unwrap();
    sessions.iter().map(|session| session["session_id"].as_u64().unwrap()).collect()
}

/// Polls a program until it has printed this, which may have come before.
fn until(session: &mut Session, id: u64, mut printed: String, wanted: &str) -> String {
    let began = Instant::now();
    while !printed.contains(wanted) {
        assert!(began.elapsed() < Duration::from_secs(60), "{wanted:?} is not printed: {printed}");
        let arguments = json!({"session_id": id, "yield_time_ms": 250});
        printed.push_str(&session.call("write_stdin", &arguments).0);
    }
    printed
}

#[test]
fn each_tool_does_to_a_program_what_its_arguments_say() {
    let yard = Yard::new();
    let mut session = Session::over(yard.command(&["mcp"]));
    let start = |session: &mut Session, cmd: &str| {
        let arguments = json!({"cmd": cmd, "tty": true, "login": false, "yield_time_ms": 250});
        let (text, started) = session.call("exec_command", &arguments);
        (started["structuredContent"]["session_id"].as_u64().unwrap(), text)
    };
    let (shell, _) = start(&mut session, "exec sh");
    let (text, resized) = session.call("resize", &json!({"session_id": shell, "cols": 90, "rows": 20}));
    assert_eq!(
        (text.as_str(), &resized["isError"]),
        (&*format!("Session {shell} is 90x20 now."), &json!(false))
    );
    let (text, _) = session.call("write_stdin", &json!({"session_id": shell, "chars": "stty size\n"}));
    until(&mut session, shell, text, "20 90");
    let (text, screen) = session.call("read_screen", &json!({"session_id": shell}));
    assert!(text.contains("20 90"), "{text}");
    assert_eq!(screen["structuredContent"]["rows"], 20, "{screen}");

    // To itself, and then with the other process of its group. No shell: one that starts programs in a loop can miss a
    // signal between two of them.
    let two = "import os, signal, time\n\
               name = 'itself' if os.fork() else 'child'\n\
               signal.signal(signal.SIGUSR1, lambda *_: print(name, flush=True))\n\
               print('ready', name, flush=True)\n\
               while True: time.sleep(0.05)";
    let (trap, text) = start(&mut session, &format!("exec python3 -c \"{two}\""));
    let text = until(&mut session, trap, text, "ready child");
    until(&mut session, trap, text, "ready itself");
    let (text, _) = session.call("signal", &json!({"session_id": trap, "signal": "USR1", "group": false}));
    assert_eq!(text, format!("Signal USR1 was sent to session {trap}."));
    let (text, _) = session.call("wait_for", &json!({"session_id": trap, "until": ["regex:itself"]}));
    assert!(text.contains("Wait ended by: regex") && text.contains("itself"), "{text}");
    assert!(!text.contains("child"), "{text}");
    session.call("signal", &json!({"session_id": trap, "signal": "USR1"}));
    let (began, mut screen) = (Instant::now(), String::new());
    while screen.matches("itself").count() < 3 || screen.matches("child").count() < 2 {
        assert!(began.elapsed() < Duration::from_secs(60), "{screen}");
        screen = session.call("read_screen", &json!({"session_id": trap})).0;
    }
    assert_eq!((screen.matches("itself").count(), screen.matches("child").count()), (3, 2), "{screen}");
    // Those of others are shown when they are asked for.
    let other = yard.json(&["exec", "--yield-ms", "250", "--", "sleep", "600"]);
    let other = other["session_id"].as_u64().unwrap();
    assert_eq!(ids(&session.call("list", &json!({})).1), [shell, trap]);
    assert_eq!(ids(&session.call("list", &json!({"all": true})).1), [shell, trap, other]);

    let (text, killed) = session.call("kill", &json!({"session_id": trap, "grace_ms": 0}));
    assert!(text.starts_with(&format!("Session {trap} ")), "{text}");
    assert_eq!(killed["structuredContent"]["exit"]["signal"], 9, "{killed}");
    session.call("send_keys", &json!({"session_id": shell, "keys": "C-d"}));
    let (text, _) = session.call("write_stdin", &json!({"session_id": shell, "yield_time_ms": 30_000}));
    assert!(text.contains("Process exited with code 0") || text.contains("not found"), "{text}");
    assert_eq!(yard.json(&["info", &other.to_string()])["state"], "running");
}
