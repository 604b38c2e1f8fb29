//! Servers and keepers that others take the place of.

use std::io::Read;
use std::process::Stdio;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use crate::stage::{Foreground, Stage, runs, until};

/// Prints numbered lines until a file appears.
const COUNTER: &str = r#"
import os, sys, time
n = 0
while not os.path.exists(sys.argv[1]):
    os.write(1, b''.join(b'%09d\n' % (n + i) for i in range(50)))
    n += 50
    time.sleep(0.002)
os.write(1, b'%09d\n' % n)
sys.exit(8)
"#;

/// The numbers of a counter, without a hole, and how many there are.
fn counted(output: &str) -> usize {
    let lines: Vec<&str> = output.lines().collect();
    for (n, line) in lines.iter().enumerate() {
        assert_eq!(line.trim_end(), format!("{n:09}"), "of {}", lines.len());
    }
    lines.len()
}

#[test]
fn case_n01_an_upgrade_under_load_ends_no_program_and_leaves_no_hole_for_whoever_looks() {
    let stage = Arc::new(Stage::new());
    let stop = stage.file("stop");
    let args = ["--", "python3", "-c", COUNTER, stop.to_str().unwrap()];
    stage.json(&[&["exec", "--name", "c", "--until", "quiet:1"][..], &args].concat());
    stage.json(&["exec", "--name", "cat", "--tty", "--until", "quiet:1", "--", "cat"]);
    let before = (stage.server(), stage.keeper(), stage.json(&["info", "c"]));
    // One that waits all the time, one that looks all the time, and one that asks all the time.
    let limit = crate::stage::LIMIT.as_secs().to_string();
    let waiting = stage
        .command(&["--json", "wait", "c", "--until", "exit", "--timeout", &limit])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let looking = std::thread::spawn({
        let stage = Arc::clone(&stage);
        move || crate::viewer::follow(&stage.state().join("ptyard.sock"), "c")
    });
    let (over, asked) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicU32::new(0)));
    let asking = std::thread::spawn({
        let (stage, over, asked) = (Arc::clone(&stage), Arc::clone(&over), Arc::clone(&asked));
        move || {
            while !over.load(Ordering::Acquire) {
                let info = stage.json(&["info", "c"]);
                assert_eq!(info["state"], "running", "{info}");
                let written = stage.json(&["write", "cat", "--chars", "x", "--until", "quiet:1"]);
                let code = &written["error"]["code"];
                assert!(code.is_null() || code == "server_replaced" || code == "stopping", "{written}");
                asked.fetch_add(1, Ordering::Relaxed);
            }
        }
    });
    let mut servers = Vec::new();
    for round in 0..3 {
        let seen = asked.load(Ordering::Relaxed);
        until("questions", || asked.load(Ordering::Relaxed) > seen + 2);
        let mut server = stage.serve(&["--replace"]);
        until("the next server", || stage.running_server() == server.0.id());
        assert_eq!(stage.keeper(), before.1, "round {round}: the keeper became the new program in place");
        assert!(server.0.try_wait().unwrap().is_none());
        servers.push(server);
    }
    assert!(!runs(before.0.into()), "the first server is gone");
    over.store(true, Ordering::Release);
    asking.join().unwrap();
    let after = stage.json(&["info", "c"]);
    for field in ["id", "session_id", "pid", "state"] {
        assert_eq!(before.2[field], after[field], "{field}");
    }
    std::fs::write(stop, "").unwrap();
    let waited = waiting.wait_with_output().unwrap();
    assert!(waited.status.success(), "{waited:?}");
    let exit = stage.end("c");
    assert_eq!((&exit["code"], &exit["cause"]), (&8.into(), &"exited".into()), "{exit}");
    let log = stage.log("c");
    let viewed = looking.join().unwrap();
    assert!(viewed.reconnects >= 1, "nobody had to go on");
    assert_eq!(viewed.end as usize, viewed.bytes.len());
    assert_eq!(viewed.bytes, log, "{} and {} bytes", viewed.bytes.len(), log.len());
    counted(&String::from_utf8(log).unwrap());
    assert!(stage.run(&["stop"]).status.success());
    for mut server in servers {
        assert!(server.0.wait().unwrap().success());
    }
}

#[test]
fn a_replaced_server_hands_its_address_on() {
    let stage = Stage::new();
    let mut first = stage.serve(&["--listen", "127.0.0.1:0"]);
    until("the server", || stage.running_server() == first.0.id());
    let mut second = stage.serve(&["--replace"]);
    assert!(first.0.wait().unwrap().success());
    until("the next server", || stage.running_server() == second.0.id());
    stage.run(&["stop"]);
    second.0.wait().unwrap();
    let address = |server: &mut Foreground| {
        let mut said = String::new();
        server.0.stderr.take().unwrap().read_to_string(&mut said).unwrap();
        said.lines().find_map(|line| Some(line.split_once("address=")?.1.to_owned())).unwrap_or(said)
    };
    let (was, is) = (address(&mut first), address(&mut second));
    assert!(was.contains("127.0.0.1"), "{was}");
    assert_eq!(was, is);
}

#[test]
fn serve_replace_without_a_server_just_serves() {
    let stage = Stage::new();
    let mut server = stage.serve(&["--replace"]);
    until("the server", || stage.running_server() == server.0.id());
    stage.run(&["stop"]);
    assert!(server.0.wait().unwrap().success());
}
