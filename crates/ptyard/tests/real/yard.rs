//! A yard with one agent, as a person uses it: the command line only.

use std::path::PathBuf;
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use ptyard_testkit::model::Model;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, Signal, kill_process, pidfd_open, pidfd_send_signal};
use serde_json::Value;
use tempfile::TempDir;

use crate::cli::Cli;
use crate::place;

/// Longer than anything takes on a loaded machine; only reached when something is wrong.
const PATIENCE: Duration = Duration::from_secs(60);

/// Between two looks at what no command waits for: each of them is a program that starts.
const STEP: Duration = Duration::from_millis(100);

pub(crate) struct Yard {
    pub(crate) model: Model,
    pub(crate) cli: &'static Cli,
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
        // It ends without a word when it is told, after seconds of its own.
        for name in ["agent", "other"] {
            self.run(&["signal", name, "KILL"]);
        }
        self.run(&["stop"]);
    }
}

impl Yard {
    /// One whose agent would ask a model that understands everything.
    pub(crate) fn new(cli: &'static Cli) -> Self {
        let yard = Self { model: Model::start(), cli, dir: tempfile::tempdir().unwrap() };
        (cli.settle)(&yard.home(), &yard.model.url());
        let work = yard.work();
        std::fs::create_dir_all(&work).unwrap();
        // What the CLIs take for a project, and so ask about.
        assert!(Command::new("git").args(["init", "--quiet"]).current_dir(&work).status().unwrap().success());
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
        let mut command = self.surrounded(Command::new(env!("CARGO_BIN_EXE_ptyard")));
        command.args(args);
        command
    }

