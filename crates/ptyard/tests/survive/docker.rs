//! Programs in containers, by the whole product and a real engine.

use ptyard_testkit::places::docker::{Engine, IMAGE};
use serde_json::Value;

use crate::places::{Stop, assert_whole, storm};
use crate::stage::{Stage, kill, runs, text, until};

/// A container that is there, with other things in it.
const THERE: &str = "there";

fn engine() -> Option<Engine> {
    let engine = Engine::start()?;
    engine.docker(&["run", "--detach", "--init", "--name", THERE, IMAGE, "sleep", "100000"]);
    Some(engine)
}

fn stage(engine: &Engine) -> Stage {
    Stage::with_variables(vec![("DOCKER_HOST", engine.host().into())])
}

/// Both kinds of places.
fn places() -> [String; 2] {
    [format!("docker:{IMAGE}"), format!("docker:container={THERE}")]
}

/// The containers there are, but for the one that was there.
fn containers(engine: &Engine) -> Vec<String> {
    let all = engine.docker(&["ps", "--all", "--format", "{{.Names}}"]);
    all.lines().filter(|name| *name != THERE).map(str::to_owned).collect()
}

/// What runs in the container that was there, besides its init and its sleep.
fn programs(engine: &Engine) -> usize {
    engine.docker(&["top", THERE]).lines().count() - 3
}

/// The server is killed again and again: every line is there once, in its order, and so is the end.
fn storms(rounds: u32, seed: u64) {
    let Some(engine) = engine() else { return };
    for (place, seed) in places().iter().zip(seed..) {
        let stage = stage(&engine);
        let make = |id: &str| {
            let own = format!("ptyard-{id}");
            let container = if place.ends_with(THERE) { THERE } else { &own };
            // A container of its own may go while this is answered.
            let _gone = engine.ask(&["exec", container, "sh", "-c", ": > /tmp/stop"]);
        };
        assert_whole(&storm(&stage, place, rounds, seed, &Stop { file: "/tmp/stop", make: &make }));
    }
    until("nothing is left", || containers(&engine).is_empty() && programs(&engine) == 0);
}

#[test]
fn law_01_and_04_programs_in_containers_outlive_servers_that_are_killed_10_times() {
    storms(10, 31);
}

#[test]
#[ignore = "takes minutes; for soaking"]
fn law_01_and_04_programs_in_containers_outlive_servers_that_are_killed_50_times() {
    storms(50, 32);
}

fn exec(stage: &Stage, place: &str, name: &str, script: &str) -> Value {
    let at = ["exec", "--tty", "--size", "90x20", "--backend", place, "--name", name];
    stage.json(&[&at[..], &["--until", "regex:ready", "--", "sh", "-c", script]].concat())
}

fn refused(stage: &Stage, args: &[&str]) -> String {
    let output = stage.run(&[&["--json"], args].concat());
    assert!(!output.status.success(), "{args:?}");
    String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned()
}

