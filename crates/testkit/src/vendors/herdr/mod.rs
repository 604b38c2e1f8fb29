//! A server that speaks as herdr does, as far as its wire is known: newline-delimited JSON on a Unix socket, one
//! subscription on a connection, a history of closes that every subscriber is told, ids of panes that are their places
//! and so move when a sibling closes. In each pane runs a real shell on a real pseudo terminal.
//!
//! Its command line is [`program`], a binary of its own that speaks to it over the same socket. What passes there between
//! the two is this stand-in's own: of herdr only the command line's arguments and answers are known.

mod commands;
mod state;

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::net::{UnixListener, UnixStream};
use tokio::sync::{Notify, broadcast, watch};
use tokio::task::JoinHandle;

use self::state::State;
use crate::agent::built;

/// The name of the binary.
const NAME: &str = "ptyard-stand-in-herdr";

/// Lines that wait for a subscriber; one that is slower misses some.
const LINES: usize = 4096;

/// The path of the stand-in for `herdr`.
///
/// # Panics
/// When it cannot be built.
#[must_use]
pub fn program() -> PathBuf {
    built(NAME, &["--features", "vendors"])
}

/// Where the server of a session listens, under what is `$XDG_CONFIG_HOME` to it.
#[must_use]
pub fn socket(config: &Path, session: &str) -> PathBuf {
    let root = config.join("herdr");
    if session == "default" {
        root.join("herdr.sock")
    } else {
        root.join("sessions").join(session).join("herdr.sock")
    }
}

/// A server, with what a test does to it. Its programs end when it is dropped.
pub struct HerdrServer {
    shared: Arc<Shared>,
    socket: PathBuf,
    listening: Mutex<Option<JoinHandle<()>>>,
}

struct Shared {
    state: Mutex<State>,
    lines: broadcast::Sender<Vec<u8>>,
    /// Connections are dropped whenever this changes.
    cuts: watch::Sender<u64>,
    /// How many subscribed so far.
    subscribed: watch::Sender<u64>,
    /// How many snapshots were asked for so far, and how many may be answered.
    snapshots: watch::Sender<u64>,
    held: watch::Sender<bool>,
    /// How many snapshots were made so far, and whether they are on their way for long.
    made: watch::Sender<u64>,
    late: watch::Sender<bool>,
    /// What a pane printed, or that one closed.
    changed: Notify,
}

impl HerdrServer {
    /// Listens at the socket of a session. Call it in a runtime.
    ///
    /// # Panics
    /// When it cannot.
    #[must_use]
    pub fn start(config: &Path, session: &str) -> Self {
        let socket = socket(config, session);
        std::fs::create_dir_all(socket.parent().expect("a directory")).expect("the socket's directory");
        let shared = Arc::new(Shared {
            state: Mutex::new(State::default()),
            lines: broadcast::Sender::new(LINES),
            cuts: watch::Sender::new(0),
            subscribed: watch::Sender::new(0),
            snapshots: watch::Sender::new(0),
            held: watch::Sender::new(false),
            made: watch::Sender::new(0),
            late: watch::Sender::new(false),
            changed: Notify::new(),
        });
        let server = Self { shared, socket, listening: Mutex::default() };
        server.listen();
        server
    }

    fn listen(&self) {
        let _none = std::fs::remove_file(&self.socket);
        let listener = UnixListener::bind(&self.socket).expect("a socket can be bound");
        let shared = Arc::clone(&self.shared);
        let listening = tokio::spawn(async move {
            while let Ok((connection, _)) = listener.accept().await {
                tokio::spawn(serve(Arc::clone(&shared), connection));
            }
        });
        *self.listening.lock().unwrap_or_else(PoisonError::into_inner) = Some(listening);
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.shared.state()
    }

    /// Breaks all connections; the panes go on.
    pub fn cut(&self) {
        self.shared.cuts.send_modify(|cuts| *cuts += 1);
    }

    /// Ends the server, its panes with it. Nobody listens any more.
    pub fn stop(&self) {
        if let Some(listening) = self.listening.lock().unwrap_or_else(PoisonError::into_inner).take() {
            listening.abort();
        }
        let _gone = std::fs::remove_file(&self.socket);
        self.cut();
        *self.state() = State::default();
    }

    /// Another server in the place of one that was stopped: it knows nothing, and gives ids anew.
    pub fn start_again(&self) {
        self.listen();
    }

    /// Tells subscribers this, whatever it is.
    pub fn tell(&self, bytes: &[u8]) {
        let _nobody = self.shared.lines.send(bytes.to_vec());
    }

    /// What herdr sees the agent in the tab of this label do from now on.
    ///
    /// # Panics
    /// When there is no such tab.
    pub fn sees(&self, label: &str, status: &str) {
        let line = self.state().sees(label, status).unwrap_or_else(|| panic!("no tab {label}"));
        self.tell(&line);
    }

    /// Events name panes by their ids alone from now on.
    pub fn tells_ids_only(&self) {
        self.state().ids_only = true;
    }

    /// A person closes the tab of this label.
    ///
    /// # Panics
    /// When there is no such tab.
    pub fn close(&self, label: &str) {
        assert!(self.shared.close(|tab| tab.label == label), "no tab {label}");
    }

