//! What the server of an agent's own program tells of its turns.

use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use ptyard_core::turn::{Explanation, Source, Status};
use ptyard_testkit::events::{EventServer, Play};
use ptyard_testkit::{PATIENCE, soon, until};
use ptyard_yard::TerminalRef;
use ptyard_yard::agents::LaunchSpec;
use serde_json::{Value, json};

use crate::stage::Stage;

/// Draws an empty composer as OpenCode does, and nothing of what it is told.
const OPENCODE: &str = r#"#!/bin/sh
stty -echo -icanon
printf '%s\n' "$@" >"$HOME/arguments"
printf '%s' "$OPENCODE_SERVER_PASSWORD" >"$HOME/secret.new" && mv "$HOME/secret.new" "$HOME/secret"
printf '  ┃\r\n  ┃\r\n  ┃\r\n  ┃  Build · Mock Model Mock\r\n  ╹▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀\r\n'
printf '   tab agents  ctrl+p commands\r\n'
exec cat >/dev/null
"#;

/// An agent that serves its events; the test is its server.
struct Served {
    at: TerminalRef,
    secret: String,
    server: EventServer,
}

fn file(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap_or_default()
}

async fn launch(stage: &Stage, env: &[(&str, &str)]) -> TerminalRef {
    let bin = stage.home.path().join("bin");
    std::fs::create_dir_all(&bin).unwrap();
    let program = bin.join("opencode");
    std::fs::write(&program, OPENCODE).unwrap();
    std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
    let mut spec = LaunchSpec {
        provider: Some("opencode_cli".to_owned()),
        cwd: Some(stage.work()),
        ..LaunchSpec::default()
    };
    spec.env.insert("PATH".to_owned(), format!("{}:/usr/bin:/bin", bin.display()));
    spec.env.insert("HOME".to_owned(), stage.home.path().display().to_string());
    spec.env.extend(env.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())));
    TerminalRef::Id(stage.yard.launch(spec).await.unwrap().id)
}

async fn served(stage: &Stage) -> Served {
    let at = launch(stage, &[]).await;
    let secret = stage.home.path().join("secret");
    until("it has written down what it was given", || secret.exists()).await;
    let arguments = file(&stage.home.path().join("arguments"));
    let mut arguments = arguments.lines().skip_while(|argument| *argument != "--port");
    let port = arguments.nth(1).unwrap().parse().unwrap();
    let secret = file(&secret);
    let server = EventServer::start(port, &secret, [Play::Live]).await;
    until("it is listened to", || server.requests() > 0).await;
    Served { at, secret, server }
}

fn status(status: &str) -> Value {
    json!({"type": "session.status", "properties": {"sessionID": "s", "status": {"type": status}}})
}

async fn becomes(stage: &Stage, at: &TerminalRef, wanted: Status) {
    let come = stage.yard.status_until(at, |report| report.status == wanted, PATIENCE).await.unwrap();
    assert!(come.is_some(), "it is {:?}, not {wanted}", stage.yard.status(at).unwrap());
}

async fn explained(stage: &Stage, at: &TerminalRef) -> Explanation {
    stage.yard.explain(at).await.unwrap().unwrap()
}

#[tokio::test]
async fn its_server_is_believed_before_its_screen_until_it_takes_back_what_it_said() {
    let stage = Stage::new();
    let agent = served(&stage).await;
    becomes(&stage, &agent.at, Status::Idle).await;
    agent.server.say(&status("busy")).await;
    becomes(&stage, &agent.at, Status::Processing).await;
    let told = explained(&stage, &agent.at).await.report;
    assert_eq!((told.source, told.rule.unwrap().as_str()), (Some(Source::Hook), "events.busy"));
    agent.server.say(&status("idle")).await;
    becomes(&stage, &agent.at, Status::Idle).await;
    assert_eq!(explained(&stage, &agent.at).await.report.source, Some(Source::Screen));
    // What it said last is not believed for ever either: it is taken back with the stream.
    agent.server.say(&status("busy")).await;
    becomes(&stage, &agent.at, Status::Processing).await;
    drop(agent.server);
    becomes(&stage, &agent.at, Status::Idle).await;
}

#[tokio::test]
async fn case_sec04_its_secret_stands_in_one_private_file_and_both_are_left_with_its_terminal() {
    let stage = Stage::new();
    let agent = served(&stage).await;
    let info = stage.yard.info(&agent.at).unwrap();
    assert_eq!(agent.secret.len(), 64);
    assert!(info.argv.iter().all(|argument| !argument.contains(&agent.secret)), "{info:?}");
    assert_eq!(info.env["OPENCODE_SERVER_PASSWORD"], None);
    let mut directories = vec![stage.home.path().join("state")];
    let mut holders = Vec::new();
    while let Some(directory) = directories.pop() {
        for entry in std::fs::read_dir(directory).unwrap().map(Result::unwrap) {
            let path = entry.path();
            if entry.file_type().unwrap().is_dir() {
                directories.push(path);
            } else if entry.file_type().unwrap().is_file() {
                let held = std::fs::read(&path).unwrap();
                let secret = agent.secret.as_bytes();
                if held.windows(secret.len()).any(|window| window == secret) {
                    assert_eq!(path.metadata().unwrap().permissions().mode() & 0o777, 0o600);
                    holders.push(path);
                }
            }
        }
    }
    // For the next server of ours, which listens too.
    assert_eq!(holders.iter().map(|path| path.file_name().unwrap()).collect::<Vec<_>>(), ["door.json"]);
    stage.yard.kill(&agent.at, None).await.unwrap();
    soon("it is left", agent.server.is_left()).await;
    stage.yard.remove(&agent.at).await.unwrap();
    assert!(!holders[0].exists());
}

#[tokio::test]
async fn whoever_gives_it_a_secret_of_their_own_is_not_listened_to() {
    let stage = Stage::new();
    let at = launch(&stage, &[("OPENCODE_SERVER_PASSWORD", "mine")]).await;
    becomes(&stage, &at, Status::Idle).await;
    assert_eq!(file(&stage.home.path().join("secret")), "mine");
    assert_eq!(file(&stage.home.path().join("arguments")).trim(), "");
}