    fn surrounded(&self, mut command: Command) -> Command {
        let path = format!("{}:/usr/local/bin:/usr/bin:/bin", place::programs(self.cli).display());
        command.env_clear().env("PATH", path).env("LANG", "C.UTF-8").env("HOME", self.home());
        command.env("PTYARD_STATE", self.dir.path().join("state")).current_dir(self.work());
        command.stdin(Stdio::null());
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

    /// Has the CLI work on one prompt, without ptyard in front of it.
    pub(crate) fn once(&self, prompt: &str) {
        let (program, args) = self.cli.once.split_first().unwrap();
        let mut command = self.surrounded(Command::new(place::programs(self.cli).join(program)));
        command.envs(self.cli.env.iter().copied());
        command.envs(self.cli.url_variable.map(|name| (name, self.model.url())));
        let output = command.args(args).arg(prompt).output().unwrap();
        assert!(output.status.success(), "{output:?}");
    }

    /// Starts the agent.
    pub(crate) fn launch(&self, args: &[&str]) {
        self.launch_as("agent", args);
    }

    fn launch_as(&self, name: &str, args: &[&str]) {
        let url = self.cli.url_variable.map(|name| format!("{name}={}", self.model.url()));
        let set = self.cli.env.iter().map(|(name, value)| format!("{name}={value}")).chain(url);
        let set: Vec<String> = set.map(|set| format!("--env={set}")).collect();
        let set: Vec<&str> = set.iter().map(String::as_str).collect();
        let begin = ["launch", "--provider", self.cli.provider, "--name", name];
        let reply = self.json(&[&begin[..], &set, args].concat());
        assert_eq!(reply["agent"]["provider"], self.cli.provider, "{reply}");
    }

    /// What an agent does, with the reasons.
    fn status_of(&self, name: &str) -> Value {
        self.json(&["status", name, "--explain"])
    }

    /// Waits for a status.
    pub(crate) fn until(&self, what: &str, holds: impl Fn(&Value) -> bool) -> Value {
        self.until_as("agent", what, holds)
    }

    fn until_as(&self, name: &str, what: &str, holds: impl Fn(&Value) -> bool) -> Value {
        let began = Instant::now();
        loop {
            let status = self.status_of(name);
            if holds(&status) {
                return status;
            }
            assert!(began.elapsed() < PATIENCE, "it is not {what}: {status}");
            pass(STEP);
        }
    }

    pub(crate) fn becomes(&self, wanted: &str) -> Value {
        self.becomes_as("agent", wanted)
    }

    pub(crate) fn becomes_as(&self, name: &str, wanted: &str) -> Value {
        if wanted != "exited" {
            self.run(&["wait", name, "--until", &format!("status:{wanted}"), "--timeout", "60"]);
        }
        self.until_as(name, wanted, |status| status["status"] == wanted)
    }

    /// Waits until its screen shows this.
    pub(crate) fn shows(&self, text: &str) {
        let began = Instant::now();
        while !self.screen().contains(text) {
            assert!(began.elapsed() < PATIENCE, "its screen does not show {text:?}");
            pass(STEP);
        }
    }

    /// Starts the agent and lets it through what it asks at its start.
    pub(crate) fn ready(&self) {
        self.begin();
        self.becomes("idle");
    }

    /// Starts the agent and lets it through what it asks everybody at its start; it may have more to ask.
    pub(crate) fn begin(&self) {
        self.launch(&[]);
        for (rule, keys) in self.cli.asks {
            let rule = format!("{}.{rule}", self.cli.provider);
            let asks = self.until(&rule, |status| {
                let sources = status["explain"]["sources"].as_array();
                let sees = |source: &Value| source["rule"] == rule.as_str();
                status["status"] == "waiting_user_answer" && sources.into_iter().flatten().any(sees)
            });
            // Some say by themselves what they ask for.
            let kind = &asks["blocked_on"]["kind"];
            assert!(kind == "dialog" || kind == "permission", "{asks}");
            let reply = self.json(&["answer", "agent", "--keys", keys]);
            assert!(reply["error"].is_null(), "{reply}");
        }
    }

    /// Starts another one in the same folder, which is trusted by then.
    pub(crate) fn ready_as(&self, name: &str) {
        self.launch_as(name, &[]);
        self.becomes_as(name, "idle");
    }

    /// Queues a message.
    pub(crate) fn queue(&self, text: &str) {
        let message = self.json(&["send", "agent", text]);
        assert!(message["error"].is_null(), "{message}");
    }

    /// The states of all messages, in order.
    pub(crate) fn mail(&self) -> Vec<String> {
        let all = self.json(&["inbox", "agent", "--all"]);
        let state = |message: &Value| message["state"].as_str().unwrap().to_owned();
        all.as_array().unwrap().iter().map(state).collect()
    }

    /// Waits until the states of all messages are these.
    pub(crate) fn mail_becomes(&self, wanted: &[&str]) {
        let began = Instant::now();
        while self.mail() != wanted {
            assert!(
                began.elapsed() < PATIENCE,
                "{:?} and not {wanted:?}",
                self.json(&["inbox", "agent", "--all"])
            );
            pass(STEP);
        }
    }

    /// Presses keys, as a person at the terminal does.
    pub(crate) fn press(&self, keys: &str) {
        let reply = self.json(&["write", "agent", "--keys", keys, "--yield-ms", "0"]);
        assert!(reply["error"].is_null(), "{reply}");
    }

    /// Waits until it takes a message.
    pub(crate) fn takes_messages(&self) -> Value {
        self.until("ready", |status| status["explain"]["hold"].is_null())
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

    /// The process id of something that is told of.
    fn pid(&self, args: &[&str], at: &str) -> Pid {
        let told = self.json(args);
        let pid = told.pointer(at).and_then(Value::as_i64).unwrap_or_else(|| panic!("{told}"));
        Pid::from_raw(i32::try_from(pid).unwrap()).unwrap()
    }

    pub(crate) fn kill_agent(&self) {
        kill_process(self.pid(&["info", "agent"], "/pid"), Signal::KILL).unwrap();
    }

    /// Kills the server and waits until it is gone; the next command starts another one.
    pub(crate) fn kill_server(&self) {
        let pid = self.pid(&["version"], "/server/pid");
        let server = pidfd_open(pid, PidfdFlags::empty()).unwrap();
        pidfd_send_signal(&server, Signal::KILL).unwrap();
        let patience = Timespec::try_from(PATIENCE).unwrap();
        assert_eq!(poll(&mut [PollFd::new(&server, PollFlags::IN)], Some(&patience)).unwrap(), 1);
    }
}

/// Lets this much time pass, which nothing depends on.
fn pass(time: Duration) {
    let (_never, waits) = std::sync::mpsc::sync_channel::<()>(1);
    let _ = waits.recv_timeout(time);
}
