//! Programs in sandboxes of Modal.
//!
//! Two kinds of places: `modal:IMAGE` makes a sandbox for the one program and removes it at the end;
//! `modal:sandbox=ID` runs the program in a sandbox that is there.
//!
//! The way of a start: the sandbox is made or found (`api`), and the machine on which it runs (`router`); a look into it
//! says whether the program and its directory are there, and the machine starts the program (`exec`). Then its output is
//! read by offset and its end waited for (`follow`), and what is typed is written by offset (`typist`). What the machine
//! has no word for, as signals and sizes, is done by scripts in the sandbox (`place`).
//!
//! # Invariants
//! 1. Every call may be made again: a start has an id, input has an offset, and what is made has a key.
//! 2. A program outlives its connection and this server (`rejoin`). It is lost when its sandbox is gone, or nobody answers
//!    for as long as [`Settings::patience`] says.
//! 3. A sandbox of ours is removed when its program's controls are dropped, started or not.
//! 4. Values of variables and the directory go in fields of their own, never in arguments.
//! 5. Tokens are in metadata only, and go over TLS or stay on this machine.

mod access;
mod api;
mod exec;
mod follow;
mod link;
mod patience;
mod place;
mod rejoin;
mod router;
mod settings;
mod start;
mod typist;

use std::path::PathBuf;
use std::sync::Arc;

use ptyard_core::ErrorCode;
use ptyard_terminal::backend::{
    Abilities, Backend, BoxFuture, Creation, Earlier, EndsWith, Grounds, KillReach, Orphan, StartError,
    StartSpec, Started,
};
use tokio::sync::OnceCell;

use self::api::{Api, SandboxId};
use self::place::{Joined, Place};
pub use self::settings::Settings;
use crate::remote::http::{CallError, not_set_up};
use crate::remote::ledger::Ledger;
use crate::remote::listed::{self, Entry};
use crate::remote::lodging::Whose;
use crate::shared::{start_error, undisturbed};

/// What stands before the id of a sandbox that is there.
const SANDBOX: &str = "sandbox=";

/// Runs programs in sandboxes.
#[derive(Debug, Clone)]
pub struct Modal {
    settings: Settings,
    /// Made for the first call, and so is nothing that nobody needs.
    api: Arc<OnceCell<Api>>,
    ledger: Ledger,
    place: Where,
}

/// Where at the vendor.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Where {
    /// Nothing was said.
    Nowhere,
    /// In a sandbox of its own, made from this image: one of the vendor's, or one of a registry.
    Image(String),
    /// In this sandbox.
    Sandbox(String),
}

impl Where {
    /// What was asked for.
    fn word(&self) -> &str {
        match self {
            Self::Nowhere => "modal",
            Self::Image(image) => image,
            Self::Sandbox(sandbox) => sandbox,
        }
    }
}

impl Modal {
    /// The vendor as these settings say. Nothing is asked of it yet.
    #[must_use]
    pub fn new(settings: Settings) -> Self {
        Self { settings, api: Arc::default(), ledger: Ledger::default(), place: Where::Nowhere }
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
            return api.remove(&api.find(entry.id).await?).await;
        }
        let joined = Joined::of(api, SandboxId(entry.sandbox.clone())).await?;
        listed::clear(&Place::there(joined, entry.whose, &entry.sandbox), entry.id).await
    }

    async fn api(&self) -> Result<&Api, StartError> {
        self.api.get_or_try_init(|| std::future::ready(self.open())).await
    }

    fn open(&self) -> Result<Api, StartError> {
        self.settings.check(&self.settings.server).map_err(not_set_up)?;
        let token = self.settings.token().map_err(not_set_up)?;
        Api::new(self.settings.clone(), token).map_err(|error| error.of_start(settings::NAME))
    }

    /// Whether the vendor takes the token.
    ///
    /// # Errors
    /// What is wrong, in one line.
    pub async fn version(&self) -> Result<String, StartError> {
        self.api().await?.hello().await.map_err(|error| error.of_start(&self.settings.server))?;
        Ok(format!("{} takes the token", self.settings.server))
    }
}

impl Backend for Modal {
    fn name(&self) -> &'static str {
        settings::NAME
    }

    fn grounds(&self) -> Grounds {
        Grounds::Elsewhere
    }

    fn abilities(&self) -> Abilities {
        let kill = match self.place {
            Where::Sandbox(_) => KillReach::Related,
            Where::Image(_) | Where::Nowhere => KillReach::Tree,
        };
        Abilities { kill, ends_with: EndsWith::Nothing, ..Abilities::EVERYTHING }
    }

    fn at(self: Arc<Self>, place: &str) -> Result<Arc<dyn Backend>, StartError> {
        let is_word = |text: &str| {
            !text.is_empty()
                && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_./:@".contains(&byte))
        };
        let is_id = |text: &str| is_word(text) && !text.contains(['/', ':', '.', '@']);
        let place = match place.strip_prefix(SANDBOX) {
            Some(id) if is_id(id) => Where::Sandbox(id.to_owned()),
            None if is_word(place) => Where::Image(place.to_owned()),
            _ => {
                return Err(start_error(
                    ErrorCode::InvalidArgument,
                    "modal needs an image or a sandbox: modal:IMAGE or modal:sandbox=ID",
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
        rejoin::take_up(self, &orphan)
    }
}
