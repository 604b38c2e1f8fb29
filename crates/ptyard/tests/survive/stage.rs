//! A state directory whose servers are killed, and what is asked of them.

use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::mount::{MountFlags, UnmountFlags, mount, mount_bind, mount_remount, unmount};
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};
use serde_json::Value;
use tempfile::TempDir;

/// Longer than anything takes on a loaded machine; only reached when something is wrong.
pub(crate) const LIMIT: Duration = Duration::from_secs(60);

pub(crate) struct Stage {
    dir: TempDir,
    /// How programs are kept together.
    containment: &'static str,
    /// What is mounted on the state directory, to be taken away at the end.
    disk: Option<SmallDisk>,
    /// Variables of every command, and so of every server.
    variables: Vec<(&'static str, PathBuf)>,
}

/// A small file system of its own.
struct SmallDisk(PathBuf);

impl Drop for SmallDisk {
    fn drop(&mut self) {
        let _ = unmount(&self.0, UnmountFlags::DETACH);
    }
}

impl Drop for Stage {
    fn drop(&mut self) {
        let _ = self.command(&["stop"]).output();
        if std::thread::panicking() && self.disk.is_none() {
            // What was seen once in thousands of times has to be looked at when it is.
            self.dir.disable_cleanup(true);
            eprintln!("the state is kept: {}", self.dir.path().display());
        }
    }
}

impl Stage {
    pub(crate) fn new() -> Self {
        Self { dir: tempfile::tempdir().unwrap(), containment: "cgroup", disk: None, variables: Vec::new() }
    }

