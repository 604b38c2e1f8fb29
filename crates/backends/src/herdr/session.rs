//! One herdr session: its server, and the terminals that sit in it.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use ptyard_core::TerminalId;
use tokio::net::UnixStream;
use tokio::sync::Notify;

use super::cli::{Cli, HerdrError};
use super::seat::Seat;
use super::wire::id;
use super::{DEFAULT, Settings};
use crate::shared::greeting::quoted;

/// The workspace that programs get tabs in.
const WORKSPACE: &str = "ptyard";

/// How long a server that was started may take to answer.
const SERVER_LIMIT: Duration = Duration::from_secs(15);

/// How long one that was just started is left alone before it is tried again.
const BETWEEN_TRIES: Duration = Duration::from_millis(50);

/// A session.
///
/// # Invariants
/// 1. While somebody sits here, one task follows what herdr tells (`follow`).
#[derive(Debug)]
pub(super) struct Session {
    cli: Cli,
    pub(super) socket: PathBuf,
    viewer: Vec<String>,
    pub(super) first_pause: Duration,
    pub(super) longest_pause: Duration,
    seats: Mutex<Seats>,
    /// Somebody came or left, or got a pane.
    pub(super) arrivals: Notify,
    /// An Enter was written.
    pub(super) writes: Notify,
    /// Of several who start at once, one makes the workspace.
    workspace: tokio::sync::Mutex<()>,
}

#[derive(Debug, Default)]
struct Seats {
    all: BTreeMap<TerminalId, Arc<Seat>>,
    is_followed: bool,
}

impl Session {
    pub(super) fn new(settings: &Settings, name: &str) -> Self {
        Self {
            cli: Cli {
                program: settings.program.clone(),
                config: settings.config.clone(),
                session: name.to_owned(),
            },
            socket: socket(settings.config.as_deref(), name),
            viewer: settings.viewer.clone(),
            first_pause: settings.first_pause,
            longest_pause: settings.longest_pause,
            seats: Mutex::default(),
            arrivals: Notify::new(),
            writes: Notify::new(),
            workspace: tokio::sync::Mutex::default(),
        }
    }

    pub(super) fn cli(&self) -> &Cli {
        &self.cli
    }

    fn lock(&self) -> MutexGuard<'_, Seats> {
        self.seats.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Who sits here.
    pub(super) fn seats(&self) -> Vec<Arc<Seat>> {
        self.lock().all.values().cloned().collect()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.lock().all.is_empty()
    }

    /// Whether nobody sits here; then nobody follows it any more either.
    pub(super) fn is_over(&self) -> bool {
        let mut seats = self.lock();
        if seats.all.is_empty() {
            seats.is_followed = false;
        }
        !seats.is_followed
    }

    /// Somebody sits here from now on. Call it in a runtime.
    pub(super) fn take_seat(self: &Arc<Self>, seat: Arc<Seat>) {
        let mut seats = self.lock();
        seats.all.insert(seat.id, seat);
        if !std::mem::replace(&mut seats.is_followed, true) {
            tokio::spawn(Arc::clone(self).follow());
        }
        drop(seats);
        self.arrivals.notify_one();
    }

    pub(super) fn leave_seat(&self, id: TerminalId) {
        self.lock().all.remove(&id);
        self.arrivals.notify_one();
    }

    /// Sees to it that a server answers.
    pub(super) async fn ensure_server(&self) -> Result<(), HerdrError> {
        if UnixStream::connect(&self.socket).await.is_ok() {
            return Ok(());
        }
        self.cli.start_server()?;
        let give_up = tokio::time::Instant::now() + SERVER_LIMIT;
        loop {
            match UnixStream::connect(&self.socket).await {
                Ok(_) => return Ok(()),
                Err(error) if tokio::time::Instant::now() > give_up => {
                    let socket = self.socket.display();
                    return Err(HerdrError::Unreachable(format!("no server answers on {socket}: {error}")));
                }
                Err(_) => tokio::time::sleep(BETWEEN_TRIES).await,
            }
        }
    }

