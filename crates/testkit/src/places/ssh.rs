//! An sshd of the tests' own: its keys, its port, its configuration, and client configurations that know it.

use std::net::{TcpListener, TcpStream};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// How long a server may take to listen.
const START_LIMIT: Duration = Duration::from_secs(20);

/// How it is called by clients.
pub const HOST: &str = "there";

/// How it is called by clients that do not know its key.
pub const STRANGER: &str = "stranger";

/// A server that is stopped when this is dropped.
#[derive(Debug)]
pub struct SshServer {
    process: Child,
    port: u16,
    directory: tempfile::TempDir,
    only: Option<PathBuf>,
}

impl SshServer {
    /// Starts one; `None`, loudly, where none can be had.
    ///
    /// # Panics
    /// When its files cannot be written.
    #[must_use]
    pub fn start() -> Option<Self> {
        Self::start_with("")
    }

    /// Starts one whose programs find these and nothing else on their `PATH`.
    ///
    /// # Panics
    /// When its files cannot be written.
    #[must_use]
    pub fn start_with_only(programs: &[&str]) -> Option<Self> {
        let directory = tempfile::Builder::new().prefix("ptyard-only").tempdir().expect("a directory").keep();
        for program in programs {
            let found = ["/bin", "/usr/bin"].iter().map(|place| Path::new(place).join(program));
            let found = found.into_iter().find(|path| path.exists()).expect("a program");
            std::os::unix::fs::symlink(found, directory.join(program)).expect("a link");
        }
        let mut server = Self::start_with(&format!(" PATH={}", directory.display()))?;
        server.only = Some(directory);
        Some(server)
    }

