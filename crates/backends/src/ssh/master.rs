//! The connection to a host that all its programs share.

use std::collections::BTreeMap;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use ptyard_core::ErrorCode;
use ptyard_terminal::backend::StartError;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::process::{Child, Command};
use tokio::sync::{Mutex, OnceCell};

use super::{ByName, Client, Patience, host_of};
use crate::shared::{clients, look_after, start_error};

/// How long a connection may take, jumps and logins included.
const CONNECT_LIMIT: Duration = Duration::from_secs(60);

/// How long a master may take to say that it is there.
const CHECK_LIMIT: Duration = Duration::from_secs(5);

/// Most that is read of what a client says about a failure.
const MOST_SAID: u64 = 8 << 10;

/// Options of every client. Nobody can answer a question, and no key sequence ends the connection.
const OPTIONS: &[&str] = &[
    "BatchMode=yes",
    "EscapeChar=none",
    "LogLevel=ERROR",
    "RemoteCommand=none",
    "ForwardX11=no",
    "ServerAliveInterval=15",
    "ServerAliveCountMax=3",
];

/// All hosts.
pub(super) struct Hosts {
    client: Client,
    /// The sockets of the masters: short names, since a socket's path has room for about a hundred characters.
    directory: Directory,
    by_name: ByName,
}

type Directory = Arc<OnceCell<Sockets>>;

/// Longest path of a directory of sockets. A socket's own has 108 bytes; the client takes 17 more while it makes one.
const SOCKETS_BYTES: usize = 70;

/// Where sockets are.
enum Sockets {
    /// Where the next server looks for them.
    Known(PathBuf),
    /// Where nobody does.
    Own(tempfile::TempDir),
}

impl Sockets {
    fn open(client: &Client) -> std::io::Result<Self> {
        if let Some(known) = client.sockets.as_ref().filter(|path| path.as_os_str().len() <= SOCKETS_BYTES) {
            std::fs::DirBuilder::new().recursive(true).mode(0o700).create(known)?;
            return Ok(Self::Known(known.clone()));
        }
        tempfile::Builder::new().prefix("ptyard-ssh-").tempdir().map(Self::Own)
    }

    fn path(&self) -> &Path {
        match self {
            Self::Known(path) => path,
            Self::Own(directory) => directory.path(),
        }
    }
}

