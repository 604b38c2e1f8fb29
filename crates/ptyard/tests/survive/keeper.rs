//! The keeper is killed.

use std::time::{Duration, Instant};

use crate::stage::{Stage, kill, number, runs, until};

fn waiting(stage: &Stage, name: &str) -> std::path::PathBuf {
    let go = stage.file(name);
    let script =
        format!("echo here; trap '' HUP; while [ ! -e {} ]; do sleep 0.01; done; exit 9", go.display());
    stage.json(&["exec", "--name", name, "--until", "regex:here", "--", "sh", "-c", &script]);
    go
}

fn new_programs_start(stage: &Stage) {
    for kind in [&["--tty"][..], &[]] {
        let reply = stage
            .json(&[&["exec", "--until", "exit"], kind, &["--", "sh", "-c", "echo new; exit 4"]].concat());
        assert_eq!(reply["exit"]["code"], 4, "{reply}");
        assert!(reply["output"].as_str().unwrap().starts_with("new"));
    }
}

#[test]
fn law_04_programs_of_a_killed_keeper_run_on_and_their_ends_are_true() {
    let stage = Stage::new();
    let go = waiting(&stage, "p");
    let pid = number(&stage.json(&["info", "p"])["pid"]);
    kill(stage.keeper());
    assert_eq!(stage.json(&["info", "p"])["state"], "running");
    assert!(runs(pid));
    new_programs_start(&stage);
    std::fs::write(go, "").unwrap();
    let began = Instant::now();
    let exit = stage.end("p");
    assert!(began.elapsed() < Duration::from_secs(1), "{:?}", began.elapsed());
    // This server started the keeper, so its programs fell to it.
    assert_eq!((&exit["code"], &exit["cause"]), (&9.into(), &"exited".into()), "{exit}");
    assert_eq!(stage.log("p"), b"here\n");
}

#[test]
fn law_04_an_end_that_nobody_can_know_is_lost_and_never_a_code() {
    let stage = Stage::new();
    let go = waiting(&stage, "p");
    // Another server than the one that started the keeper: the program falls to neither.
    stage.kill_server();
    stage.json(&["list"]);
    kill(stage.keeper());
    assert_eq!(stage.json(&["info", "p"])["state"], "running");
    std::fs::write(go, "").unwrap();
    let began = Instant::now();
    let exit = stage.end("p");
    assert!(began.elapsed() < Duration::from_secs(1), "{:?}", began.elapsed());
    // Since Linux 6.15 the kernel tells it to whoever holds a descriptor of the process.
    let is_told = exit["code"] == 9 && exit["cause"] == "exited";
    assert!(is_told || exit["code"].is_null() && exit["cause"] == "lost", "{exit}");
    new_programs_start(&stage);
    assert_eq!(stage.log("p"), b"here\n");
}

#[test]
fn law_04_without_keeper_and_server_a_terminal_is_lost_and_its_log_readable() {
    let stage = Stage::new();
    let go = waiting(&stage, "p");
    let (server, keeper) = (stage.server(), stage.keeper());
    kill(server);
    kill(keeper);
    let info = stage.json(&["info", "p"]);
    assert_eq!((&info["state"], &info["exit"]["cause"]), (&"exited".into(), &"lost".into()), "{info}");
    assert!(info["pid"].is_null(), "{info}");
    assert_eq!(stage.log("p"), b"here\n");
    new_programs_start(&stage);
    std::fs::write(go, "").unwrap();
}

/// Prints the numbers of what it is told to by files, so that each line has a known time.
fn counting(stage: &Stage, name: &str, kind: &[&str]) -> impl Fn(u32) {
    let go = stage.file(name);
    let script = format!(
        "trap '' HUP; n=0; while [ $n -lt 9 ]; do while [ ! -e {0}.$n ]; do sleep 0.01; done; echo line $n; \
         n=$((n+1)); done; exit 6",
        go.display()
    );
    let args = [&["exec", "--name", name, "--until", "quiet:1"], kind, &["--", "sh", "-c", &script]].concat();
    stage.json(&args);
    move |n| std::fs::write(format!("{}.{n}", go.display()), "").unwrap()
}

fn wait_for_lines(stage: &Stage, n: u32) {
    for name in ["pipe", "tty"] {
        until("the line", || String::from_utf8_lossy(&stage.log(name)).contains(&format!("line {n}")));
    }
}

