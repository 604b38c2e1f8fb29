//! A server that CAO's clients find, with scripted agents.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;
use tempfile::TempDir;

use crate::package;

/// Profiles, the kinds of programs they run on, which CAO knows by name, and what the scripted agent does in their place.
const AGENTS: [(&str, &str, &str); 4] = [
    ("helper", "claude_code", "turn = { busy_ms = 300, answer = \"You said: {text}\" }"),
    ("asker", "codex", "turn = { busy_ms = 300, ask = {}, answer = \"It was allowed.\" }"),
    // These use their tools; see `tools.py`. The second argument of their program is its file with MCP servers.
    (
        "lead",
        "copilot_cli",
        "turn = { busy_ms = 120_000, run = [\"bin/tools\", \"'\"$2\"'\", \"few\", \"lead\"] }",
    ),
    (
        "hand",
        "kimi_cli",
        "turn = { busy_ms = 120_000, run = [\"bin/tools\", \"'\"$2\"'\", \"all\", \"hand\"] }",
    ),
];

/// What is called by agents that use their tools.
const TOOLS: &str = include_str!("tools.py");

/// What CAO's own profiles say of the MCP server of their agents.
const SERVER: &str =
    "mcpServers:\n  cao-mcp-server:\n    type: stdio\n    command: cao-mcp-server\n    args: []\n";

pub(crate) struct Site {
    dir: TempDir,
    server: Child,
    pub(crate) port: String,
    programs: &'static Path,
}

impl Drop for Site {
    fn drop(&mut self) {
        let _ = self.ptyard(&["stop"]).output();
        let _ = self.server.wait();
        let _ = self.tmux(&["kill-server"]);
    }
}

fn write_program(path: &Path, text: &str) {
    fs::write(path, text).unwrap();
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
}

/// What the server and its clients are started with.
fn prepare<'c>(dir: &Path, command: &'c mut Command) -> &'c mut Command {
    let path = format!("{}:{}", dir.join("bin").display(), std::env::var("PATH").unwrap());
    command
        .env("PATH", path)
        .env("PTYARD_STATE", dir.join("state"))
        .env("CAO_HOME_DIR", dir.join("cao"))
        .env("HOME", dir)
        // The tmux server that is found without a name, and nobody else's.
        .env("TMUX_TMPDIR", dir)
        .env_remove("TMUX")
        .env_remove("CAO_TERMINAL_ID")
        .current_dir(dir)
        .stdin(Stdio::null())
}

impl Site {
    /// Starts it; `None` where CAO's package or tmux cannot be had.
    pub(crate) fn start() -> Option<Self> {
        if Command::new("tmux").arg("-V").stdout(Stdio::null()).status().is_err() {
            let _ = writeln!(
                std::io::stderr().lock(),
                "\nSKIPPED a test with the clients of CAO: there is no tmux\n"
            );
            return None;
        }
        Self::start_with_path(&std::env::var("PATH").unwrap())
    }

    /// The same, with a server that finds only what is in this path.
    pub(crate) fn start_with_path(path: &str) -> Option<Self> {
        let programs = package::programs()?;
        let dir = tempfile::tempdir().unwrap();
        for part in ["state/providers", "cao/agent-store", "bin"] {
            fs::create_dir_all(dir.path().join(part)).unwrap();
        }
        fs::set_permissions(dir.path().join("state"), fs::Permissions::from_mode(0o700)).unwrap();
        for (profile, provider, script) in AGENTS {
            let manifest = format!(
                "id = '{provider}'\nname = 'Scripted'\nversion = '1.0.0'\nengine = 1\n[launch]\nbinaries = ['{profile}']\n\
                 mcp = {{ encoder = 'json', args = ['--mcp-config', '{{file}}'] }}\n\
                 [ready]\nsettle_ms = 0\nfirst_settle_ms = 0\nquiet_ms = 700\nunseen_work_ms = 0\n"
            );
            fs::write(dir.path().join(format!("state/providers/{provider}.toml")), manifest).unwrap();
            let text =
                format!("---\nname: {profile}\ndescription: Helps\nprovider: {provider}\n{SERVER}---\n");
            // Where `cao install` puts it.
            fs::write(dir.path().join(format!("cao/agent-store/{profile}.md")), text).unwrap();
            let agent = ptyard_testkit::agent::program().display();
            let text = format!("#!/bin/sh\nexec {agent} --toml 'status.osc7501 = \"asks\"\n{script}'\n");
            write_program(&dir.path().join("bin").join(profile), &text);
        }
        write_program(&dir.path().join("bin/tools"), &format!("#!/usr/bin/env python3\n{TOOLS}"));
        let server = "cao-mcp-server";
        std::os::unix::fs::symlink(programs.join(server), dir.path().join("bin").join(server)).unwrap();

        let mut server = Command::new(env!("CARGO_BIN_EXE_ptyard"));
        let server = prepare(dir.path(), &mut server).args(["serve", "--cao", "127.0.0.1:0"]);
        let server = server.env("PATH", format!("{}:{path}", dir.path().join("bin").display()));
        let mut server = server.stderr(Stdio::piped()).spawn().unwrap();
        let mut lines = BufReader::new(server.stderr.take().unwrap()).lines();
        let address = loop {
            let line = lines.next().unwrap().unwrap();
            if let Some((_, rest)) = line.split_once("cao=") {
                break rest.split_whitespace().next().unwrap().to_owned();
            }
        };
        std::thread::spawn(move || lines.for_each(|line| eprintln!("{}", line.unwrap_or_default())));
        let port = address.rsplit(':').next().unwrap().to_owned();
        Some(Self { dir, server, port, programs })
    }

