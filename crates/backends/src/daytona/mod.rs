//! Programs in sandboxes of Daytona.
//!
//! Places: `daytona` and `daytona:SNAPSHOT` make a sandbox for the one program and remove it at the end;
//! `daytona:sandbox=ID` runs the program in a sandbox that is there.
//!
//! The way of a start: the sandbox is made or found (`api`), and its daemon makes a terminal and connects us to it in one
//! call (`toolbox`). A terminal of this vendor is an interactive login shell. So the shell is told to become a greeter of
//! ours, which gets the program, its variables and its directory as input (`start`); the program's end comes back in a
//! control sequence behind its last byte. Then the terminal is followed (`follow`), and joined again when the connection
//! breaks. For a program on pipes the terminal is made transparent and carries the pipes: the vendor's own way of running
//! commands without a terminal knows lines only.
//!
//! # Invariants
//! 1. A terminal is made once for one program, and a call that makes one is repeated only when it had no effect. What
//!    was typed is never repeated.
//! 2. A sandbox of ours is removed when its program's controls are dropped, started or not; and when this server is
//!    gone, the vendor removes it.
//! 3. Values of variables and the directory go in as input, and never stand in arguments.
//! 4. The key is in headers only, and goes over TLS or stays on this machine.

mod api;
mod follow;
mod place;
mod settings;
mod start;
mod toolbox;

use std::path::PathBuf;
use std::sync::Arc;

use ptyard_core::{ErrorCode, TerminalId};
use ptyard_terminal::backend::{
    Abilities, Backend, BoxFuture, CodeKnown, Creation, Earlier, EndsWith, Grounds, KillReach, Orphan,
    StartError, StartSpec, Started,
};
use tokio::sync::OnceCell;

use self::api::Api;
use self::place::Place;
pub use self::settings::Settings;
use crate::remote::http::{CallError, client, not_set_up};
use crate::remote::ledger::Ledger;
use crate::remote::listed::{self, Entry};
use crate::remote::lodging::Whose;
use crate::remote::socket::Dialer;
use crate::shared::{start_error, undisturbed};

/// What stands before the id of a sandbox that is there.
const SANDBOX: &str = "sandbox=";

/// Runs programs in sandboxes.
#[derive(Debug, Clone)]
pub struct Daytona {
    settings: Settings,
    /// Made for the first call, and so is nothing that nobody needs.
    api: Arc<OnceCell<Api>>,
    ledger: Ledger,
    place: Where,
}

/// Where at the vendor.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Where {
    /// In a sandbox of its own, made from this snapshot or the vendor's usual one.
    Own(Option<String>),
    /// In this sandbox.
    Sandbox(String),
}

impl Where {
    /// Whose sandbox a program is in, and what the vendor is asked for.
    fn whose(&self, id: TerminalId) -> (Whose, String) {
        match self {
            Self::Own(_) => (Whose::Ours, api::name(id)),
            Self::Sandbox(sandbox) => (Whose::Theirs, sandbox.clone()),
        }
    }
}

impl Daytona {
    /// The vendor as these settings say. Nothing is asked of it yet.
    #[must_use]
    pub fn new(settings: Settings) -> Self {
        Self { settings, api: Arc::default(), ledger: Ledger::default(), place: Where::Own(None) }
    }

    /// The same, with a list in `directory` of what was made.
    #[must_use]
    pub fn remembering(self, directory: PathBuf) -> Self {
        Self { ledger: Ledger::in_directory(directory), ..self }
    }

    /// Leaves nothing of what is on the list.
    async fn clear(&self, entry: Entry) -> Result<(), CallError> {
        let api = self.api().await?;
        if entry.whose == Whose::Ours {
            return api.remove(&entry.sandbox).await;
        }
        listed::clear(&self.there(&entry).await?, entry.id).await
    }

    /// Finds what is on the list.
    async fn there(&self, entry: &Entry) -> Result<Place, CallError> {
        let api = self.api().await?;
        let sandbox = api.find(&entry.sandbox).await?;
        let toolbox = api.toolbox(&sandbox)?;
        Ok(Place { api: api.clone(), sandbox: sandbox.id, toolbox, whose: entry.whose })
    }

    async fn api(&self) -> Result<&Api, StartError> {
        self.api.get_or_try_init(|| std::future::ready(self.open())).await
    }

    fn open(&self) -> Result<Api, StartError> {
        self.settings.check().map_err(not_set_up)?;
        let key = self.settings.key().map_err(not_set_up)?;
        let is_loopback = self.settings.is_loopback();
        let parts = client(is_loopback).and_then(|client| Ok((client, Dialer::new(is_loopback)?)));
        parts
            .and_then(|(client, dialer)| Api::new(client, dialer, self.settings.clone(), &key))
            .map_err(|error| error.of_start(settings::NAME))
    }

    /// Whether the vendor takes the key.
    ///
    /// # Errors
    /// What is wrong, in one line.
    pub async fn version(&self) -> Result<String, StartError> {
        self.api().await?.check().await.map_err(|error| error.of_start(&self.settings.api))?;
        Ok(format!("{} takes the key", self.settings.api))
    }
}

impl Backend for Daytona {
    fn name(&self) -> &'static str {
        settings::NAME
    }

    fn grounds(&self) -> Grounds {
        Grounds::Elsewhere
    }

    fn abilities(&self) -> Abilities {
        let kill = match self.place {
            Where::Sandbox(_) => KillReach::Related,
            Where::Own(_) => KillReach::Tree,
        };
        Abilities { kill, code: CodeKnown::ShellCode, ends_with: EndsWith::Nothing, ..Abilities::EVERYTHING }
    }

    fn at(self: Arc<Self>, place: &str) -> Result<Arc<dyn Backend>, StartError> {
        let is_id = |text: &str| {
            !text.is_empty()
                && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte))
        };
        let is_snapshot = |text: &str| text.split(['/', ':']).all(is_id);
        let place = match place.strip_prefix(SANDBOX) {
            Some(id) if is_id(id) && !id.starts_with('.') => Where::Sandbox(id.to_owned()),
            None if place.is_empty() => Where::Own(None),
            None if is_snapshot(place) => Where::Own(Some(place.to_owned())),
            _ => {
                return Err(start_error(
                    ErrorCode::InvalidArgument,
                    "daytona takes a snapshot or a sandbox: daytona, daytona:SNAPSHOT or daytona:sandbox=ID",
                ));
            }
        };
        Ok(Arc::new(Self { place, ..Self::clone(&self) }))
    }

    fn creations(&self) -> BoxFuture<'_, Result<Vec<Creation>, StartError>> {
        let this = self.clone();
        let end = move |entry| {
            let this = this.clone();
            async move { this.clear(entry).await }
        };
        Box::pin(async move { self.ledger.creations(end).await })
    }

    fn start(&self, spec: StartSpec) -> BoxFuture<'_, Result<Started, StartError>> {
        let this = self.clone();
        Box::pin(undisturbed(async move {
            start::start(this.api().await?, &this.ledger, &this.place, spec).await
        }))
    }

    fn take_up(&self, orphan: Orphan) -> Option<Earlier> {
        start::take_up(self, &orphan)
    }
}
