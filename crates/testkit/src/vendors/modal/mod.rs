//! A server that speaks as Modal does: the vendor's own service on one port of loopback, and the machines of its
//! sandboxes on another one, with TLS.

mod control;
mod exec;
mod faults;
mod machine;
mod serve;
mod tls;
mod tokens;

use std::collections::{BTreeMap, HashMap};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use ptyard_modal_wire::control::Sandbox as Definition;
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tonic::Status;

use self::control::Control;
pub use self::faults::{Break, Faults, Refusal};
use self::machine::{Machine, Machines};
use self::serve::serve;
use self::tokens::Tokens;
use crate::vendors::heard::Heard;
use crate::vendors::locked;

/// The only token that the server takes: its id and its secret.
pub const TOKEN: (&str, &str) = ("ak-0123456789abcdef", "as-fedcba9876543210");

/// Whether the machines speak TLS.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wire {
    /// With a certificate of an authority of their own.
    Tls,
    /// Not.
    Plain,
}

/// A server, until it is dropped; then its programs are ended.
#[derive(Debug)]
pub struct ModalServer {
    address: SocketAddr,
    vendor: Arc<Vendor>,
    tasks: [JoinHandle<()>; 2],
    /// Holds the authority's certificate.
    directory: tempfile::TempDir,
}

/// What the server knows.
#[derive(Debug)]
struct Vendor {
    router: String,
    sandboxes: Mutex<HashMap<String, Sandbox>>,
    /// Sandboxes by the key of the call that made them.
    made: Mutex<HashMap<String, String>>,
    tokens: Mutex<Tokens>,
    faults: Mutex<Faults>,
    /// Counts the times that all connections were cut.
    cuts: watch::Sender<u64>,
    /// Counts the sandboxes that have ended.
    ends: watch::Sender<u64>,
    /// Calls to machines whose token was not taken.
    refused: AtomicUsize,
    /// Paths of calls.
    heard: Heard,
}

/// A sandbox, with what runs of it; `None` when it has ended.
#[derive(Debug)]
struct Sandbox {
    name: Option<String>,
    machine: Option<Arc<Machine>>,
}

impl ModalServer {
    /// Starts one whose machines speak TLS.
    ///
    /// # Panics
    /// When there is no port for it.
    pub async fn start() -> Self {
        Self::start_with(Wire::Tls).await
    }

    /// Starts one.
    ///
    /// # Panics
    /// When there is no port for it.
    pub async fn start_with(wire: Wire) -> Self {
        let directory = tempfile::tempdir().expect("a directory");
        let listen = async || TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let (control, router) = (listen().await, listen().await);
        let address = control.local_addr().expect("an address");
        let (scheme, acceptor) = match wire {
            Wire::Tls => ("https", Some(tls::acceptor(&directory.path().join(AUTHORITY)))),
            Wire::Plain => ("http", None),
        };
        let vendor = Arc::new(Vendor {
            router: format!("{scheme}://{}", router.local_addr().expect("an address")),
            sandboxes: Mutex::default(),
            made: Mutex::default(),
            tokens: Mutex::default(),
            faults: Mutex::default(),
            cuts: watch::Sender::new(0),
            ends: watch::Sender::new(0),
            refused: AtomicUsize::new(0),
            heard: Heard::default(),
        });
        let tasks = [
            tokio::spawn(serve(control, None, Control(Arc::clone(&vendor)))),
            tokio::spawn(serve(router, acceptor, Machines(Arc::clone(&vendor)))),
        ];
        Self { address, vendor, tasks, directory }
    }

    /// The address of the vendor's own service.
    #[must_use]
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// The certificate of the machines' authority.
    #[must_use]
    pub fn authority(&self) -> PathBuf {
        self.directory.path().join(AUTHORITY)
    }

    /// The variables that send clients here.
    #[must_use]
    pub fn variables(&self) -> Vec<(&'static str, String)> {
        vec![
            ("MODAL_SERVER_URL", self.url()),
            ("MODAL_TOKEN_ID", TOKEN.0.to_owned()),
            ("MODAL_TOKEN_SECRET", TOKEN.1.to_owned()),
            ("SSL_CERT_FILE", self.authority().to_string_lossy().into_owned()),
        ]
    }

    /// Changes its faults.
    pub fn fail(&self, change: impl FnOnce(&mut Faults)) {
        change(&mut locked(&self.vendor.faults));
    }

    /// Cuts every connection.
    pub fn cut(&self) {
        self.vendor.cut();
    }

    /// Makes every token for a machine that was given out be refused from now on.
    pub fn revoke_tokens(&self) {
        self.vendor.revoke_tokens();
    }

    /// Makes a sandbox that belongs to nobody's program, and says its id.
    ///
    /// # Panics
    /// Never: there is room for it.
    #[must_use]
    pub fn sandbox(&self) -> String {
        self.vendor.make(&random("key"), &Definition::default()).expect("a sandbox")
    }