    /// A person makes a workspace.
    ///
    /// # Panics
    /// When it cannot be made.
    pub fn person_opens_workspace(&self, label: &str) {
        self.shared.make_workspace(&json!({ "label": label })).expect("a workspace");
    }

    /// A person makes a tab in the first workspace.
    ///
    /// # Panics
    /// When it cannot be made.
    pub fn person_opens(&self, label: &str) {
        let first = self.state().workspaces[0].id.clone();
        self.shared.make_tab(&json!({ "workspace": first, "label": label })).expect("a tab");
    }

    /// Snapshots are answered with this text from now on; `None` is with what there is.
    pub fn answers_snapshots_with(&self, json: Option<&str>) {
        self.state().odd_snapshot = json.map(|json| serde_json::from_str(json).expect("JSON"));
    }

    /// The labels of all workspaces.
    #[must_use]
    pub fn workspaces(&self) -> Vec<String> {
        self.state().workspaces.iter().map(|one| one.label.clone()).collect()
    }

    /// The labels of all tabs, in their order.
    #[must_use]
    pub fn tabs(&self) -> Vec<String> {
        self.state().labels()
    }

    /// The id that the pane of this tab has now.
    #[must_use]
    pub fn pane_id(&self, label: &str) -> Option<String> {
        self.state().pane_id(label)
    }

    /// What the pane of this tab has printed.
    #[must_use]
    pub fn printed(&self, label: &str) -> String {
        String::from_utf8_lossy(&self.state().printed(label)).into_owned()
    }

    /// A person types into the pane of this tab.
    ///
    /// # Panics
    /// When there is no such tab.
    pub async fn person_types(&self, label: &str, text: &str) {
        let program = self.state().program(label).unwrap_or_else(|| panic!("no tab {label}"));
        program.write(text.as_bytes()).await.expect("the pane takes keys");
    }

    /// Waits until this is so; it is looked at whenever a pane prints, opens or closes.
    pub async fn until(&self, is_so: impl Fn(&Self) -> bool) {
        loop {
            let changed = self.shared.changed.notified();
            if is_so(self) {
                return;
            }
            changed.await;
        }
    }

    /// How many subscriptions were made in all.
    #[must_use]
    pub fn subscriptions(&self) -> u64 {
        *self.shared.subscribed.borrow()
    }

    /// Waits until so many subscriptions were made in all.
    pub async fn subscribed(&self, times: u64) {
        let mut subscribed = self.shared.subscribed.subscribe();
        let _there = subscribed.wait_for(|count| *count >= times).await;
    }

    /// How many snapshots were asked for so far.
    #[must_use]
    pub fn snapshots(&self) -> u64 {
        *self.shared.snapshots.borrow()
    }

    /// Waits until so many snapshots were asked for in all.
    pub async fn asked(&self, times: u64) {
        let mut snapshots = self.shared.snapshots.subscribe();
        let _there = snapshots.wait_for(|count| *count >= times).await;
    }

    /// Whether snapshots that were made are on their way until this is taken back.
    pub fn delay_snapshots(&self, late: bool) {
        self.shared.late.send_replace(late);
    }

    /// Waits until so many snapshots were made in all.
    pub async fn made(&self, times: u64) {
        let mut made = self.shared.made.subscribe();
        let _there = made.wait_for(|count| *count >= times).await;
    }

    /// Whether snapshots are answered, or wait.
    pub fn hold_snapshots(&self, held: bool) {
        self.shared.held.send_replace(held);
    }
}

impl Drop for HerdrServer {
    fn drop(&mut self) {
        self.stop();
    }
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Serves one connection: a command, or a subscription. A second subscription resets it.
async fn serve(shared: Arc<Shared>, connection: UnixStream) {
    let mut cuts = shared.cuts.subscribe();
    cuts.mark_unchanged();
    tokio::select! {
        _ended = talk(&shared, connection) => {}
        _cut = cuts.changed() => {}
    }
}

async fn talk(shared: &Arc<Shared>, connection: UnixStream) -> std::io::Result<()> {
    let (read, mut write) = connection.into_split();
    let mut requests = BufReader::new(read).lines();
    let Some(line) = requests.next_line().await? else { return Ok(()) };
    let request: Value = serde_json::from_str(&line).unwrap_or_default();
    let (id, method) = (&request["id"], request["method"].as_str().unwrap_or_default());
    if method != "events.subscribe" {
        let answer = match shared.command(method, &request["params"]).await {
            Ok(result) => json!({ "id": id, "result": result }),
            Err(why) => json!({ "id": id, "error": { "message": why } }),
        };
        return write.write_all(format!("{answer}\n").as_bytes()).await;
    }
    let mut lines = shared.lines.subscribe();
    let history = shared.state().history();
    write.write_all(format!("{}\n", json!({ "id": id, "result": {} })).as_bytes()).await?;
    write.write_all(&history).await?;
    shared.subscribed.send_modify(|count| *count += 1);
    loop {
        tokio::select! {
            line = lines.recv() => match line {
                Ok(line) => write.write_all(&line).await?,
                Err(broadcast::error::RecvError::Lagged(_)) => {}
                Err(broadcast::error::RecvError::Closed) => return Ok(()),
            },
            _another = requests.next_line() => return Ok(()),
        }
    }
}
