//! Programs elsewhere, whose servers are killed: panes of a tmux server and another machine's programs.

use std::process::{Command, Stdio};
use std::time::Duration;

use ptyard_testkit::places::ssh::SshServer;
use serde_json::Value;

use crate::stage::{Dice, Stage, kill, number, pass, runs, text, until};

/// Prints numbered lines without end, now and then many at once, and ends with a code when a file appears.
const PRINTER: &str = r#"
stty raw -echo 2>/dev/null
n=0
while [ ! -e "$1" ]; do
  i=0
  while [ "$i" -lt $((n % 40)) ]; do i=$((i + 1)); n=$((n + 1)); echo "line $n ."; done
  n=$((n + 1)); echo "line $n ."
  sleep 0.02
done
echo "the end"
exit 7
"#;

fn has(program: &str) -> bool {
    let found =
        Command::new("sh").args(["-c", &format!("command -v {program}")]).stdout(Stdio::null()).status();
    found.is_ok_and(|status| status.success())
}

/// A tmux server of the test's own, which its servers find by a variable.
struct Panes {
    directory: tempfile::TempDir,
}

impl Panes {
    fn new() -> Option<Self> {
        if !has("tmux") {
            println!("SKIPPED: there is no tmux here, so nothing was tested with one");
            return None;
        }
        Some(Self { directory: tempfile::Builder::new().prefix("ptyard-t").tempdir().unwrap() })
    }

    fn stage(&self) -> Stage {
        Stage::with_variables(vec![("TMUX_TMPDIR", self.directory.path().into())])
    }

    fn tmux(&self, arguments: &[&str]) -> String {
        let mut command = Command::new("tmux");
        command.env("TMUX_TMPDIR", self.directory.path()).env_remove("TMUX");
        let output = command.args(["-f", "/dev/null"]).args(arguments).output().unwrap();
        String::from_utf8_lossy(&output.stdout).trim_end().to_owned()
    }
}

impl Drop for Panes {
    fn drop(&mut self) {
        self.tmux(&["kill-server"]);
    }
}

/// The numbers of the lines that are whole.
fn lines(log: &[u8]) -> Vec<u64> {
    let log = String::from_utf8_lossy(log).into_owned();
    log.lines()
        .filter_map(|line| line.trim_end().strip_prefix("line ")?.strip_suffix(" .")?.parse().ok())
        .collect()
}

/// How the printer of a storm is told to stop.
pub(crate) struct Stop<'a> {
    /// The file it looks for.
    pub(crate) file: &'a str,
    /// Makes it, for the printer in this terminal.
    pub(crate) make: &'a dyn Fn(&str),
}

/// Kills the server at random moments while a program prints and another one is typed into; what was printed.
pub(crate) fn storm(stage: &Stage, place: &str, rounds: u32, seed: u64, stop: &Stop<'_>) -> Vec<u8> {
    let at = ["exec", "--tty", "--backend", place];
    stage.json(
        &[
            &at[..],
            &["--name", "printer", "--until", "regex:line", "--"],
            &["sh", "-c", PRINTER, "sh", stop.file],
        ]
        .concat(),
    );
    stage.json(
        &[
            &at[..],
            &["--name", "cat", "--until", "quiet:100", "--", "sh", "-c", "stty -echo; echo ready; exec cat"],
        ]
        .concat(),
    );
    let before = [stage.json(&["info", "printer"]), stage.json(&["info", "cat"])];
    assert_eq!(before[0]["backend"], place);
    let mut dice = Dice::new(seed);
    for round in 0..rounds {
        let server = stage.server();
        pass(Duration::from_millis(dice.roll(150)));
        kill(server);
        if round % 5 == 4 {
            let line = format!("typed-{round}\n");
            let until = format!("regex:typed-{round}");
            let reply =
                stage.json(&["write", "cat", "--chars", &line, "--until", &until, "--yield-ms", "20000"]);
            assert!(text(&reply["output"]).contains(line.trim_end()), "round {round}: {reply}");
        }
    }
    for (name, before) in ["printer", "cat"].into_iter().zip(&before) {
        let info = stage.json(&["info", name]);
        assert_eq!(info["state"], "running", "{name}: {info}");
        assert_eq!((&info["id"], &info["session_id"]), (&before["id"], &before["session_id"]));
    }
    // The end comes while no server is there.
    stage.kill_server();
    (stop.make)(&text(&before[0]["id"]));
    pass(Duration::from_millis(300));
    let exit = stage.end("printer");
    assert_eq!((&exit["code"], &exit["cause"]), (&7.into(), &"exited".into()), "{exit}");
    let killed = stage.json(&["kill", "cat"]);
    assert!(!killed["exit"].is_null(), "{killed}");
    stage.log("printer")
}

