//! Programs that are shown in panes of herdr, by the whole product: servers of both kinds come and go.

use std::os::unix::fs::symlink;
use std::path::PathBuf;

use ptyard_testkit::vendors::herdr::{HerdrServer, program};
use serde_json::Value;
use tokio::runtime::Runtime;

use crate::places::{assert_whole, storm_here};
use crate::stage::{Stage, number, text, until};

/// The stand-in for herdr, and a stage whose commands find it.
struct Panes {
    stage: Stage,
    herdr: HerdrServer,
    runtime: Runtime,
    _directory: tempfile::TempDir,
}

impl Panes {
    fn new() -> Self {
        let directory = tempfile::Builder::new().prefix("ptyard-h").tempdir().unwrap();
        let bin = directory.path().join("bin");
        std::fs::create_dir(&bin).unwrap();
        symlink(program(), bin.join("herdr")).unwrap();
        let path = format!("{}:{}", bin.display(), std::env::var("PATH").unwrap());
        let stage = Stage::with_variables(vec![
            ("PATH", PathBuf::from(path)),
            ("XDG_CONFIG_HOME", directory.path().to_owned()),
        ]);
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build();
        let runtime = runtime.unwrap();
        let herdr = runtime.block_on(async { HerdrServer::start(directory.path(), "default") });
        Self { stage, herdr, runtime, _directory: directory }
    }

    fn exec(&self, name: &str, script: &str) -> String {
        let at = ["exec", "--tty", "--backend", "herdr", "--name", name, "--until", "regex:ready", "--"];
        self.stage.json(&[&at[..], &["sh", "-c", script]].concat());
        text(&self.stage.json(&["info", name])["id"])
    }

    fn shows(&self, label: &str, what: &str) {
        until(what, || self.herdr.printed(label).contains(what));
    }

    fn person_types(&self, label: &str, keys: &str) {
        self.runtime.block_on(self.herdr.person_types(label, keys));
    }

    fn status(&self, name: &str) -> Value {
        self.stage.json(&["status", name, "--explain"])
    }
}

const ECHOES: &str =
    "stty -echo; echo ready; while read -r x && [ \"$x\" != end ]; do echo got-$x.; done; exit 6";

#[test]
fn a_person_sees_it_in_its_pane_and_types_there_whichever_server_dies() {
    let panes = Panes::new();
    let Panes { stage, herdr, runtime, .. } = &panes;
    let label = panes.exec("p", ECHOES);
    panes.shows(&label, "ready");
    // The pane's size is the terminal's.
    let size = || stage.json(&["info", "p"])["size"].clone();
    until("the size", || (number(&size()["cols"]), number(&size()["rows"])) == (90, 28));
    panes.person_types(&label, "person-1\r");
    panes.shows(&label, "got-person-1.");
    stage.json(&["write", "p", "--chars", "caller-1\n", "--until", "regex:got-caller-1"]);
    panes.shows(&label, "got-caller-1.");
    // ptyard's server dies. The viewer goes on with the next one.
    stage.kill_server();
    stage.json(&["write", "p", "--chars", "caller-2\n", "--until", "regex:got-caller-2"]);
    panes.shows(&label, "got-caller-2.");
    panes.person_types(&label, "person-2\r");
    panes.shows(&label, "got-person-2.");
    assert_eq!(herdr.tabs().iter().filter(|tab| **tab == label).count(), 1, "it is still the same pane");
    // herdr's server dies, and its panes with it.
    herdr.stop();
    stage.json(&["write", "p", "--chars", "caller-3\n", "--until", "regex:got-caller-3"]);
    runtime.block_on(async { herdr.start_again() });
    panes.shows(&label, "got-caller-3.");
    panes.person_types(&label, "person-3\r");
    panes.shows(&label, "got-person-3.");
    // Every byte is in the log, once.
    let log = String::from_utf8_lossy(&stage.log("p")).into_owned();
    let got: Vec<&str> = log.lines().filter(|line| line.starts_with("got-")).collect();
    let all = ["person-1", "caller-1", "caller-2", "person-2", "caller-3", "person-3"];
    assert_eq!(got, all.map(|who| format!("got-{who}.")), "{log}");
    // It ends with its code, and its pane with it.
    panes.person_types(&label, "end\r");
    assert_eq!(stage.end("p")["code"], 6);
    until("the pane is gone", || !herdr.tabs().contains(&label));
}

