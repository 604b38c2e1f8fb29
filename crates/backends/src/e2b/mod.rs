//! Programs in sandboxes of E2B.
//!
//! Two kinds of places: `e2b:TEMPLATE` makes a sandbox for the one program and removes it at the end;
//! `e2b:sandbox=ID` runs the program in a sandbox that is there.
//!
//! The way of a start: the sandbox is made or found (`api`), a look into it says whether the program and its directory
//! are there, and the daemon in it starts the program (`program`, over `connect`); then its stream is followed
//! (`watch`). What the daemon has no word for is done by scripts in the sandbox
//! ([`remote`](crate::remote)).
//!
//! # Invariants
//! 1. A call that starts a program, and one that types, is made again only when it is certain that it had no effect.
//! 2. A sandbox of ours is removed when its program's controls are dropped, started or not; and when this server is
//!    gone, its lease ends it.
//! 3. Values of variables and the directory go in fields of their own, never in arguments.
//! 4. The key is in headers only, and goes over TLS or stays on this machine.

mod api;
mod connect;
mod place;
mod program;
mod settings;
mod start;
mod typist;
mod watch;

use std::path::PathBuf;
use std::sync::Arc;

use ptyard_core::{ErrorCode, TerminalId};
use ptyard_terminal::backend::{
    Abilities, Backend, BoxFuture, Creation, Earlier, EndsWith, Grounds, KillReach, Orphan, StartError,
    StartSpec, Started,
};
use tokio::sync::OnceCell;

use self::api::Api;
use self::place::Place;
pub use self::settings::Settings;
use crate::remote::http::{CallError, client, not_set_up};
use crate::remote::ledger::Ledger;
use crate::remote::listed::{self, Entry};
use crate::shared::{start_error, undisturbed};

/// What stands before the id of a sandbox that is there.
const SANDBOX: &str = "sandbox=";

/// Runs programs in sandboxes.
#[derive(Debug, Clone)]
pub struct E2b {
    settings: Settings,
    /// Made for the first call, and so is nothing that nobody needs.
    api: Arc<OnceCell<Api>>,
    /// Of the server's state, on all that is made.
    mark: Option<Arc<str>>,
    /// Programs in somebody else's sandboxes, which bear no mark.
    ledger: Ledger,
    place: Where,
}

/// Where at the vendor.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Where {
    /// Nothing was said.
    Nowhere,
    /// In a sandbox of its own, made from this template.
    Template(String),
    /// In this sandbox.
    Sandbox(String),
}

impl Where {
    /// What was asked for.
    fn word(&self) -> &str {
        match self {
            Self::Nowhere => "e2b",
            Self::Template(template) => template,
            Self::Sandbox(sandbox) => sandbox,
        }
    }
}

impl E2b {
    /// The vendor as these settings say. Nothing is asked of it yet.
    #[must_use]
    pub fn new(settings: Settings) -> Self {
        Self { settings, api: Arc::default(), mark: None, ledger: Ledger::default(), place: Where::Nowhere }
    }

    /// The same, with a mark of a server's state (letters and digits) on all that is made.
    #[must_use]
    pub fn marked(self, mark: Option<Arc<str>>) -> Self {
        Self { mark, ..self }
    }

    /// The same, with a list in `directory` of the programs in somebody else's sandboxes.
    #[must_use]
    pub fn remembering(self, directory: PathBuf) -> Self {
        Self { ledger: Ledger::in_directory(directory), ..self }
    }

    /// Leaves nothing of what is on the list.
    async fn clear(&self, entry: Entry) -> Result<(), CallError> {
        let api = self.api().await?;
        let sandbox = api.connect(&entry.sandbox).await?;
        let daemon = api.daemon(&sandbox)?;
        let place = Place { api: api.clone(), sandbox, daemon, whose: entry.whose };
        listed::clear(&place, entry.id).await
    }

    async fn left(&self) -> Result<Vec<Creation>, StartError> {
        let this = self.clone();
        let end = move |entry| {
            let this = this.clone();
            async move { this.clear(entry).await }
        };
        let mut all = self.ledger.creations(end).await?;
        all.extend(self.sandboxes().await?);
        Ok(all)
    }

    /// The sandboxes with our mark. Who has no key has made none.
    async fn sandboxes(&self) -> Result<Vec<Creation>, StartError> {
        let (Some(mark), Ok(_key)) = (&self.mark, self.settings.key()) else { return Ok(Vec::new()) };
        let api = self.api().await?;
        let marked = api.marked(mark).await.map_err(|error| error.of_start(&self.settings.api))?;
        let creation = |(id, owner): (String, Option<TerminalId>)| {
            let (what, api) = (format!("sandbox {id}"), api.clone());
            let end = async move { api.remove(&id).await.map_err(|error| error.of_start("e2b")) };
            Creation { what, owner, end: Box::pin(end) }
        };
        Ok(marked.into_iter().map(creation).collect())
    }

    async fn api(&self) -> Result<&Api, StartError> {
        self.api.get_or_try_init(|| std::future::ready(self.open())).await
    }

    fn open(&self) -> Result<Api, StartError> {
        self.settings.check().map_err(not_set_up)?;
        let key = self.settings.key().map_err(not_set_up)?;
        let client = client(self.settings.is_loopback()).map_err(|error| error.of_start(settings::NAME))?;
        Ok(Api::new(client, self.settings.clone(), key))
    }

    /// Whether the vendor takes the key, and how many sandboxes it says there are.
    ///
    /// # Errors
    /// What is wrong, in one line.
    pub async fn version(&self) -> Result<String, StartError> {
        let count = self.api().await?.count().await.map_err(|error| error.of_start(&self.settings.api))?;
        Ok(format!("{} takes the key; sandboxes that run: {count}", self.settings.api))
    }
}

impl Backend for E2b {
    fn name(&self) -> &'static str {
        settings::NAME
    }

    fn grounds(&self) -> Grounds {
        Grounds::Elsewhere
    }

    fn abilities(&self) -> Abilities {
        let kill = match self.place {
            Where::Sandbox(_) => KillReach::Related,
            Where::Template(_) | Where::Nowhere => KillReach::Tree,
        };
        Abilities { kill, ends_with: EndsWith::Nothing, ..Abilities::EVERYTHING }
    }

    fn at(self: Arc<Self>, place: &str) -> Result<Arc<dyn Backend>, StartError> {
        let is_word = |text: &str| {
            !text.is_empty()
                && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_./:".contains(&byte))
        };
        let is_id = |text: &str| is_word(text) && !text.contains(['/', ':', '.']);
        let place = match place.strip_prefix(SANDBOX) {
            Some(id) if is_id(id) => Where::Sandbox(id.to_owned()),
            None if is_word(place) => Where::Template(place.to_owned()),
            _ => {
                return Err(start_error(
                    ErrorCode::InvalidArgument,
                    "e2b needs a template or a sandbox: e2b:TEMPLATE or e2b:sandbox=ID",
                ));
            }
        };
        Ok(Arc::new(Self { place, ..Self::clone(&self) }))
    }

    fn creations(&self) -> BoxFuture<'_, Result<Vec<Creation>, StartError>> {
        Box::pin(self.left())
    }

    fn start(&self, spec: StartSpec) -> BoxFuture<'_, Result<Started, StartError>> {
        let this = self.clone();
        Box::pin(undisturbed(async move {
            start::start(this.api().await?, (this.mark.as_deref(), &this.ledger), &this.place, spec).await
        }))
    }

    fn take_up(&self, orphan: Orphan) -> Option<Earlier> {
        start::take_up(self, &orphan)
    }
}