    /// Ends a sandbox with all that runs in it, as the vendor does when its time is over.
    pub fn terminate(&self, sandbox: &str) {
        let _none = self.vendor.terminate(sandbox);
    }

    /// The ids of the sandboxes that live.
    #[must_use]
    pub fn sandboxes(&self) -> Vec<String> {
        let sandboxes = locked(&self.vendor.sandboxes);
        sandboxes.iter().filter(|(_, sandbox)| sandbox.machine.is_some()).map(|(id, _)| id.clone()).collect()
    }

    /// How many processes live in all sandboxes.
    #[must_use]
    pub fn living(&self) -> usize {
        let sandboxes = locked(&self.vendor.sandboxes);
        sandboxes
            .values()
            .filter_map(|sandbox| sandbox.machine.as_ref())
            .map(|machine| machine.living())
            .sum()
    }

    /// How many calls to machines had a token that was not taken.
    #[must_use]
    pub fn refused(&self) -> usize {
        self.vendor.refused.load(Ordering::Relaxed)
    }

    /// How many calls had this in their path.
    #[must_use]
    pub fn heard(&self, what: &str) -> usize {
        self.vendor.heard.count(what)
    }
}

/// The file with the authority's certificate.
const AUTHORITY: &str = "authority.pem";

impl Drop for ModalServer {
    fn drop(&mut self) {
        for task in &self.tasks {
            task.abort();
        }
        self.vendor.cut();
        locked(&self.vendor.sandboxes).clear();
    }
}

fn random(prefix: &str) -> String {
    let mut random = [0; 11];
    getrandom::fill(&mut random).expect("random bytes");
    random.iter().fold(format!("{prefix}-"), |id, byte| id + &format!("{byte:02x}"))
}

impl Vendor {
    fn hear(&self, path: &str) {
        self.heard.note(path.to_owned());
    }

    fn cut(&self) {
        self.cuts.send_modify(|cuts| *cuts += 1);
    }

    /// Makes a sandbox; a call that is made again makes none.
    fn make(&self, key: &str, definition: &Definition) -> Result<String, Status> {
        let mut made = locked(&self.made);
        if let Some(id) = made.get(key) {
            return Ok(id.clone());
        }
        if definition.name.as_deref().is_some_and(|name| self.by_name(name).is_some()) {
            return Err(Status::already_exists("a sandbox has this name"));
        }
        let id = random("sb");
        let machine = Arc::new(Machine::new(BTreeMap::new(), definition.workdir.clone()));
        let sandbox = Sandbox { name: definition.name.clone(), machine: Some(machine) };
        locked(&self.sandboxes).insert(id.clone(), sandbox);
        made.insert(key.to_owned(), id.clone());
        Ok(id)
    }

    fn by_name(&self, name: &str) -> Option<String> {
        let sandboxes = locked(&self.sandboxes);
        let mut living = sandboxes.iter().filter(|(_, sandbox)| sandbox.machine.is_some());
        living.find(|(_, sandbox)| sandbox.name.as_deref() == Some(name)).map(|(id, _)| id.clone())
    }

    fn has_ended(&self, sandbox: &str) -> Result<bool, Status> {
        let sandboxes = locked(&self.sandboxes);
        let found = sandboxes.get(sandbox).ok_or_else(|| no_such(sandbox))?;
        Ok(found.machine.is_none())
    }

    fn terminate(&self, sandbox: &str) -> Result<(), Status> {
        let machine = {
            let mut sandboxes = locked(&self.sandboxes);
            sandboxes.get_mut(sandbox).ok_or_else(|| no_such(sandbox))?.machine.take()
        };
        if let Some(machine) = machine {
            machine.end();
            self.ends.send_modify(|ends| *ends += 1);
        }
        Ok(())
    }

    /// What runs of a sandbox.
    fn task_of(sandbox: &str) -> String {
        sandbox.replacen("sb-", "ta-", 1)
    }

    fn machine(&self, task: &str) -> Option<Arc<Machine>> {
        locked(&self.sandboxes).get(&task.replacen("ta-", "sb-", 1))?.machine.clone()
    }

    /// Waits until a task has ended.
    async fn gone(&self, task: &str) {
        let mut ends = self.ends.subscribe();
        while self.machine(task).is_some() {
            ends.changed().await.expect("the sender is there");
        }
    }

    fn issue_token(&self) -> String {
        let faults = locked(&self.faults).clone();
        locked(&self.tokens).issue(&faults)
    }

    fn takes_token(&self, bearer: &str) -> bool {
        bearer.strip_prefix("Bearer ").is_some_and(|token| locked(&self.tokens).takes(token))
    }

    fn revoke_tokens(&self) {
        locked(&self.tokens).revoke();
    }
}

fn no_such(sandbox: &str) -> Status {
    Status::not_found(format!("sandbox {sandbox} not found"))
}