    /// One whose commands have these variables.
    pub(crate) fn with_variables(variables: Vec<(&'static str, PathBuf)>) -> Self {
        let mut stage = Self::new();
        stage.variables = variables;
        stage
    }

    /// One without cgroups.
    pub(crate) fn walking() -> Self {
        let mut stage = Self::new();
        stage.containment = "walk";
        stage
    }

    /// One whose state is on a disk of 4 MiB; `None` when this machine does not let us have that.
    pub(crate) fn on_small_disk() -> Option<Self> {
        let mut stage = Self::new();
        let at = stage.state();
        std::fs::create_dir(&at).unwrap();
        match mount("tmpfs", &at, "tmpfs", MountFlags::empty(), Some(c"size=4m,mode=0700")) {
            Ok(()) => {
                stage.disk = Some(SmallDisk(at));
                Some(stage)
            }
            Err(error) => {
                println!("skipped: a tmpfs cannot be mounted here: {error}");
                None
            }
        }
    }

    /// Takes all the space that is left.
    pub(crate) fn fill_disk(&self) {
        let mut ballast = File::create(self.state().join("ballast")).unwrap();
        while ballast.write(&[0; 4096]).is_ok_and(|count| count > 0) {}
    }

    pub(crate) fn free_disk(&self) {
        std::fs::remove_file(self.state().join("ballast")).unwrap();
    }

    /// Makes the state read-only for whoever opens something from now on.
    pub(crate) fn make_read_only(&self) -> ReadOnly {
        let at = self.state();
        mount_bind(&at, &at).unwrap();
        mount_remount(&at, MountFlags::BIND | MountFlags::RDONLY, "").unwrap();
        ReadOnly(SmallDisk(at))
    }

    pub(crate) fn state(&self) -> PathBuf {
        self.dir.path().join("state")
    }

    /// A file for the programs of the test.
    pub(crate) fn file(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    pub(crate) fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_ptyard"));
        command.env("PTYARD_CONTAINMENT", self.containment);
        command.envs(self.variables.iter().map(|(name, value)| (*name, value)));
        command.env("PTYARD_STATE", self.state()).env("HOME", env!("CARGO_TARGET_TMPDIR"));
        command.stdin(Stdio::null()).args(args);
        command
    }

    pub(crate) fn run(&self, args: &[&str]) -> Output {
        self.command(args).output().unwrap()
    }

    /// What a command answers; `None` when it failed, as it may when its server is killed.
    pub(crate) fn try_json(&self, args: &[&str]) -> Option<Value> {
        let output = self.run(&[&["--json"], args].concat());
        let document = serde_json::from_slice(&output.stdout).ok()?;
        output.status.success().then_some(document)
    }

    /// What a command answers while nobody is killed.
    pub(crate) fn json(&self, args: &[&str]) -> Value {
        let output = self.run(&[&["--json"], args].concat());
        serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{args:?}: {error}: {output:?}"))
    }

    /// The server's process id; one is started if none runs.
    pub(crate) fn server(&self) -> u32 {
        self.json(&["list"]);
        let version = self.json(&["version"]);
        number(&version["server"]["pid"]) as u32
    }

    /// The process id of the server that runs; 0 when none answers.
    pub(crate) fn running_server(&self) -> u32 {
        self.json(&["version"])["server"]["pid"].as_u64().unwrap_or(0) as u32
    }

    /// A server in the foreground, which is killed with its guard.
    pub(crate) fn serve(&self, args: &[&str]) -> Foreground {
        let mut command = self.command(&[&["serve"], args].concat());
        Foreground(command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap())
    }

    pub(crate) fn keeper(&self) -> u32 {
        std::fs::read_to_string(self.state().join("keeper.lock")).unwrap().trim().parse().unwrap()
    }

    pub(crate) fn kill_server(&self) {
        kill(self.server());
    }

    /// Makes the next server know of no terminal, as one whose state somebody took away in part.
    pub(crate) fn forget_terminals(&self) {
        for entry in std::fs::read_dir(self.state()).unwrap().map(Result::unwrap) {
            if entry.file_name().to_string_lossy().starts_with("ptyard.db") {
                std::fs::remove_file(entry.path()).unwrap();
            }
        }
        std::fs::remove_dir_all(self.state().join("terminals")).unwrap();
    }

    /// Every byte of a program's log.
    pub(crate) fn log(&self, id: &str) -> Vec<u8> {
        let output = self.run(&["read", id, "--raw", "--since", "0"]);
        assert!(output.status.success(), "{output:?}");
        output.stdout
    }

    /// Its end, waited for.
    pub(crate) fn end(&self, id: &str) -> Value {
        let limit = LIMIT.as_secs().to_string();
        let reply = self.json(&["wait", id, "--until", "exit", "--timeout", &limit]);
        assert!(!reply["exit"].is_null(), "{id}: {reply}");
        reply["exit"].clone()
    }
}

/// Ends with this.
pub(crate) struct ReadOnly(#[expect(dead_code, reason = "kept for its end")] SmallDisk);

/// A server of a test.
pub(crate) struct Foreground(pub(crate) Child);

impl Drop for Foreground {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Kills a process and waits until it is gone.
pub(crate) fn kill(pid: u32) {
    let process = pidfd_open(Pid::from_raw(pid.cast_signed()).unwrap(), PidfdFlags::empty()).unwrap();
    pidfd_send_signal(&process, Signal::KILL).unwrap();
    let limit = Timespec::try_from(LIMIT).unwrap();
    assert_eq!(poll(&mut [PollFd::new(&process, PollFlags::IN)], Some(&limit)).unwrap(), 1, "{pid} lives on");
}

pub(crate) fn number(value: &Value) -> u64 {
    value.as_u64().unwrap_or_else(|| panic!("{value} is no number"))
}

pub(crate) fn text(value: &Value) -> String {
    value.as_str().unwrap_or_else(|| panic!("{value} is no text")).to_owned()
}

/// Lets this much time pass, which nothing depends on.
pub(crate) fn pass(time: Duration) {
    let (_never, waits) = mpsc::sync_channel::<()>(1);
    let _ = waits.recv_timeout(time);
}

/// Asks until the answer is yes.
pub(crate) fn until(what: &str, mut holds: impl FnMut() -> bool) {
    let began = Instant::now();
    while !holds() {
        assert!(began.elapsed() < LIMIT, "{what} did not come");
        pass(Duration::from_millis(2));
    }
}

/// Numbers that look random and come again with the same seed.
pub(crate) struct Dice(u64);

impl Dice {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed)
    }

    pub(crate) fn roll(&mut self, below: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % below
    }
}

/// Whether a process runs.
pub(crate) fn runs(pid: u64) -> bool {
    let stat =
        std::fs::read_to_string(Path::new("/proc").join(pid.to_string()).join("stat")).unwrap_or_default();
    stat.rsplit(')').next().and_then(|rest| rest.trim().chars().next()).is_some_and(|state| state != 'Z')
}
