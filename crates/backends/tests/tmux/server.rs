//! A tmux server of the tests' own.

use std::path::PathBuf;
use std::process::{Command, Stdio};

use ptyard_backends::tmux::{Server, Tmux};

/// A server on a socket of its own, without anybody's configuration. It is ended when this is dropped.
pub(crate) struct TestServer {
    directory: tempfile::TempDir,
}

impl TestServer {
    /// `None`, loudly, where there is no tmux.
    pub(crate) fn new() -> Option<Self> {
        if Command::new("tmux").arg("-V").stdout(Stdio::null()).status().is_err() {
            eprintln!("SKIPPED: there is no tmux here, so nothing was tested with one");
            return None;
        }
        Some(Self { directory: tempfile::Builder::new().prefix("ptyard-tmux").tempdir().unwrap() })
    }

    fn socket(&self) -> PathBuf {
        self.directory.path().join("s")
    }

    pub(crate) fn backend(&self) -> Tmux {
        Tmux::new(Server::At(self.socket()))
    }

    pub(crate) fn command(&self) -> Command {
        let mut command = Command::new("tmux");
        command.arg("-S").arg(self.socket()).args(["-f", "/dev/null"]).env_remove("TMUX");
        command
    }

    /// Does something as a person would, and says what tmux said.
    pub(crate) fn tmux(&self, arguments: &[&str]) -> String {
        let output = self.command().args(arguments).output().unwrap();
        assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap().trim_end().to_owned()
    }
}

impl Drop for TestServer {
    fn drop(&mut self) {
        let _gone = self.command().arg("kill-server").stderr(Stdio::null()).status();
    }
}