    /// Makes a pane and shows the terminal in it. Its label is what it is known by from then on.
    pub(super) async fn open(&self, seat: &Seat, cwd: Option<&Path>) -> Result<(), HerdrError> {
        let workspace = self.workspace().await?;
        let label = seat.id.to_string();
        let cwd = cwd.and_then(Path::to_str).filter(|cwd| !cwd.is_empty());
        let mut arguments = vec!["tab", "create", "--workspace", &workspace, "--label", &label];
        if let Some(cwd) = cwd {
            arguments.extend(["--cwd", cwd]);
        }
        let made = self.cli.make(&arguments).await?;
        // At once: the id is this pane's while no sibling closes.
        self.cli.ask(&["pane", "run", &made.pane, &self.viewer_line(seat)]).await?;
        seat.sits_in(made.pane);
        Ok(())
    }

    async fn workspace(&self) -> Result<String, HerdrError> {
        let _one_at_a_time = self.workspace.lock().await;
        let listed = self.cli.ask(&["workspace", "list"]).await?;
        let all = listed.get("workspaces").and_then(|all| all.as_array()).into_iter().flatten();
        let ours = all.filter(|one| one.get("label").and_then(|label| label.as_str()) == Some(WORKSPACE));
        if let Some(known) = ours.filter_map(|one| id(one, "workspace_id")).next() {
            return Ok(known);
        }
        let made = self.cli.make(&["workspace", "create", "--label", WORKSPACE, "--cwd", "/"]).await?;
        made.workspace.ok_or_else(|| HerdrError::NotUnderstood {
            what: "workspace create".to_owned(),
            answer: "no workspace_id".to_owned(),
        })
    }

    /// What is typed into the pane. The shell goes when the viewer has seen the end of the program, and the pane with it;
    /// when the viewer leaves for another reason, a person finds the shell and why.
    fn viewer_line(&self, seat: &Seat) -> String {
        let mut words: Vec<String> = Vec::new();
        if let Some(agent) = &seat.agent {
            words.extend(["env".to_owned(), format!("HERDR_AGENT={agent}")]);
        }
        words.extend(self.viewer.iter().map(|word| plain_or_quoted(word)));
        words.push(seat.id.to_string());
        words.join(" ") + " && exit"
    }
}

fn plain_or_quoted(word: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_./=:".contains(c);
    if !word.is_empty() && word.chars().all(is_plain) { word.to_owned() } else { quoted(word) }
}

/// Where the server of a session listens.
fn socket(config: Option<&Path>, name: &str) -> PathBuf {
    let config = config.map(Path::to_owned);
    let set = |name| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let config = config
        .or_else(|| set("XDG_CONFIG_HOME"))
        .or_else(|| set("HOME").map(|home| home.join(".config")))
        .unwrap_or_else(|| PathBuf::from("/nonexistent"));
    let root = config.join("herdr");
    if name == DEFAULT {
        root.join("herdr.sock")
    } else {
        root.join("sessions").join(name).join("herdr.sock")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sockets_are_where_herdr_has_them() {
        let config = Some(Path::new("/c"));
        assert_eq!(socket(config, "default"), Path::new("/c/herdr/herdr.sock"));
        assert_eq!(socket(config, "work"), Path::new("/c/herdr/sessions/work/herdr.sock"));
    }

    #[test]
    fn the_line_in_the_pane_is_read_by_a_shell_as_it_is_meant() {
        let viewer = vec!["/opt/it's/ptyard".to_owned(), "attach".to_owned()];
        let session = Session::new(&Settings { viewer, ..Settings::default() }, "work");
        let seat = Seat::new(TerminalId::from_bits(1), Some("/bin/claude"));
        let line = session.viewer_line(&seat);
        let id = seat.id;
        assert_eq!(line, format!(r"env HERDR_AGENT=claude '/opt/it'\''s/ptyard' attach {id} && exit"));
    }
}
