//! Places at vendors of sandboxes, through the whole program.

use std::fs;

use ptyard_testkit::vendors::blaxel::BlaxelServer;
use ptyard_testkit::vendors::e2b::E2bServer;
use serde_json::Value;

use crate::fake::out;
use crate::live::Yard;

fn holds(bytes: &[u8], text: &str) -> bool {
    bytes.windows(text.len()).any(|window| window == text.as_bytes())
}

#[test]
fn a_key_in_the_callers_environment_reaches_a_server_and_none_of_its_environments_or_files() {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
    let vendor = runtime.block_on(E2bServer::start());
    let variables = vendor.variables();
    let key = &variables.iter().find(|(name, _)| *name == "E2B_API_KEY").unwrap().1;
    let yard = Yard::new();
    let run = |args: &[&str]| yard.command(args).envs(variables.iter().cloned()).output().unwrap();
    let output = run(&[
        "exec",
        "--wait",
        "--backend",
        "e2b:base",
        "--",
        "sh",
        "-c",
        "echo \"it is $0\"; exit 3",
        "there",
    ]);
    assert_eq!((out(&output).as_str(), output.status.code()), ("it is there\n", Some(3)), "{output:?}");
    // Its end is told first.
    runtime.block_on(ptyard_testkit::until("it is gone with its program", || vendor.sandboxes().is_empty()));

    let version: Value = serde_json::from_slice(&run(&["version", "--json"]).stdout).unwrap();
    let keeper = fs::read_to_string(yard.state().join("keeper.lock")).unwrap();
    for pid in [version["server"]["pid"].to_string().as_str(), keeper.trim()] {
        for what in ["cmdline", "environ"] {
            let bytes = fs::read(format!("/proc/{pid}/{what}")).unwrap();
            assert!(what == "environ" || !bytes.is_empty());
            assert!(!holds(&bytes, key), "{what} of {pid}");
        }
    }
    for file in ["server.log", "ptyard.db", "ptyard.db-wal"] {
        assert!(!holds(&fs::read(yard.state().join(file)).unwrap(), key), "{file}");
    }
    let checked = run(&["doctor", "--backend", "e2b"]);
    assert!(checked.status.success() && !holds(&checked.stdout, key), "{checked:?}");
}

#[test]
fn a_program_at_blaxel_is_used_like_any_other() {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
    let vendor = runtime.block_on(BlaxelServer::start());
    let variables = vendor.variables();
    let key = &variables.iter().find(|(name, _)| *name == "BL_API_KEY").unwrap().1;
    let yard = Yard::new();
    let run = |args: &[&str]| yard.command(args).envs(variables.iter().cloned()).output().unwrap();
    let script = "echo \"it is $0\"; exit 3";
    let output = run(&["exec", "--wait", "--backend", "blaxel", "--", "sh", "-c", script, "there"]);
    assert_eq!((out(&output).as_str(), output.status.code()), ("it is there\n", Some(3)), "{output:?}");
    runtime.block_on(ptyard_testkit::until("it is gone with its program", || vendor.sandboxes().is_empty()));
    let checked = run(&["doctor", "--backend", "blaxel"]);
    assert!(checked.status.success() && !holds(&checked.stdout, key), "{checked:?}");
    assert!(out(&checked).contains("takes the key"), "{checked:?}");
    // Of somebody else's sandbox that is not there, in one line and without the key.
    let missing = run(&["exec", "--backend", "blaxel:sandbox=nobody", "--", "true"]);
    assert!(!missing.status.success() && !holds(&missing.stderr, key), "{missing:?}");
    assert!(String::from_utf8_lossy(&missing.stderr).contains("not found"), "{missing:?}");
}
