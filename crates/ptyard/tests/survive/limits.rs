//! Limits count on while servers die.

use std::time::{Duration, Instant};

use crate::stage::{Stage, number, pass, runs};

/// A window that closes at once.
const AT_ONCE: &[&str] = &["--until", "exit", "--yield-ms", "0"];

fn start(stage: &Stage, limits: &[&str]) -> u64 {
    let mut line = [&["exec", "--tty", "--name", "p"], AT_ONCE].concat();
    for limit in limits {
        line.extend(["--limit", *limit]);
    }
    stage.json(&[&line[..], &["--", "sh", "-c", "stty -echo; exec sleep 600"]].concat());
    number(&stage.json(&["info", "p"])["pid"])
}

#[test]
fn a_wall_limit_that_ran_out_while_no_server_was_there_strikes_when_the_next_one_is() {
    let stage = Stage::new();
    let began = Instant::now();
    let pid = start(&stage, &["wall=1s"]);
    stage.kill_server();
    pass(Duration::from_millis(1_200).saturating_sub(began.elapsed()));
    assert!(runs(pid), "nobody ended it yet");
    let exit = stage.end("p");
    assert_eq!((&exit["cause"], &exit["by"]), (&"killed".into(), &"limit:wall".into()), "{exit}");
    assert!(!runs(pid));
}

#[test]
fn a_wall_limit_does_not_begin_anew_with_a_server() {
    let stage = Stage::new();
    start(&stage, &["wall=1h"]);
    let left = || number(&stage.json(&["info", "p"])["limits"]["wall_left_ms"]);
    let before = left();
    pass(Duration::from_millis(300));
    stage.kill_server();
    let after = left();
    assert!(before <= 3_600_000 && after + 300 <= before, "{before} then {after}");
    stage.kill_server();
    assert!(left() <= after);
}

#[test]
fn an_idle_limit_goes_on_from_where_the_last_server_knew_of_it() {
    let stage = Stage::new();
    let began = Instant::now();
    start(&stage, &["idle=2s"]);
    // Each new server comes well before the limit: counted anew, it would never strike.
    while began.elapsed() < Duration::from_millis(1_600) {
        stage.kill_server();
    }
    let exit = stage.end("p");
    assert_eq!(exit["by"], "limit:idle", "{exit}");
    let took = began.elapsed();
    assert!(took >= Duration::from_secs(2), "{took:?}");
    let shown = stage.json(&["info", "p"]);
    assert_eq!(shown["limits"]["idle_ms"], 2_000, "{shown}");
}

#[test]
fn what_is_typed_is_not_forgotten_by_an_idle_limit() {
    let stage = Stage::new();
    start(&stage, &["idle=4s"]);
    pass(Duration::from_millis(2_500));
    // Nothing is printed, not even an echo: only the typing tells.
    stage.json(&[&["write", "p", "--chars", "x"], AT_ONCE].concat());
    let typed = Instant::now();
    stage.kill_server();
    let exit = stage.end("p");
    assert_eq!(exit["by"], "limit:idle", "{exit}");
    assert!(typed.elapsed() >= Duration::from_secs(4), "{:?}", typed.elapsed());
}