    fn prepared<'c>(&self, command: &'c mut Command) -> &'c mut Command {
        prepare(self.dir.path(), command).env("CAO_API_HOST", "127.0.0.1").env("CAO_API_PORT", &self.port)
    }

    pub(crate) fn ptyard(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_ptyard"));
        self.prepared(&mut command).args(args);
        command
    }

    /// What `ptyard` says, as JSON.
    pub(crate) fn json(&self, args: &[&str]) -> Value {
        let output = self.ptyard(&[&["--json"], args].concat()).output().unwrap();
        serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{args:?}: {error}: {output:?}"))
    }

    /// One of the package's programs.
    pub(crate) fn program(&self, name: &str) -> Command {
        let mut command = Command::new(self.programs.join(name));
        self.prepared(&mut command);
        command
    }

    /// Where the files of CAO's web page are.
    pub(crate) fn page(&self) -> PathBuf {
        package::page(self.programs)
    }

    /// What tmux says.
    pub(crate) fn tmux(&self, args: &[&str]) -> Output {
        let mut command = Command::new("tmux");
        self.prepared(&mut command).args(args).output().unwrap()
    }

    /// The names of the windows of a session in tmux.
    pub(crate) fn windows(&self, session: &str) -> Vec<String> {
        let told = self.tmux(&["list-windows", "-t", &format!("={session}"), "-F", "#{window_name}"]);
        String::from_utf8(told.stdout).unwrap().lines().map(str::to_owned).collect()
    }

    /// A person at a terminal who says this to `cao`; the terminal's name.
    pub(crate) fn person(&self, args: &[&str]) -> &'static str {
        const NAME: &str = "person";
        let cao = self.programs.join("cao");
        let mut exec = vec!["exec", "--name", NAME, "--tty", "--size", "100x30", "--yield-ms", "250"];
        for variable in ["CAO_API_HOST", "CAO_API_PORT", "CAO_HOME_DIR", "TMUX_TMPDIR"] {
            exec.extend(["--env", variable]);
        }
        let started = self.json(&[&exec[..], &["--", cao.to_str().unwrap()], args].concat());
        assert!(started["session_id"].is_number(), "{started}");
        NAME
    }

    /// What the tools answered that agents of a profile have used.
    pub(crate) fn answers(&self, profile: &str) -> Vec<Value> {
        let told = fs::read_to_string(self.dir.path().join(profile)).unwrap_or_default();
        told.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    /// What is on a terminal, once `wanted` is.
    pub(crate) fn shown(&self, terminal: &str, wanted: &str) -> String {
        let began = Instant::now();
        loop {
            let output = self.ptyard(&["screen", terminal]).output().unwrap();
            let screen = String::from_utf8_lossy(&output.stdout).into_owned();
            if screen.contains(wanted) {
                return screen;
            }
            assert!(began.elapsed() < Duration::from_secs(60), "{wanted:?} is not shown: {output:?}");
        }
    }

    /// What `cao` says when it fails.
    pub(crate) fn cao_refused(&self, args: &[&str]) -> String {
        let output = self.program("cao").args(args).output().unwrap();
        assert!(!output.status.success(), "{args:?}: {output:?}");
        String::from_utf8_lossy(&output.stderr).into_owned()
    }

    /// What `cao` prints, which must succeed.
    pub(crate) fn cao(&self, args: &[&str]) -> String {
        let output: Output = self.program("cao").args(args).output().unwrap();
        let told = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(output.status.success(), "{args:?}: {told}\n{}", String::from_utf8_lossy(&output.stderr));
        told
    }

    /// What the server answers to a GET, as JSON.
    pub(crate) fn get(&self, path: &str) -> Value {
        self.call("GET", path, "")
    }

    /// What the server answers, as JSON, to a request with this body.
    pub(crate) fn call(&self, method: &str, path: &str, body: &str) -> Value {
        let mut peer = TcpStream::connect(format!("127.0.0.1:{}", self.port)).unwrap();
        let request = format!(
            "{method} {path} HTTP/1.1\r\nhost: 127.0.0.1:{}\r\nconnection: close\r\n\
             content-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
            self.port,
            body.len()
        );
        peer.write_all(request.as_bytes()).unwrap();
        let mut answer = String::new();
        peer.read_to_string(&mut answer).unwrap();
        let (_, body) = answer.split_once("\r\n\r\n").unwrap();
        serde_json::from_str(body).unwrap_or_else(|error| panic!("{path}: {error}: {answer}"))
    }
}