/// The same with a file of this machine.
pub(crate) fn storm_here(stage: &Stage, place: &str, rounds: u32, seed: u64) -> Vec<u8> {
    let file = stage.file("stop");
    let make = |_: &str| std::fs::write(&file, "").unwrap();
    storm(stage, place, rounds, seed, &Stop { file: file.to_str().unwrap(), make: &make })
}

/// Every line is there once, from the first to the last.
pub(crate) fn assert_whole(log: &[u8]) {
    let numbers = lines(log);
    assert_eq!(numbers, (1..=numbers.len() as u64).collect::<Vec<_>>(), "a line is missing or came twice");
    let last = String::from_utf8_lossy(&log[log.len().saturating_sub(80)..]);
    assert!(last.ends_with("the end\n"), "{last:?}");
}

/// Panes have no offsets: what is missing stands behind a line that says so, and nothing comes twice but what a pane
/// still shows.
fn panes(rounds: u32, seed: u64) {
    let Some(panes) = Panes::new() else { return };
    let stage = panes.stage();
    let log = storm_here(&stage, "tmux", rounds, seed);
    let log = String::from_utf8_lossy(&log).into_owned();
    let pieces: Vec<&str> = log.split("[ptyard: nobody listened").collect();
    assert!(pieces.len() > 1, "the gaps are told");
    for (n, piece) in pieces.iter().enumerate() {
        let numbers = lines(piece.as_bytes());
        assert!(numbers.is_sorted_by(|a, b| a < b), "piece {n} has a line twice: {numbers:?}");
    }
    // Windows go with their programs, and the yard's own session with its server.
    stage.run(&["stop"]);
    until("the windows are gone", || panes.tmux(&["list-windows", "-a", "-F", "#{window_name}"]).is_empty());
}

#[test]
fn law_01_and_04_panes_outlive_servers_that_are_killed_10_times() {
    panes(10, 11);
}

#[test]
#[ignore = "takes minutes; for soaking"]
fn law_01_and_04_panes_outlive_servers_that_are_killed_50_times() {
    panes(50, 12);
}

#[test]
fn a_pane_that_went_while_no_server_was_there_is_lost() {
    let Some(panes) = Panes::new() else { return };
    let stage = panes.stage();
    stage.json(&[
        "exec",
        "--tty",
        "--backend",
        "tmux",
        "--name",
        "p",
        "--until",
        "regex:here",
        "--",
        "sh",
        "-c",
        "echo here; sleep 600",
    ]);
    stage.kill_server();
    panes.tmux(&["kill-server"]);
    let exit = stage.end("p");
    assert_eq!((&exit["code"], &exit["cause"]), (&Value::Null, &"lost".into()), "{exit}");
    assert!(String::from_utf8_lossy(&stage.log("p")).contains("here"));
}

fn size(info: &Value) -> (u64, u64) {
    (number(&info["size"]["cols"]), number(&info["size"]["rows"]))
}

#[test]
fn a_pane_of_a_person_is_adopted_kept_and_let_go() {
    let Some(panes) = Panes::new() else { return };
    let stage = panes.stage();
    panes.tmux(&[
        "new-session",
        "-d",
        "-s",
        "work",
        "-x",
        "100",
        "-y",
        "30",
        "sh -c 'echo earlier; exec cat'",
    ]);
    panes.tmux(&["new-session", "-d", "-s", "work-2", "exec sleep 600"]);
    let pid: u64 = panes.tmux(&["display-message", "-p", "-t", "=work:0.0", "#{pane_pid}"]).parse().unwrap();
    let adopted = stage.json(&["adopt", "tmux:work:0.0", "--name", "p", "--until", "regex:earlier"]);
    assert!(text(&adopted["output"]).contains("as it was found"), "{adopted}");
    let info = stage.json(&["info", "p"]);
    assert_eq!((&info["backend"], number(&info["pid"])), (&"tmux:work:0.0".into(), pid), "{info}");
    assert_eq!(size(&info), (100, 30), "{info}");
    assert_eq!(info["env"], serde_json::json!({}), "its environment is not known");
    stage.json(&["write", "p", "--chars", "from ptyard\n", "--until", "regex:from ptyard\r?\nfrom ptyard"]);
    // A person makes it smaller, and types.
    panes.tmux(&["resize-window", "-t", "=work:0", "-x", "70", "-y", "20"]);
    until("the size", || size(&stage.json(&["info", "p"])) == (70, 20));
    panes.tmux(&["send-keys", "-t", "=work:0.0", "from a person", "Enter"]);
    stage.json(&["write", "p", "--until", "regex:from a person"]);
    stage.kill_server();
    stage.json(&["write", "p", "--chars", "and again\n", "--until", "regex:and again\r?\nand again"]);
    assert_eq!(size(&stage.json(&["info", "p"])), (70, 20));
    let screen = stage.json(&["screen", "p"]);
    assert!(screen.to_string().contains("from a person"), "{screen}");
    // Removed, it goes on.
    let removed = stage.run(&["rm", "p"]);
    assert!(removed.status.success(), "{removed:?}");
    assert!(runs(pid), "the program of a person was ended");
    assert_eq!(panes.tmux(&["display-message", "-p", "-t", "=work:0.0", "#{@ptyard}"]), "");
    // Asked, it ends.
    stage.json(&["adopt", "tmux:work:0.0", "--name", "q", "--until", "quiet:100"]);
    stage.json(&["kill", "q"]);
    until("its end", || !runs(pid));
}

