//! Starts: profiles, providers, tokens.

use std::os::unix::fs::PermissionsExt as _;

use ptyard_core::ErrorCode;
use ptyard_core::turn::Status;
use ptyard_yard::agents::LaunchSpec;
use ptyard_yard::{Range, TerminalRef};

use crate::stage::Stage;

/// All that a terminal printed by its end.
async fn printed(stage: &Stage, at: &TerminalRef) -> String {
    stage.yard.wait(at, &["exit".to_owned()], Some(0), None).await.unwrap();
    let Range { data, .. } = stage.yard.read(at, Some(0), 1 << 20).await.unwrap();
    String::from_utf8(data).unwrap()
}

fn shell(stage: &Stage, script: &str) -> LaunchSpec {
    LaunchSpec {
        provider: Some("generic".to_owned()),
        cwd: Some(stage.work()),
        extra: ["sh", "-c", script].map(str::to_owned).to_vec(),
        ..LaunchSpec::default()
    }
}

#[tokio::test]
async fn a_reporting_agent_goes_from_starting_to_idle() {
    let stage = Stage::new();
    let agent = stage.launch("boot_ms = 100\nstatus.osc7501 = 'asks'").await;
    stage.until(&agent, Status::Idle).await;
    let explained = stage.yard.explain(&agent.at()).await.unwrap().unwrap();
    assert_eq!(explained.report.status, Status::Idle);
    assert_eq!(explained.hold, None);
}

#[tokio::test]
async fn a_silent_program_is_idle_once_it_is_quiet_and_gone_when_it_exits() {
    let stage = Stage::new();
    let agent = stage.launch("turn.end = 'crash'").await;
    stage.until(&agent, Status::Idle).await;
    stage.yard.kill(&agent.at(), None).await.unwrap();
    stage.until(&agent, Status::Exited).await;
}

#[tokio::test]
async fn case_sec04_a_program_speaks_for_its_own_terminal_only() {
    let stage = Stage::new();
    let mut tokens = Vec::new();
    for _ in 0..2 {
        let script = "echo \"<$PTYARD_TERMINAL $PTYARD_TOKEN $PTYARD_SESSION>\"";
        let launched = stage.yard.launch(shell(&stage, script)).await.unwrap();
        let at = TerminalRef::Id(launched.id);
        let text = printed(&stage, &at).await;
        let told = text.split(['<', '>']).nth(1).unwrap().to_owned();
        let [id, token, session] = told.split(' ').collect::<Vec<_>>().try_into().unwrap();
        assert_eq!((id, session), (launched.id.to_string().as_str(), launched.member.session.as_str()));
        assert_eq!(stage.yard.speaker(launched.id, token).unwrap(), launched.id);
        let info = stage.yard.info(&at).unwrap();
        assert_eq!(info.env["PTYARD_TOKEN"], None, "a token is never shown");
        tokens.push((launched.id, token.to_owned()));
    }
    for (id, token) in [(tokens[0].0, tokens[1].1.as_str()), (tokens[0].0, ""), (tokens[0].0, "human")] {
        assert_eq!(stage.yard.speaker(id, token).unwrap_err().code(), ErrorCode::Forbidden);
    }
}

#[tokio::test]
async fn a_profile_says_what_it_runs_on() {
    let stage = Stage::new();
    let profiles = stage.work().join(".ptyard/profiles");
    std::fs::create_dir_all(&profiles).unwrap();
    std::fs::write(profiles.join("echo.md"), "---\nname: echo\nprovider: generic\ncolor: red\n---\nSay it.")
        .unwrap();
    std::fs::write(profiles.join("broken.md"), "---\nname: broken\n").unwrap();
    let spec = LaunchSpec { profile: Some("echo".to_owned()), provider: None, ..shell(&stage, "echo hi") };
    let launched = stage.yard.launch(spec).await.unwrap();
    assert_eq!(launched.member.profile.as_deref(), Some("echo"));
    assert_eq!(launched.member.provider, "generic");
    assert!(launched.notices.iter().any(|notice| notice.contains("line 4") && notice.contains("color")));
    for (profile, code) in [("nobody", ErrorCode::UnknownProfile), ("broken", ErrorCode::InvalidProfile)] {
        let spec = LaunchSpec { profile: Some(profile.to_owned()), ..shell(&stage, "echo hi") };
        assert_eq!(stage.yard.launch(spec).await.unwrap_err().code(), code);
    }
    for provider in [None, Some("no-such".to_owned())] {
        let spec = LaunchSpec { provider, ..shell(&stage, "echo hi") };
        assert_eq!(stage.yard.launch(spec).await.unwrap_err().code(), ErrorCode::InvalidArgument);
    }
}