#[test]
fn a_program_in_a_container_is_used_like_any_other_whichever_server_dies() {
    let Some(engine) = engine() else { return };
    let stage = stage(&engine);
    let doctor = stage.run(&["doctor", "--backend", "docker"]);
    assert!(doctor.status.success(), "{doctor:?}");
    assert!(String::from_utf8_lossy(&doctor.stdout).contains("engine "), "{doctor:?}");
    for place in places() {
        let script = "trap 'stty size' WINCH; echo ready; read x; echo got-$x; \
                      while [ ! -e /tmp/go ]; do sleep .05; done; sleep 600 & exit 3";
        let began = exec(&stage, &place, "p", script);
        assert!(text(&began["output"]).contains("ready"), "{began}");
        stage.json(&["write", "p", "--chars", "one\n", "--until", "regex:got-one"]);
        stage.kill_server();
        // The next server sets the size, and finds the end of the program.
        stage.json(&["resize", "p", "70x15"]);
        stage.json(&["write", "p", "--until", "regex:15 70"]);
        let id = text(&stage.json(&["info", "p"])["id"]);
        let own = format!("ptyard-{id}");
        let container = if place.ends_with(THERE) { THERE } else { &own };
        let _gone = engine.ask(&["exec", container, "sh", "-c", ": > /tmp/go"]);
        let exit = stage.end("p");
        assert_eq!((&exit["code"], &exit["cause"]), (&3.into(), &"exited".into()), "{place}: {exit}");
        stage.json(&["kill", "p"]);
        // What runs is killed with all that came of it.
        exec(&stage, &place, "k", "sleep 600 & echo ready; wait");
        stage.kill_server();
        let killed = stage.json(&["kill", "k"]);
        assert_eq!(killed["exit"]["cause"], "killed", "{place}: {killed}");
        until("nothing is left", || containers(&engine).is_empty() && programs(&engine) == 0);
        for name in ["p", "k"] {
            assert!(stage.run(&["rm", name]).status.success(), "{place} {name}");
        }
    }
    let nowhere = refused(&stage, &["exec", "--backend", "docker:no-such-image", "--", "true"]);
    assert!(nowhere.contains("place_not_found") && nowhere.contains("docker pull"), "{nowhere}");
    let nowhere = refused(&stage, &["exec", "--backend", "docker:container=nobody", "--", "true"]);
    assert!(nowhere.contains("place_not_found"), "{nowhere}");
    let missing = refused(&stage, &["exec", "--backend", &places()[0], "--", "no-such-program"]);
    assert!(missing.contains("program_not_found"), "{missing}");
    engine.docker(&["stop", "--time", "0", THERE]);
    let stopped = refused(&stage, &["exec", "--backend", &places()[1], "--", "true"]);
    assert!(stopped.contains("backend_unreachable"), "{stopped}");
    let elsewhere = Stage::with_variables(vec![("DOCKER_HOST", "unix:///no/such/socket".into())]);
    assert!(!elsewhere.run(&["doctor", "--backend", "docker"]).status.success());
    let unreachable = refused(&elsewhere, &["exec", "--backend", &places()[0], "--", "true"]);
    assert!(unreachable.contains("backend_unreachable"), "{unreachable}");
}

/// Server and keeper die at once, and the terminal is removed while the engine is out of reach: so something is left
/// that no later server knows of.
#[test]
fn what_nobody_could_end_is_found_by_gc_and_nothing_else() {
    let Some(engine) = engine() else { return };
    let (mine, other) = (stage(&engine), stage(&engine));
    let [own, _] = places();
    let id = text(&exec(&mine, &own, "left", "echo ready; sleep 600")["id"]);
    exec(&other, &own, "other", "echo ready; sleep 600");
    let (server, keeper) = (mine.server(), mine.keeper());
    kill(keeper);
    kill(server);
    until("the keeper is gone", || !runs(u64::from(keeper)));
    let mut blind = mine.command(&["--json", "info", "left"]);
    let info = blind.env("DOCKER_HOST", "unix:///no/such/socket").output().unwrap();
    let info: Value = serde_json::from_slice(&info.stdout).unwrap();
    assert_eq!(info["exit"]["cause"], "lost", "{info}");
    let removed = mine.run(&["rm", "left"]);
    assert!(removed.status.success(), "{removed:?}");
    mine.run(&["stop"]);
    exec(&mine, &own, "living", "echo ready; sleep 600");
    assert_eq!(containers(&engine).len(), 3);
    let told = |args: &[&str]| {
        let reply = mine.json(&[&["gc", "--backend", "docker"], args].concat());
        let all = reply["leftovers"].as_array().unwrap();
        all.iter().map(|left| (text(&left["terminal"]), text(&left["outcome"]))).collect::<Vec<_>>()
    };
    assert_eq!(told(&["--dry-run"]), [(id.clone(), "found".to_owned())]);
    assert_eq!(containers(&engine).len(), 3, "a look ends nothing");
    assert_eq!(told(&[]), [(id, "ended".to_owned())]);
    assert_eq!(told(&[]), []);
    assert_eq!(containers(&engine).len(), 2);
    assert_eq!(mine.json(&["info", "living"])["state"], "running");
    assert_eq!(other.json(&["info", "other"])["state"], "running");
    drop((mine, other));
    until("nothing is left", || containers(&engine).is_empty());
}