    fn start_with(variables: &str) -> Option<Self> {
        let sshd =
            ["/usr/sbin/sshd", "/usr/local/sbin/sshd"].into_iter().find(|path| Path::new(path).exists());
        let Some(sshd) = sshd else { return skip("there is no sshd") };
        // Where Debian's sshd drops its privileges; a system service makes it elsewhere.
        let _there = std::fs::create_dir_all("/run/sshd");
        let directory = tempfile::Builder::new().prefix("ptyard-s").tempdir().expect("a directory");
        let path = |name: &str| directory.path().join(name);
        let write = |name: &str, text: String| std::fs::write(path(name), text).expect("a file");
        for name in ["host", "user"] {
            let mut make = Command::new("ssh-keygen");
            make.args(["-q", "-t", "ed25519", "-N", "", "-f"]).arg(path(name));
            if !make.status().is_ok_and(|status| status.success()) {
                return skip("ssh-keygen makes no keys");
            }
        }
        std::fs::create_dir(path("home")).expect("a directory");
        std::fs::copy(path("user.pub"), path("authorized")).expect("a file");
        std::fs::set_permissions(path("authorized"), PermissionsExt::from_mode(0o600)).expect("a file");
        let port = TcpListener::bind("127.0.0.1:0").and_then(|one| one.local_addr()).expect("a port").port();
        let server = format!(
            "ListenAddress 127.0.0.1:{port}\nHostKey {}\nAuthorizedKeysFile {}\nStrictModes no\nUsePAM no\n\
             PasswordAuthentication no\nPidFile none\nPermitRootLogin yes\nMaxSessions 64\nMaxStartups 100\n\
             PrintMotd no\nPrintLastLog no\nSetEnv HOME={}{variables}\n",
            path("host").display(),
            path("authorized").display(),
            // Start-up files of a person may print, and take their time.
            path("home").display(),
        );
        write("sshd_config", server);
        let key = std::fs::read_to_string(path("host.pub")).expect("a key");
        write("known", format!("{HOST} {key}"));
        write("unknown", String::new());
        let log = std::fs::File::create(path("log")).expect("a file");
        let mut serve = Command::new(sshd);
        serve.args(["-D", "-e", "-f"]).arg(path("sshd_config"));
        serve.stdin(Stdio::null()).stdout(Stdio::null()).stderr(log);
        let process = match serve.spawn() {
            Ok(process) => process,
            Err(error) => return skip(&format!("sshd cannot be started: {error}")),
        };
        let mut server = Self { process, port, directory, only: None };
        let give_up = Instant::now() + START_LIMIT;
        while TcpStream::connect(("127.0.0.1", port)).is_err() {
            let ended = server.process.try_wait();
            if Instant::now() > give_up || !matches!(ended, Ok(None)) {
                return skip(&format!("sshd does not run here: {}", server.log()));
            }
            std::thread::yield_now();
        }
        server.write_configuration("config", port);
        let real = Command::new("sh").args(["-c", "command -v ssh"]).output().expect("a shell").stdout;
        let real = String::from_utf8_lossy(&real).trim().to_owned();
        std::fs::create_dir(server.path("bin")).expect("a directory");
        let wrapper = format!("#!/bin/sh\nexec {real} -F {} \"$@\"\n", server.configuration().display());
        std::fs::write(server.path("bin/ssh"), wrapper).expect("a file");
        std::fs::set_permissions(server.path("bin/ssh"), PermissionsExt::from_mode(0o755)).expect("a file");
        Some(server)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    fn write_configuration(&self, name: &str, port: u16) {
        let user = std::env::var("USER").unwrap_or_else(|_| "root".to_owned());
        let host = |name: &str, known: &str| {
            format!(
                "Host {name}\n  HostName 127.0.0.1\n  HostKeyAlias {HOST}\n  Port {port}\n  User {user}\n  \
                 IdentityFile {}\n  IdentitiesOnly yes\n  UserKnownHostsFile {}\n  GlobalKnownHostsFile /dev/null\n",
                self.path("user").display(),
                self.path(known).display(),
            )
        };
        let text = host(HOST, "known") + &host(STRANGER, "unknown");
        std::fs::write(self.path(name), text).expect("a file");
    }

    /// Where it listens.
    #[must_use]
    pub const fn port(&self) -> u16 {
        self.port
    }

    /// A client's configuration.
    #[must_use]
    pub fn configuration(&self) -> PathBuf {
        self.path("config")
    }

    /// A client's configuration that leads to it through this port.
    #[must_use]
    pub fn configuration_through(&self, port: u16) -> PathBuf {
        let name = format!("config-{port}");
        self.write_configuration(&name, port);
        self.path(&name)
    }

    /// A directory with an `ssh` that knows it, for a `PATH`.
    #[must_use]
    pub fn bin(&self) -> PathBuf {
        self.path("bin")
    }

    /// The home of its programs, which is nobody else's.
    #[must_use]
    pub fn home(&self) -> PathBuf {
        self.path("home")
    }

    /// What it said.
    #[must_use]
    pub fn log(&self) -> String {
        std::fs::read_to_string(self.path("log")).unwrap_or_default()
    }

    /// Ends the processes that serve connections, as a broken network would; the server itself goes on.
    pub fn cut(&self) {
        for pid in children(self.process.id()) {
            kill(pid);
        }
    }
}

fn children(of: u32) -> Vec<u32> {
    let all = std::fs::read_dir("/proc").into_iter().flatten();
    all.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok())
        .filter(|pid| {
            std::fs::read_to_string(format!("/proc/{pid}/stat")).is_ok_and(|stat| {
                let parent = stat.rsplit(')').next().and_then(|rest| rest.split_whitespace().nth(1));
                parent == Some(&of.to_string())
            })
        })
        .collect()
}

fn kill(pid: u32) {
    if let Some(pid) = rustix::process::Pid::from_raw(pid.cast_signed()) {
        let _gone = rustix::process::kill_process(pid, rustix::process::Signal::KILL);
    }
}

fn skip(why: &str) -> Option<SshServer> {
    eprintln!("SKIPPED: no SSH server can be had here, so nothing was tested with one: {why}");
    None
}

impl Drop for SshServer {
    fn drop(&mut self) {
        self.cut();
        let _gone = self.process.kill();
        let _ended = self.process.wait();
        if let Some(only) = &self.only {
            let _gone = std::fs::remove_dir_all(only);
        }
    }
}
