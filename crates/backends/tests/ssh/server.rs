//! An sshd of the tests' own: its keys, its port, its configuration, and a client configuration that knows it.

use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use ptyard_backends::ssh::{Client, Ssh};
use tokio::net::TcpStream;

/// A server that is stopped when this is dropped.
pub(crate) struct TestServer {
    process: Child,
    directory: tempfile::TempDir,
}

impl TestServer {
    /// Starts one; `None`, loudly, where none can be had.
    pub(crate) async fn start() -> Option<Self> {
        let sshd =
            ["/usr/sbin/sshd", "/usr/local/sbin/sshd"].into_iter().find(|path| Path::new(path).exists());
        let Some(sshd) = sshd else { return skip("there is no sshd") };
        // Where Debian's sshd drops its privileges; a system service makes it elsewhere.
        let _there = std::fs::create_dir_all("/run/sshd");
        let directory = tempfile::Builder::new().prefix("ptyard-sshd").tempdir().unwrap();
        let path = |name: &str| directory.path().join(name);
        for name in ["host", "user"] {
            let made = Command::new("ssh-keygen")
                .args(["-q", "-t", "ed25519", "-N", "", "-f"])
                .arg(path(name))
                .status();
            if !made.is_ok_and(|status| status.success()) {
                return skip("ssh-keygen makes no keys");
            }
        }
        std::fs::copy(path("user.pub"), path("authorized")).unwrap();
        std::fs::set_permissions(path("authorized"), PermissionsExt::from_mode(0o600)).unwrap();
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let server = format!(
            "ListenAddress 127.0.0.1:{port}\nHostKey {}\nAuthorizedKeysFile {}\nStrictModes no\nUsePAM no\n\
             PasswordAuthentication no\nPidFile none\nPermitRootLogin yes\nMaxSessions 64\nPrintMotd no\n\
             PrintLastLog no\n",
            path("host").display(),
            path("authorized").display(),
        );
        std::fs::write(path("sshd_config"), server).unwrap();
        let key = std::fs::read_to_string(path("host.pub")).unwrap();
        std::fs::write(path("known"), format!("[127.0.0.1]:{port} {key}")).unwrap();
        std::fs::write(path("unknown"), "").unwrap();
        let user = std::env::var("USER").unwrap_or_else(|_| "root".to_owned());
        let host = |name: &str, known: &Path| {
            format!(
                "Host {name}\n  HostName 127.0.0.1\n  Port {port}\n  User {user}\n  IdentityFile {}\n  \
                 IdentitiesOnly yes\n  UserKnownHostsFile {}\n  GlobalKnownHostsFile /dev/null\n",
                path("user").display(),
                known.display(),
            )
        };
        let client = host("there", &path("known")) + &host("stranger", &path("unknown"));
        std::fs::write(path("config"), client).unwrap();
        let log = std::fs::File::create(path("log")).unwrap();
        let process = Command::new(sshd)
            .args(["-D", "-e", "-f"])
            .arg(path("sshd_config"))
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(log)
            .spawn();
        let mut process = match process {
            Ok(process) => process,
            Err(error) => return skip(&format!("sshd cannot be started: {error}")),
        };
        let listening = async {
            while TcpStream::connect(("127.0.0.1", port)).await.is_err() {
                if process.try_wait().unwrap().is_some() {
                    return false;
                }
                tokio::task::yield_now().await;
            }
            true
        };
        if !ptyard_testkit::soon("sshd listens", listening).await {
            let log = std::fs::read_to_string(path("log")).unwrap_or_default();
            return skip(&format!("sshd does not run here: {log}"));
        }
        Some(Self { process, directory })
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    pub(crate) fn backend(&self) -> Ssh {
        Ssh::new(Client {
            configuration: Some(self.path("config")),
            carrier: vec![env!("CARGO_BIN_EXE_ptyard-carry").to_owned()],
            sockets: None,
        })
    }

    /// Ends the processes that serve connections, as a broken network would; the server itself goes on.
    pub(crate) fn cut(&self) {
        let listener = self.process.id();
        for pid in children(listener) {
            kill(pid);
        }
    }
}

fn children(of: u32) -> Vec<u32> {
    std::fs::read_dir("/proc")
        .unwrap()
        .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok())
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

fn skip(why: &str) -> Option<TestServer> {
    eprintln!("SKIPPED: no SSH server can be had here, so nothing was tested with one: {why}");
    None
}

impl Drop for TestServer {
    fn drop(&mut self) {
        self.cut();
        let _gone = self.process.kill();
        let _ended = self.process.wait();
    }
}