#[test]
fn law_04_a_pane_that_is_closed_hangs_up_on_its_program_and_a_detached_viewer_does_not() {
    let panes = Panes::new();
    let Panes { stage, herdr, .. } = &panes;
    let label = panes.exec("p", ECHOES);
    panes.shows(&label, "ready");
    // The detach key: a shell is left in the pane, and the program runs.
    panes.person_types(&label, "\x1cd");
    panes.shows(&label, "detached from");
    assert_eq!(stage.json(&["info", "p"])["state"], "running");
    herdr.close(&label);
    let end = stage.end("p");
    assert!(end["code"].is_null() && !end["signal"].is_null(), "{end}");
}

#[test]
fn law_08_what_herdr_sees_hands_over_one_message_for_each_turn() {
    let panes = Panes::new();
    let Panes { stage, herdr, .. } = &panes;
    let script = "stty -echo; echo ready; while read -r x; do echo \"got=$x;\"; done";
    stage.json(&[
        "launch",
        "--backend",
        "herdr",
        "--provider",
        "generic",
        "--name",
        "a",
        "--",
        "sh",
        "-c",
        script,
    ]);
    let label = text(&stage.json(&["info", "a"])["id"]);
    panes.shows(&label, "ready");
    herdr.sees(&label, "working");
    until("herdr is heard", || panes.status("a")["status"] == "processing");
    let state = |message: &Value| stage.json(&["message", &text(&message["id"])])["state"].clone();
    let one = stage.json(&["send", "a", "one"]);
    let two = stage.json(&["send", "a", "two"]);
    assert_eq!((state(&one), state(&two)), ("pending".into(), "pending".into()));
    herdr.sees(&label, "done");
    panes.shows(&label, "got=");
    herdr.sees(&label, "working");
    until("the first is delivered", || state(&one) == "delivered");
    assert_eq!(state(&two), "pending");
    herdr.sees(&label, "done");
    until("the second is written", || state(&two) != "pending");
    until("it was read", || String::from_utf8_lossy(&stage.log("a")).contains("two"));
    herdr.sees(&label, "working");
    until("the second is delivered", || state(&two) == "delivered");
    herdr.sees(&label, "idle");
    until("it is ready", || panes.status("a")["status"] == "completed");
    let log = String::from_utf8_lossy(&stage.log("a")).into_owned();
    assert_eq!((log.matches("one;").count(), log.matches("two;").count()), (1, 1), "{log}");
}

#[test]
fn places_in_herdr_that_are_none_are_refused_with_the_reason() {
    let panes = Panes::new();
    let refused = |args: &[&str]| {
        let output = panes.stage.run(&[&["--json"], args].concat());
        assert!(!output.status.success(), "{args:?}");
        String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned()
    };
    let adopted = refused(&["adopt", "herdr:work:1-2"]);
    assert!(adopted.contains("unsupported") && adopted.contains("cannot be taken over"), "{adopted}");
    let adopted = refused(&["adopt", "herdr"]);
    assert!(adopted.contains("exec"), "{adopted}");
    let piped = refused(&["exec", "--backend", "herdr", "--", "true"]);
    assert!(piped.contains("unsupported") && piped.contains("--tty"), "{piped}");
    let doctor = panes.stage.run(&["doctor", "--backend", "herdr"]);
    assert!(String::from_utf8_lossy(&doctor.stdout).contains("herdr 0.0.0"), "{doctor:?}");
}

#[test]
#[ignore = "takes minutes; for soaking"]
fn law_01_and_04_programs_shown_in_herdr_outlive_servers_that_are_killed_50_times() {
    let panes = Panes::new();
    assert_whole(&storm_here(&panes.stage, "herdr", 50, 42));
}