#[test]
fn law_01_the_next_keeper_keeps_the_programs_of_the_one_that_died() {
    let stage = Stage::new();
    let (pipe, tty) = (counting(&stage, "pipe", &[]), counting(&stage, "tty", &["--tty"]));
    let pid = |name: &str| number(&stage.json(&["info", name])["pid"]);
    let pids = (pid("pipe"), pid("tty"));
    let next = |n: u32| {
        pipe(n);
        tty(n);
    };
    next(0);
    for round in 0..2 {
        // A start waits for the next keeper, and that one has everything by then.
        kill(stage.keeper());
        new_programs_start(&stage);
        next(2 * round + 1);
        wait_for_lines(&stage, 2 * round + 1);
        stage.kill_server();
        // While there is no server the keeper reads.
        next(2 * round + 2);
        assert!(runs(pids.0) && runs(pids.1));
        assert_eq!((pid("pipe"), pid("tty")), pids);
        wait_for_lines(&stage, 2 * round + 2);
    }
    (5..9).for_each(next);
    for name in ["pipe", "tty"] {
        let exit = stage.end(name);
        // The server that inherited them is gone: if somebody knows the code, it is the true one.
        assert!(exit["cause"] == "lost" && exit["code"].is_null() || exit["code"] == 6, "{name}: {exit}");
        let lines: String = (0..9).map(|n| format!("line {n}\n")).collect();
        assert_eq!(String::from_utf8(stage.log(name)).unwrap().replace('\r', ""), lines, "{name}");
    }
}

#[test]
fn a_limit_holds_over_the_death_of_keeper_and_server() {
    let stage = Stage::new();
    let began = Instant::now();
    stage.json(&["exec", "--name", "p", "--limit", "wall=5s", "--until", "quiet:1", "--", "sleep", "600"]);
    let pid = number(&stage.json(&["info", "p"])["pid"]);
    kill(stage.keeper());
    new_programs_start(&stage);
    stage.kill_server();
    let exit = stage.end("p");
    assert_eq!((&exit["cause"], &exit["by"]), (&"killed".into(), &"limit:wall".into()), "{exit}");
    let took = began.elapsed();
    assert!(took >= Duration::from_secs(5) && !runs(pid), "{took:?}");
}

#[test]
fn case_e02_the_next_keeper_gives_up_its_copy_of_an_input_too() {
    let stage = Stage::new();
    let cat = ["exec", "--stdin", "pipe", "--name", "c", "--until", "quiet:1", "--", "cat"];
    stage.json(&cat);
    kill(stage.keeper());
    new_programs_start(&stage);
    stage.json(&["write", "c", "--chars", "abc", "--until", "regex:abc"]);
    stage.json(&["close-stdin", "c"]);
    assert_eq!(stage.end("c")["code"], 0);
}

#[test]
fn a_program_of_a_keeper_that_died_is_killed_with_what_it_started() {
    killed_with_what_it_started(&Stage::new());
}

#[test]
fn without_cgroups_a_program_of_a_keeper_that_died_is_killed_with_what_it_started() {
    killed_with_what_it_started(&Stage::walking());
}

#[test]
fn without_cgroups_a_keeper_keeps_knows_and_ends_programs_just_as_well() {
    let stage = Stage::walking();
    let script = "trap '' HUP; setsid sleep 600 & echo two; sleep 601 & exec sleep 602";
    stage.json(&["exec", "--tty", "--name", "p", "--until", "regex:two", "--", "sh", "-c", script]);
    let pid = number(&stage.json(&["info", "p"])["pid"]);
    // It is in the cgroup of the test, as everything is.
    let cgroup = |pid: &str| std::fs::read_to_string(format!("/proc/{pid}/cgroup")).unwrap();
    assert_eq!(cgroup(&pid.to_string()), cgroup("self"));
    for _ in 0..2 {
        stage.kill_server();
        assert!(runs(pid));
        new_programs_start(&stage);
    }
    let killed = stage.json(&["kill", "p"]);
    assert_eq!((number(&killed["found"]), &killed["survivors"]), (3, &serde_json::json!([])), "{killed}");
    assert!(!runs(pid));
    let keeper = stage.keeper();
    stage.run(&["stop"]);
    until("the keeper's end", || !runs(keeper.into()));
}

fn killed_with_what_it_started(stage: &Stage) {
    let script = "trap '' HUP; setsid sleep 600 & echo two; exec sleep 601";
    for next_server in [false, true] {
        stage.json(&["exec", "--tty", "--name", "p", "--until", "regex:two", "--", "sh", "-c", script]);
        let pid = number(&stage.json(&["info", "p"])["pid"]);
        kill(stage.keeper());
        new_programs_start(stage);
        if next_server {
            stage.kill_server();
        }
        let killed = stage.json(&["kill", "p"]);
        assert_eq!((number(&killed["found"]), &killed["survivors"]), (2, &serde_json::json!([])), "{killed}");
        assert_eq!(killed["exit"]["cause"], "killed", "{killed}");
        assert!(!runs(pid));
        stage.json(&["rm", "p"]);
    }
}

#[test]
fn programs_that_nobody_can_reach_any_more_are_ended() {
    let stage = Stage::new();
    waiting(&stage, "p");
    let (pid, server, keeper) = (number(&stage.json(&["info", "p"])["pid"]), stage.server(), stage.keeper());
    kill(server);
    // Only its socket: it comes back.
    std::fs::remove_file(stage.state().join("keeper.sock")).unwrap();
    until("the socket", || stage.state().join("keeper.sock").exists());
    assert_eq!(stage.json(&["info", "p"])["state"], "running");
    kill(stage.server());
    std::fs::remove_dir_all(stage.state()).unwrap();
    until("the end", || !runs(pid) && !runs(keeper.into()));
}
