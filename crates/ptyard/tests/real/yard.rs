//! A yard with one agent, as a person uses it: the command line only.

use std::path::PathBuf;
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use ptyard_testkit::model::Model;
use serde_json::Value;
use tempfile::TempDir;

use crate::cli::Cli;
use crate::place;

/// Longer than anything takes on a loaded machine; only reached when something is wrong.
const PATIENCE: Duration = Duration::from_secs(60);

pub(crate) struct Yard {
    pub(crate) model: Model,
    cli: &'static Cli,
    dir: TempDir,
}

impl Drop for Yard {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!(
                "{}\n{}",
                self.screen(),
                String::from_utf8_lossy(&self.run(&["status", "agent", "--explain"]).stdout)
            );
            eprintln!(
                "{}",
                std::fs::read_to_string(self.dir.path().join("state/server.log")).unwrap_or_default()
            );
        }
        let _ = self.run(&["stop"]);
    }
}

impl Yard {
    /// One whose agent would ask a model that understands everything.
    pub(crate) fn new(cli: &'static Cli) -> Self {
        let yard = Self { model: Model::start(), cli, dir: tempfile::tempdir().unwrap() };
        (cli.settle)(&yard.home(), &yard.model.url());
        let work = yard.work();
        std::fs::create_dir_all(&work).unwrap();
        std::fs::write(work.join("README.md"), "# work\n").unwrap();
        yard
    }

    fn home(&self) -> PathBuf {
        self.dir.path().join("home")
    }

    pub(crate) fn work(&self) -> PathBuf {
        self.dir.path().join("work")
    }

    /// A command whose agents see none of this machine's settings.
    pub(crate) fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_ptyard"));
        let path = format!("{}:/usr/local/bin:/usr/bin:/bin", place::programs(self.cli).display());
        command.env_clear().env("PATH", path).env("LANG", "C.UTF-8").env("HOME", self.home());
        command.env("PTYARD_STATE", self.dir.path().join("state")).current_dir(self.work());
        command.stdin(Stdio::null()).args(args);
        command
    }

    pub(crate) fn run(&self, args: &[&str]) -> Output {
        self.command(args).output().unwrap()
    }

    pub(crate) fn json(&self, args: &[&str]) -> Value {
        let output = self.run(&[&["--json"], args].concat());
        serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{args:?}: {error}: {output:?}"))
    }

    pub(crate) fn screen(&self) -> String {
        String::from_utf8_lossy(&self.run(&["screen", "agent"]).stdout).into_owned()
    }

    /// Starts the agent.
    pub(crate) fn launch(&self, args: &[&str]) {
        let url = self.cli.url_variable.map(|name| format!("{name}={}", self.model.url()));
        let set = self.cli.env.iter().map(|(name, value)| format!("{name}={value}")).chain(url);
        let set: Vec<String> = set.map(|set| format!("--env={set}")).collect();
        let set: Vec<&str> = set.iter().map(String::as_str).collect();
        let begin = ["launch", "--provider", self.cli.provider, "--name", "agent"];
        let reply = self.json(&[&begin[..], &set, args].concat());
        assert_eq!(reply["agent"]["provider"], self.cli.provider, "{reply}");
    }

    /// What the agent does, with the reasons.
    pub(crate) fn status(&self) -> Value {
        self.json(&["status", "agent", "--explain"])
    }

    /// Waits for a status.
    pub(crate) fn until(&self, what: &str, holds: impl Fn(&Value) -> bool) -> Value {
        let began = Instant::now();
        loop {
            let status = self.status();
            if holds(&status) {
                return status;
            }
            assert!(began.elapsed() < PATIENCE, "it is not {what}: {status}");
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    pub(crate) fn becomes(&self, wanted: &str) -> Value {
        self.until(wanted, |status| status["status"] == wanted)
    }

    /// Starts the agent and lets it through what it asks at its start.
    pub(crate) fn ready(&self) {
        self.launch(&[]);
        if let Some(keys) = self.cli.trust {
            self.becomes("waiting_user_answer");
            let reply = self.json(&["answer", "agent", "--keys", keys]);
            assert!(reply["error"].is_null(), "{reply}");
        }
        self.becomes("idle");
    }

    /// Sends a message; returns it once it is delivered.
    pub(crate) fn send(&self, text: &str) -> Value {
        let message = self.json(&["send", "agent", text, "--wait", "delivered", "--timeout", "60"]);
        assert_eq!(message["state"], "delivered", "{message}");
        message
    }

    /// Sends a message and waits for the end of its turn.
    pub(crate) fn send_through(&self, text: &str) {
        let message = self.json(&["send", "agent", text, "--wait", "completed", "--timeout", "60"]);
        assert_eq!(message["turn"], "completed", "{message}");
    }
}
