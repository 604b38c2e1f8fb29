//! A real server: the `ptyard` program, a process of its own, on a state directory that goes away with it.

use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use ptyard::client::Client;
use ptyard_server::api::{ExecRequest, WindowReply, WindowRequest};
use rustix::event::{PollFd, PollFlags};
use rustix::process::{Pid, PidfdFlags, pidfd_open};
use tempfile::TempDir;
use tokio::process::Command;

use crate::Outcome;
use crate::procfs::Memory;

/// A server in the background.
pub(crate) struct Server {
    /// `None` when it is ended, or somebody else's.
    state: Option<TempDir>,
    pub(crate) client: Client,
}

impl Drop for Server {
    /// One that an error left behind ends with its programs.
    fn drop(&mut self) {
        let Some(state) = &self.state else { return };
        let program = format!("/proc/{}/exe", self.pid());
        let stop = std::process::Command::new(program).arg("--state").arg(state.path()).arg("stop").status();
        if !stop.is_ok_and(|status| status.success()) {
            eprintln!("a server is left behind: process {}", self.pid());
        }
    }
}

impl Server {
    /// Starts one, the way the first command of a user does, and connects.
    pub(crate) async fn start(ptyard: &Path) -> Outcome<Self> {
        Self::start_with(ptyard, &[]).await
    }

    /// The same with these variables.
    pub(crate) async fn start_with(ptyard: &Path, variables: &[(&str, String)]) -> Outcome<Self> {
        let state = tempfile::tempdir()?;
        run_with(ptyard, state.path(), &["list"], variables).await?;
        Self::of(state).await
    }

    /// The server that runs in `state`.
    pub(crate) async fn of(state: TempDir) -> Outcome<Self> {
        let client = Client::connect(&socket(state.path())).await?;
        Ok(Self { state: Some(state), client })
    }

    pub(crate) fn pid(&self) -> u32 {
        self.client.version().pid
    }

    /// Its state directory.
    pub(crate) fn state(&self) -> &Path {
        self.state.as_ref().expect("invariant: it is ours until it is dropped").path()
    }

    /// The server that took the place of this one, which is gone.
    pub(crate) async fn again(mut self) -> Outcome<Self> {
        Self::of(self.state.take().expect("invariant: it is ours until it is dropped")).await
    }

    pub(crate) fn memory(&self) -> Outcome<Memory> {
        Memory::of(self.pid())
    }

    /// Another connection.
    pub(crate) async fn connect(&self) -> Outcome<Client> {
        Ok(Client::connect(&socket(self.state())).await?)
    }

    /// Ends the server and its programs, and waits until its process is gone.
    pub(crate) async fn stop(mut self) -> Outcome<()> {
        let pid =
            i32::try_from(self.pid()).ok().and_then(Pid::from_raw).ok_or("the server has no process id")?;
        let process = pidfd_open(pid, PidfdFlags::empty())?;
        self.client.stop().await?;
        let _gone_with_it = self.state.take();
        tokio::task::spawn_blocking(move || ended(&process)).await?
    }
}

/// Blocks until a process has ended.
pub(crate) fn ended(process: &OwnedFd) -> Outcome<()> {
    // Then its descriptor is readable.
    rustix::event::poll(&mut [PollFd::new(process, PollFlags::IN)], None)?;
    Ok(())
}

fn socket(state: &Path) -> PathBuf {
    state.join("ptyard.sock")
}

/// Runs a command of `ptyard` to its end.
pub(crate) async fn run(ptyard: &Path, state: &Path, args: &[&str]) -> Outcome<Vec<u8>> {
    run_with(ptyard, state, args, &[]).await
}

async fn run_with(
    ptyard: &Path,
    state: &Path,
    args: &[&str],
    variables: &[(&str, String)],
) -> Outcome<Vec<u8>> {
    let output = Command::new(ptyard)
        .arg("--state")
        .arg(state)
        .args(args)
        .envs(variables.iter().map(|(name, value)| (name, value)))
        .stdin(Stdio::null())
        .stderr(Stdio::inherit())
        .output()
        .await?;
    if !output.status.success() {
        return Err(format!("ptyard {args:?}: {}", output.status).into());
    }
    Ok(output.stdout)
}

/// A program on a tty.
pub(crate) fn on_a_tty(argv: &[&str], window: WindowRequest) -> ExecRequest {
    ExecRequest { tty: true, ..on_a_pipe(argv, window) }
}

/// A program that prints into a pipe.
pub(crate) fn on_a_pipe(argv: &[&str], window: WindowRequest) -> ExecRequest {
    ExecRequest { argv: argv.iter().map(ToString::to_string).collect(), window, ..ExecRequest::default() }
}

/// A window that ends at `until`, shows at most 50 tokens, and waits at most `longest`.
pub(crate) fn until(until: &str, longest: Duration) -> WindowRequest {
    WindowRequest {
        yield_ms: Some(i64::try_from(longest.as_millis()).unwrap_or(i64::MAX)),
        max_tokens: Some(50),
        until: vec![until.to_owned()],
    }
}

/// The id of a terminal that runs.
pub(crate) fn id(window: &WindowReply) -> String {
    window.id.clone()
}
