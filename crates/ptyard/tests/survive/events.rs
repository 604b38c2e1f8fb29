//! Agents whose own server tells of them, when ours dies.

use std::os::unix::fs::PermissionsExt as _;

use ptyard_testkit::events::{EventServer, Play};
use serde_json::{Value, json};

use crate::stage::{Stage, until};

/// Draws an empty composer as OpenCode does, and nothing of what it is told. It says where it is to serve its events.
const OPENCODE: &str = r#"#!/bin/sh
stty -echo -icanon
while [ "$1" != --port ]; do shift; done
printf '%s %s' "$2" "$OPENCODE_SERVER_PASSWORD" >"$HOME/door.new" && mv "$HOME/door.new" "$HOME/door"
printf '  ┃\r\n  ┃\r\n  ┃\r\n  ┃  Build · Mock Model Mock\r\n  ╹▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀\r\n'
printf '   tab agents  ctrl+p commands\r\n'
exec cat >/dev/null
"#;

fn says(status: &str) -> Value {
    json!({"type": "session.status", "properties": {"sessionID": "s", "status": {"type": status}}})
}

/// The next server of ours listens to it too, and the one that died with its connection does not speak for it.
#[test]
fn an_agents_own_server_is_listened_to_by_the_next_server_too() {
    let stage = Stage::new();
    let program = stage.file("opencode");
    std::fs::write(&program, OPENCODE).unwrap();
    std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
    let home = program.parent().unwrap().display().to_string();
    let env = [format!("--env=PATH={home}:/usr/bin:/bin"), format!("--env=HOME={home}")];
    stage.json(&["launch", "--provider", "opencode_cli", "--name", "a", &env[0], &env[1]]);
    let door = stage.file("door");
    until("it is told where to serve", || door.exists());
    let door = std::fs::read_to_string(door).unwrap();
    let (port, secret) = door.split_once(' ').unwrap();

    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
    let server = runtime.block_on(EventServer::start(port.parse().unwrap(), secret, [Play::Live]));
    let status = || stage.json(&["status", "a"]);
    let is = |wanted: &str| status()["status"] == wanted;
    until("it is ready", || is("idle"));
    runtime.block_on(server.say(&says("busy")));
    until("it is heard to work", || is("processing"));

    let requests = server.requests();
    stage.kill_server();
    // What was heard is not known any more, and what is heard next is.
    until("it is judged by its screen", || is("idle"));
    until("it is listened to again", || server.requests() > requests);
    runtime.block_on(server.say(&says("busy")));
    until("it is heard to work again", || is("processing"));
    assert_eq!(status()["rule"], "events.busy");
    for shown in [stage.json(&["info", "a"]), stage.json(&["status", "a", "--explain"])] {
        assert!(!shown.to_string().contains(secret), "{shown}");
    }
}