#[test]
fn places_that_are_none_are_refused_with_the_next_step() {
    let Some(panes) = Panes::new() else { return };
    let stage = panes.stage();
    let refused = |args: &[&str]| {
        let output = stage.run(&[&["--json"], args].concat());
        assert!(!output.status.success(), "{args:?}");
        let all = [output.stdout, output.stderr].concat();
        String::from_utf8_lossy(&all).into_owned()
    };
    let exec = |place: &str| refused(&["exec", "--tty", "--backend", place, "--", "true"]);
    assert!(exec("nowhere").contains("unsupported"), "{}", exec("nowhere"));
    assert!(exec("docker").contains("docker:IMAGE"), "{}", exec("docker"));
    assert!(exec("ssh").contains("ssh:HOST"), "{}", exec("ssh"));
    assert!(exec("tmux:nosuch").contains("place_not_found"), "{}", exec("tmux:nosuch"));
    assert!(exec("tmux:work:0.0").contains("adopt"), "{}", exec("tmux:work:0.0"));
    let adopt = |place: &str| refused(&["adopt", place]);
    assert!(adopt("tmux:work:0.0").contains("place_not_found"), "{}", adopt("tmux:work:0.0"));
    assert!(adopt("tmux").contains("exec"), "{}", adopt("tmux"));
    assert!(adopt("local").contains("exec"), "{}", adopt("local"));
}

#[test]
fn a_program_in_a_pane_is_used_like_any_other() {
    let Some(panes) = Panes::new() else { return };
    let stage = panes.stage();
    let began = stage.json(&[
        "exec",
        "--tty",
        "--size",
        "60x10",
        "--backend",
        "tmux",
        "--name",
        "p",
        "--until",
        "regex:ready",
        "--",
        "sh",
        "-c",
        "echo ready; read x; echo got-$x; read x; exit 3",
    ]);
    assert!(text(&began["output"]).contains("ready"), "{began}");
    assert!(stage.json(&["list"]).to_string().contains("\"backend\":\"tmux\""));
    let window = stage.json(&["write", "p", "--chars", "one\n", "--until", "regex:got-one"]);
    assert!(text(&window["output"]).contains("got-one"), "{window}");
    assert!(stage.json(&["screen", "p"]).to_string().contains("got-one"));
    stage.json(&["write", "p", "--chars", "two\n", "--until", "exit"]);
    assert_eq!(stage.end("p")["code"], 3);
    stage.json(&[
        "exec",
        "--tty",
        "--backend",
        "tmux",
        "--name",
        "k",
        "--until",
        "regex:ready",
        "--",
        "sh",
        "-c",
        "echo ready; sleep 600",
    ]);
    let killed = stage.json(&["kill", "k"]);
    assert_eq!(killed["exit"]["cause"], "killed", "{killed}");
}

/// The keeper reads on where the server stopped: every line is there once, from the first to the last.
fn machine(rounds: u32, seed: u64) {
    let Some(machine) = SshServer::start() else { return };
    let path = format!("{}:{}", machine.bin().display(), std::env::var("PATH").unwrap());
    let stage = Stage::with_variables(vec![("PATH", path.into())]);
    assert_whole(&storm_here(&stage, "ssh:there", rounds, seed));
}

#[test]
fn law_01_and_04_programs_on_another_machine_outlive_servers_that_are_killed_10_times() {
    machine(10, 21);
}

#[test]
#[ignore = "takes minutes; for soaking"]
fn law_01_and_04_programs_on_another_machine_outlive_servers_that_are_killed_50_times() {
    machine(50, 22);
}
