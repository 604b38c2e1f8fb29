//! `ptyard mcp install`, in a home of its own.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::Output;

use tempfile::TempDir;

use crate::fake::{err, out, ptyard};

struct Home(TempDir);

impl Home {
    fn run(&self, args: &[&str]) -> Output {
        let state = self.0.path().join("state");
        let mut command = ptyard(&state, args);
        for variable in ["CLAUDE_CONFIG_DIR", "CODEX_HOME", "XDG_CONFIG_HOME"] {
            command.env_remove(variable);
        }
        command.env("HOME", self.0.path()).output().unwrap()
    }

    fn read(&self, file: &str) -> String {
        fs::read_to_string(self.0.path().join(file)).unwrap()
    }
}

const FILES: [(&str, &str); 4] = [
    ("claude-code", ".claude.json"),
    ("codex", ".codex/config.toml"),
    ("opencode", ".config/opencode/opencode.json"),
    ("gemini", ".gemini/settings.json"),
];

#[test]
fn each_client_gets_an_entry_that_starts_this_program_and_loses_it_again() {
    let home = Home(tempfile::tempdir().unwrap());
    for (client, file) in FILES {
        let output = home.run(&["mcp", "install", client]);
        assert!(output.status.success(), "{output:?}");
        assert!(out(&output).contains(file), "{}", out(&output));
        let text = home.read(file);
        let program = fs::canonicalize(env!("CARGO_BIN_EXE_ptyard")).unwrap();
        for part in [program.to_str().unwrap(), "\"mcp\"", "--state"] {
            assert!(text.contains(part), "{client}: {text}");
        }
        let again = home.run(&["mcp", "install", client]);
        assert!(out(&again).contains("already"), "{}", out(&again));
        assert_eq!(home.read(file), text);
        let printed = home.run(&["mcp", "install", client, "--print"]);
        assert_eq!(out(&printed).trim(), text.trim(), "what is printed is what is written");
        assert!(home.run(&["mcp", "install", client, "--remove"]).status.success());
        assert!(!home.read(file).contains("--state"));
    }
}

#[test]
fn a_configuration_that_cannot_be_understood_stays_as_it_is() {
    let home = Home(tempfile::tempdir().unwrap());
    fs::create_dir(home.0.path().join(".gemini")).unwrap();
    let file = home.0.path().join(".gemini/settings.json");
    fs::write(&file, "{ not json").unwrap();
    let output = home.run(&["mcp", "install", "gemini"]);
    assert!(!output.status.success());
    assert!(err(&output).contains("JSON") && err(&output).contains("--print"), "{}", err(&output));
    assert_eq!(fs::read_to_string(&file).unwrap(), "{ not json");
}

#[test]
fn a_link_to_a_configuration_stays_a_link_and_the_file_as_open_as_it_was() {
    let home = Home(tempfile::tempdir().unwrap());
    let real = home.0.path().join("dotfiles.json");
    fs::write(&real, "{}\n").unwrap();
    // Other entries may hold keys, or be shared: who may read the file is not ours to say.
    fs::set_permissions(&real, fs::Permissions::from_mode(0o640)).unwrap();
    let link = home.0.path().join(".claude.json");
    std::os::unix::fs::symlink(&real, &link).unwrap();
    assert!(home.run(&["mcp", "install", "claude-code"]).status.success());
    assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
    assert!(fs::read_to_string(&real).unwrap().contains("ptyard"));
    assert_eq!(fs::metadata(&real).unwrap().permissions().mode() & 0o777, 0o640);
}