#[tokio::test]
async fn case_sec04_an_agent_is_given_the_yards_server_with_its_token_and_those_of_its_profile() {
    let stage = Stage::with_program("/opt/ptyard");
    let bin = stage.home.path().join("bin");
    std::fs::create_dir_all(&bin).unwrap();
    let fake = bin.join("claude");
    std::fs::write(&fake, "#!/bin/sh\necho \"<$PTYARD_TOKEN>\"\nfor a in \"$@\"; do echo \"arg:$a\"; case $a in *mcp.json) cat \"$a\"; echo;; esac; done\n").unwrap();
    std::fs::set_permissions(&fake, std::fs::Permissions::from_mode(0o755)).unwrap();
    let profiles = stage.work().join(".ptyard/profiles");
    std::fs::create_dir_all(&profiles).unwrap();
    let text = "---\nname: db\nprovider: claude_code\nmcpServers:\n  db:\n    command: db-mcp\n    args: [--port, 1]\n  odd: {}\n---\n";
    std::fs::write(profiles.join("db.md"), text).unwrap();
    let mut spec =
        LaunchSpec { profile: Some("db".to_owned()), cwd: Some(stage.work()), ..LaunchSpec::default() };
    spec.env.insert("PATH".to_owned(), format!("{}:/usr/bin:/bin", bin.display()));
    let launched = stage.yard.launch(spec).await.unwrap();
    let text = printed(&stage, &TerminalRef::Id(launched.id)).await;
    let token = text.split(['<', '>']).nth(1).unwrap();
    let json = text.lines().find(|line| line.starts_with("{\"mcpServers\"")).expect(&text);
    let servers: serde_json::Value = serde_json::from_str(json.trim()).unwrap();
    let own = &servers["mcpServers"]["ptyard"];
    let id = launched.id.to_string();
    assert_eq!((&own["command"], &own["args"][4]), (&"/opt/ptyard".into(), &id.as_str().into()));
    assert_eq!(
        (&own["env"]["PTYARD_TERMINAL"], &own["env"]["PTYARD_TOKEN"]),
        (&id.as_str().into(), &token.into())
    );
    assert_eq!(servers["mcpServers"]["db"]["args"], serde_json::json!(["--port", "1"]));
    let arguments = stage.yard.info(&TerminalRef::Id(launched.id)).unwrap().argv;
    assert!(arguments.iter().all(|argument| !argument.contains(token)), "a token is never shown");
    assert!(launched.notices.iter().any(|notice| notice.contains("\"odd\"")), "{:?}", launched.notices);
}

#[tokio::test]
async fn instructions_go_through_a_private_file() {
    let stage = Stage::new();
    let bin = stage.home.path().join("bin");
    std::fs::create_dir_all(&bin).unwrap();
    let fake = bin.join("claude");
    std::fs::write(&fake, "#!/bin/sh\nfor a in \"$@\"; do echo \"arg:$a\"; [ -f \"$a\" ] && stat -c mode:%a \"$a\" && cat \"$a\"; done\n").unwrap();
    std::fs::set_permissions(&fake, std::fs::Permissions::from_mode(0o755)).unwrap();
    let mut spec = LaunchSpec {
        profile: Some("reviewer".to_owned()),
        provider: Some("claude_code".to_owned()),
        cwd: Some(stage.work()),
        ..LaunchSpec::default()
    };
    spec.env.insert("PATH".to_owned(), format!("{}:/usr/bin:/bin", bin.display()));
    let launched = stage.yard.launch(spec).await.unwrap();
    let text = printed(&stage, &TerminalRef::Id(launched.id)).await;
    assert!(text.contains("mode:600") && text.contains("You review changes."), "{text}");
}
