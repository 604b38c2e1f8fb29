//! An engine of the tests' own: its data, its socket, its images.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// How long an engine may take to answer for the first time.
const START_LIMIT: Duration = Duration::from_secs(60);

/// What busybox is for in the image.
const APPLETS: &[&str] = &[
    "sh", "ls", "cat", "stty", "sleep", "seq", "head", "od", "tr", "env", "setsid", "grep", "printf", "kill",
    "true", "ps", "id", "pwd", "yes",
];

/// An image with busybox in it.
pub const IMAGE: &str = "ptyard-test";

/// An engine that is stopped when this is dropped.
#[derive(Debug)]
pub struct Engine {
    process: Child,
    directory: tempfile::TempDir,
}

impl Engine {
    /// Starts one; `None`, loudly, where none can be had.
    ///
    /// # Panics
    /// When it runs and does not do what it is asked.
    #[must_use]
    pub fn start() -> Option<Self> {
        let busybox = ["/bin/busybox", "/usr/bin/busybox"].into_iter().find(|path| Path::new(path).exists());
        let Some(busybox) = busybox else { return skip("there is no busybox-static for an image") };
        let directory = tempfile::Builder::new().prefix("ptyard-docker").tempdir().expect("it can be done");
        let path = |name: &str| directory.path().join(name);
        let log = std::fs::File::create(path("log")).expect("it can be done");
        let process = Command::new("dockerd")
            .args(["--storage-driver", "vfs", "--iptables=false", "--bridge=none"])
            .arg(format!("--data-root={}", path("root").display()))
            .arg(format!("--exec-root={}", path("exec").display()))
            .arg(format!("--pidfile={}", path("pid").display()))
            .arg(format!("--host=unix://{}", path("sock").display()))
            .stdin(Stdio::null())
            .stdout(log.try_clone().expect("it can be done"))
            .stderr(log)
            .spawn();
        let process = match process {
            Ok(process) => process,
            Err(error) => return skip(&format!("dockerd cannot be started: {error}")),
        };
        let mut engine = Self { process, directory };
        let give_up = Instant::now() + START_LIMIT;
        while !engine.answers() {
            let ended = engine.process.try_wait().expect("it can be done");
            if ended.is_some() || Instant::now() > give_up {
                let log = std::fs::read_to_string(engine.path("log")).unwrap_or_default();
                let last: Vec<&str> = log.lines().rev().take(5).collect();
                return skip(&format!("dockerd does not run here ({ended:?}): {last:#?}"));
            }
            std::thread::yield_now();
        }
        engine.import(IMAGE, busybox);
        // An engine that answers need not be allowed to run anything, as inside of another's container.
        let probe = engine
            .client()
            .args(["run", "--rm", "--network=none", IMAGE, "true"])
            .output()
            .expect("it can be done");
        if !probe.status.success() {
            return skip(&format!("it runs no container: {}", String::from_utf8_lossy(&probe.stderr).trim()));
        }
        Some(engine)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    /// Where it listens.
    #[must_use]
    pub fn socket(&self) -> PathBuf {
        self.path("sock")
    }

    /// The variable that leads clients to it.
    #[must_use]
    pub fn host(&self) -> String {
        format!("unix://{}", self.socket().display())
    }

    fn client(&self) -> Command {
        let mut client = Command::new("docker");
        client.env("DOCKER_HOST", self.host()).stdin(Stdio::null());
        client
    }

    fn answers(&self) -> bool {
        self.socket().exists()
            && self.client().arg("version").output().is_ok_and(|output| output.status.success())
    }

    /// What is answered, unless it is refused: what was asked for may have gone.
    ///
    /// # Panics
    /// When there is no client.
    #[must_use]
    pub fn ask(&self, arguments: &[&str]) -> Option<String> {
        let output = self.client().args(arguments).output().expect("it can be done");
        output.status.success().then(|| String::from_utf8_lossy(&output.stdout).into_owned())
    }

    /// What the engine's own client answers.
    ///
    /// # Panics
    /// When it is refused.
    #[expect(clippy::must_use_candidate, reason = "most of what is asked is done")]
    pub fn docker(&self, arguments: &[&str]) -> String {
        let output = self.client().args(arguments).output().expect("it can be done");
        assert!(output.status.success(), "docker {arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).expect("it can be done").trim().to_owned()
    }

    /// Makes an image of busybox and its names.
    fn import(&self, image: &str, busybox: &str) {
        let tree = self.path("tree");
        std::fs::create_dir_all(tree.join("bin")).expect("it can be done");
        std::fs::create_dir_all(tree.join("tmp")).expect("it can be done");
        std::fs::copy(busybox, tree.join("bin/busybox")).expect("it can be done");
        for applet in APPLETS {
            std::os::unix::fs::symlink("busybox", tree.join("bin").join(applet)).expect("it can be done");
        }
        let tar =
            Command::new("tar").arg("-C").arg(&tree).args(["-c", "."]).output().expect("it can be done");
        let mut import = self.client();
        import.args(["import", "-", image]).stdin(Stdio::piped()).stdout(Stdio::null());
        let mut import = import.spawn().expect("it can be done");
        import.stdin.take().expect("it can be done").write_all(&tar.stdout).expect("it can be done");
        assert!(import.wait().expect("it can be done").success());
    }
}

fn skip(why: &str) -> Option<Engine> {
    eprintln!("SKIPPED: no Docker engine can be had here, so nothing was tested against one: {why}");
    None
}

impl Drop for Engine {
    fn drop(&mut self) {
        let pid = rustix::process::Pid::from_child(&self.process);
        let _gone = rustix::process::kill_process(pid, rustix::process::Signal::TERM);
        let _ended = self.process.wait();
        // What it mounted, if it did not end well.
        let _unmounted = Command::new("umount").arg("-R").arg(self.path("exec/netns")).output();
    }
}