/// The same name for the same host and client, and hardly for any other (FNV-1a): whether it is the right one, its
/// master says when it is asked.
fn name_of(base: &[String], host: &str) -> String {
    let bytes = base.iter().map(String::as_bytes).chain([host.as_bytes()]).flatten();
    let hash = bytes.fold(0xcbf2_9ce4_8422_2325_u64, |hash, &byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    format!("{hash:016x}")
}

impl Hosts {
    pub(super) fn new(client: Client) -> Self {
        Self { client, directory: Arc::default(), by_name: ByName::default() }
    }

    pub(super) fn host(&self, name: &str) -> Arc<Host> {
        host_of(&self.by_name, name, || Host {
            name: name.to_owned(),
            client: self.client.clone(),
            directory: Arc::clone(&self.directory),
            master: Mutex::default(),
            is_bare: OnceLock::new(),
        })
    }

    pub(super) async fn version(&self) -> Result<String, StartError> {
        let mut command = clients::command("ssh");
        command.arg("-V");
        match clients::run(command, Duration::from_secs(5)).await {
            Ok(output) => Ok(String::from_utf8_lossy(&output.stderr).trim().to_owned()),
            Err(error) => Err(start_error(ErrorCode::BackendUnreachable, format!("ssh: {error}"))),
        }
    }
}

/// A host.
pub(super) struct Host {
    name: String,
    client: Client,
    directory: Directory,
    master: Mutex<Option<Master>>,
    /// Known to have nothing that carries programs.
    is_bare: OnceLock<()>,
}

struct Master {
    process: Process,
    connection: Connection,
}

/// Who runs it.
enum Process {
    Ours(Child),
    /// An earlier server's, which nobody waits for.
    Found,
}

impl Drop for Master {
    fn drop(&mut self) {
        if let Process::Found = self.process {
            // Ours is ended with its guard.
            let _gone = self.connection.ask("exit").stdout(Stdio::null()).stderr(Stdio::null()).spawn();
        }
    }
}

/// A connection that stands, for clients that use it.
#[derive(Debug, Clone)]
pub(super) struct Connection {
    base: Vec<String>,
    socket: PathBuf,
    host: String,
}

impl Connection {
    /// The command of a client that opens a channel of its own connection when this one does not stand any more.
    pub(super) fn lasting_client(&self) -> Vec<String> {
        let mut argv = self.client(false);
        argv.splice(1..1, ["-o".to_owned(), "ConnectTimeout=20".to_owned()]);
        argv
    }

    /// The command of a client that opens a channel; the far command line is to follow.
    pub(super) fn client(&self, tty: bool) -> Vec<String> {
        let mut argv = self.base.clone();
        argv.extend(["-S".to_owned(), self.socket.display().to_string()]);
        argv.extend(["-o".to_owned(), "ControlMaster=no".to_owned()]);
        argv.push(if tty { "-tt" } else { "-T" }.to_owned());
        argv.extend(["--".to_owned(), self.host.clone()]);
        argv
    }

    /// A client that asks the master something.
    fn ask(&self, what: &str) -> std::process::Command {
        let mut command = clients::command(&self.base[0]).into_std();
        command.args(&self.base[1..]).arg("-S").arg(&self.socket);
        command.args(["-O", what, "--", &self.host]);
        command
    }

    /// Whether there is a master that answers.
    async fn is_there(&self) -> bool {
        let asked = clients::run(self.ask("check").into(), CHECK_LIMIT).await;
        asked.is_ok_and(|output| output.status.success())
    }

    /// The environment of a client.
    pub(super) fn environment(&self) -> BTreeMap<String, String> {
        let command = clients::command("ssh");
        let variables = command.as_std().get_envs();
        variables
            .filter_map(|(name, value)| Some((name.to_str()?.to_owned(), value?.to_str()?.to_owned())))
            .collect()
    }
}

impl Host {
    pub(super) fn name(&self) -> &str {
        &self.name
    }

    /// How long a connection that broke is tried to be had again.
    pub(super) fn patience(&self) -> Patience {
        self.client.patience
    }

    pub(super) fn is_bare(&self) -> bool {
        self.is_bare.get().is_some()
    }

    /// Nothing there carries programs: they end with their connection.
    pub(super) fn found_bare(&self) {
        if self.is_bare.set(()).is_ok() {
            tracing::info!(host = self.name, "no python3 is found there: programs end with their connection");
        }
    }

    /// The command of the process that carries the streams of a client.
    pub(super) fn carrier(&self) -> &[String] {
        &self.client.carrier
    }

    /// The connection, which is made if there is none or if it broke.
    pub(super) async fn connection(&self) -> Result<Connection, StartError> {
        let mut current = self.master.lock().await;
        if let Some(master) = current.as_mut() {
            let is_there = match &mut master.process {
                Process::Ours(process) => matches!(process.try_wait(), Ok(None)),
                Process::Found => master.connection.is_there().await,
            };
            if is_there {
                return Ok(master.connection.clone());
            }
        }
        *current = None;
        let master = self.connect().await?;
        let connection = master.connection.clone();
        *current = Some(master);
        Ok(connection)
    }

    async fn connect(&self) -> Result<Master, StartError> {
        let refused = |why: String| {
            let code = match &why {
                why if why.contains("Could not resolve") => ErrorCode::PlaceNotFound,
                _ => ErrorCode::BackendUnreachable,
            };
            start_error(code, format!("ssh {}: {why}", self.name))
        };
        let mut base = vec!["ssh".to_owned()];
        if let Some(configuration) = &self.client.configuration {
            base.extend(["-F".to_owned(), configuration.display().to_string()]);
        }
        for option in OPTIONS {
            base.extend(["-o".to_owned(), (*option).to_owned()]);
        }
        let directory = self.directory.get_or_try_init(async || Sockets::open(&self.client)).await;
        let directory = directory.map_err(|error| refused(error.to_string()))?.path();
        let connection = Connection {
            socket: directory.join(name_of(&base, &self.name)),
            base: base.clone(),
            host: self.name.clone(),
        };
        let socket = connection.socket.clone();
        if socket.exists() {
            if connection.is_there().await {
                return Ok(Master { process: Process::Found, connection });
            }
            // Of a master that was killed.
            let _none = std::fs::remove_file(&socket);
        }
        let mut command = clients::command(&base[0]);
        command
            .args(&base[1..])
            .args(["-M", "-N", "-T", "-o", "ControlPersist=no", "-o", "ConnectTimeout=20"])
            // Said when the connection stands.
            .args(["-o", "PermitLocalCommand=yes", "-o", "LocalCommand=echo ready", "-S"])
            .arg(&socket)
            .args(["--", &self.name])
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let mut process = command.spawn().map_err(|error| refused(error.to_string()))?;
        let (Some(mut output), Some(errors)) = (process.stdout.take(), process.stderr.take()) else {
            return Err(refused("the client has no output".to_owned()));
        };
        let mut first = [0];
        let ready = tokio::time::timeout(CONNECT_LIMIT, output.read(&mut first)).await;
        match ready {
            Ok(Ok(1)) => {}
            Ok(_) => {
                let mut said = String::new();
                let _broken = errors.take(MOST_SAID).read_to_string(&mut said).await;
                return Err(refused(said.trim().to_owned()));
            }
            Err(_) => return Err(refused(format!("no connection within {CONNECT_LIMIT:?}"))),
        }
        // Both pipes are read to their ends, so that the client never stops at a full one.
        let (host, patience) = (self.name.clone(), self.patience().0);
        tokio::spawn(async move {
            let (mut output, mut errors) = (output, errors);
            let mut nowhere = tokio::io::sink();
            let mut elsewhere = tokio::io::sink();
            let _ended = tokio::join!(
                tokio::io::copy(&mut output, &mut nowhere),
                tokio::io::copy(&mut errors, &mut elsewhere)
            );
            tracing::warn!(
                host,
                ?patience,
                "the connection broke; programs that are carried there are come back to"
            );
        });
        Ok(Master { process: Process::Ours(process), connection })
    }

    /// Runs the script that looks after processes there. It goes as input, so that no shell has to quote it.
    pub(super) async fn look_after(
        &self,
        mark: &str,
        arguments: &[&str],
        limit: Duration,
    ) -> Result<String, StartError> {
        let broken = |error: &dyn std::fmt::Display| {
            start_error(ErrorCode::BackendUnreachable, format!("ssh {}: {error}", self.name))
        };
        let connection = self.connection().await?;
        let argv = connection.client(false);
        let mut command: Command = clients::command(&argv[0]);
        // Marks and arguments are words of letters, digits and `=:`.
        command.args(&argv[1..]).arg(format!("exec sh -s -- {mark} {}", arguments.join(" ")));
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let looking = async {
            let mut client = command.spawn()?;
            if let Some(mut input) = client.stdin.take() {
                input.write_all(look_after::SCRIPT.as_bytes()).await?;
            }
            client.wait_with_output().await
        };
        match tokio::time::timeout(limit, looking).await {
            Ok(Ok(output)) => Ok(String::from_utf8_lossy(&output.stdout).into_owned()),
            Ok(Err(error)) => Err(broken(&error)),
            Err(_) => Err(broken(&"no answer in time")),
        }
    }
}
