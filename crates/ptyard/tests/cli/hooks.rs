//! `ptyard hooks`, in a home of its own.

use std::fs;
use std::io::Seek as _;
use std::path::PathBuf;
use std::process::{Command, Output};

use serde_json::Value;
use tempfile::TempDir;

use crate::fake::{err, out, ptyard};

struct Home(TempDir);

impl Home {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn run(&self, args: &[&str]) -> Output {
        let mut command = ptyard(&self.path("state"), args);
        for variable in ["CLAUDE_CONFIG_DIR", "CODEX_HOME", "COPILOT_HOME", "KIMI_CODE_HOME"] {
            command.env_remove(variable);
        }
        command.env("HOME", self.0.path()).output().unwrap()
    }

    fn json(&self, args: &[&str]) -> Value {
        let output = self.run(&[&["--json"], args].concat());
        assert!(output.status.success(), "{output:?}");
        serde_json::from_slice(&output.stdout).unwrap()
    }

    fn path(&self, file: &str) -> PathBuf {
        self.0.path().join(file)
    }
}

const FILES: [(&str, &str, &str); 6] = [
    ("claude_code", ".claude/settings.json", "{\n  // mine\n  \"theme\": \"dark\"\n}\n"),
    ("codex", ".codex/hooks.json", "{\"hooks\": {\"Stop\": []}}"),
    ("gemini_cli", ".gemini/settings.json", "{}"),
    ("qwen_code", ".qwen/settings.json", "{ \"b\": 1, \"a\": 2 }\r\n"),
    ("copilot_cli", ".copilot/hooks/ptyard.json", "{}\n"),
    ("kimi_cli", ".kimi-code/config.toml", "# mine\nb = 1\na = 2"),
];

#[test]
fn each_cli_gets_hooks_and_loses_them_again() {
    let home = Home::new();
    for (provider, file, mine) in FILES {
        let path = home.path(file);
        let told = out(&home.run(&["hooks", "install", provider, "--dry-run"]));
        assert!(told.contains("would be written into") && told.contains(file) && !path.exists(), "{told}");
        for before in [None, Some(mine)] {
            if let Some(before) = before {
                fs::create_dir_all(path.parent().unwrap()).unwrap();
                fs::write(&path, before).unwrap();
            }
            assert_eq!(home.json(&["hooks", "status", provider])[0]["standing"], "absent");
            let told = home.json(&["hooks", "install", provider]);
            assert_eq!((&told["standing"], &told["changed"]), (&"installed".into(), &true.into()), "{told}");
            let text = fs::read_to_string(&path).unwrap();
            let program = fs::canonicalize(env!("CARGO_BIN_EXE_ptyard")).unwrap();
            assert!(text.contains(program.to_str().unwrap()), "{text}");
            if before.is_none() {
                assert_eq!(told["entries"], text, "what is shown is what is written");
            }
            assert_eq!(home.json(&["hooks", "install", provider])["changed"], false);
            assert_eq!(fs::read_to_string(&path).unwrap(), text);
            let would = home.json(&["hooks", "remove", provider, "--dry-run"]);
            assert_eq!(
                (&would["standing"], &would["changed"]),
                (&"installed".into(), &false.into()),
                "{would}"
            );
            assert_eq!(home.json(&["hooks", "remove", provider])["changed"], true);
            assert_eq!(fs::read_to_string(&path).ok().as_deref(), before, "{provider}");
            assert_eq!(home.json(&["hooks", "remove", provider])["changed"], false);
        }
    }
}

#[test]
fn what_another_program_wrote_is_told_and_replaced() {
    let home = Home::new();
    assert!(home.run(&["hooks", "install", "claude_code"]).status.success());
    let path = home.path(".claude/settings.json");
    let text = fs::read_to_string(&path).unwrap();
    fs::write(&path, text.replace("--entry ptyard-1", "--entry ptyard-0")).unwrap();
    let all = home.json(&["hooks", "status"]);
    let standing = |provider: &str| {
        let found = all.as_array().unwrap().iter().find(|row| row["provider"] == provider).unwrap();
        found["standing"].as_str().unwrap().to_owned()
    };
    assert_eq!((standing("claude_code"), standing("kimi_cli")), ("outdated".to_owned(), "absent".to_owned()));
    assert!(out(&home.run(&["hooks", "status"])).contains("outdated"), "{all}");
    assert!(home.run(&["hooks", "install", "claude_code"]).status.success());
    assert_eq!(fs::read_to_string(&path).unwrap(), text);
}

#[test]
fn a_file_that_cannot_be_understood_stays_as_it_is() {
    let home = Home::new();
    for (provider, file, _) in FILES {
        let path = home.path(file);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, "{ not this").unwrap();
        for change in ["install", "remove", "status"] {
            let output = home.run(&["hooks", change, provider]);
            assert_eq!(output.status.code(), Some(2), "{output:?}");
            assert!(
                err(&output).contains(file) && err(&output).contains("hint: the file is as it was"),
                "{output:?}"
            );
            assert_eq!(fs::read_to_string(&path).unwrap(), "{ not this");
        }
    }
}

/// What stands in the settings of a user is run wherever their CLI runs, also when ptyard is gone.
#[test]
fn outside_our_terminals_a_hook_does_nothing() {
    let home = Home::new();
    let told = home.json(&["hooks", "install", "claude_code"]);
    let entries: Value = serde_json::from_str(told["entries"].as_str().unwrap()).unwrap();
    let line = entries["hooks"]["Stop"][0]["hooks"][0]["command"].as_str().unwrap();
    let gone = line.replace(env!("CARGO_BIN_EXE_ptyard"), "/nowhere/ptyard");
    assert_ne!(gone, line);
    for line in [line, &gone] {
        let output = Command::new("sh").args(["-c", line]).env_remove("PTYARD_TOKEN").output().unwrap();
        assert!(
            output.status.success() && output.stdout.is_empty() && output.stderr.is_empty(),
            "{output:?}"
        );
    }
    // Nor does the program itself, which does not even read what it is told.
    let mut hook = ptyard(&home.path("state"), &["hook", "claude", "--entry", "ptyard-1"]);
    fs::write(home.path("told"), r#"{"hook_event_name": "Stop"}"#).unwrap();
    let mut told = fs::File::open(home.path("told")).unwrap();
    hook.env_remove("PTYARD_TOKEN").stdin(told.try_clone().unwrap());
    let output = hook.output().unwrap();
    assert!(output.status.success() && output.stdout.is_empty() && output.stderr.is_empty(), "{output:?}");
    assert_eq!(told.stream_position().unwrap(), 0);
    assert!(!home.path("state").exists(), "no server was started");
}
