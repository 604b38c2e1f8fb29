//! Programs in sandboxes of Blaxel.
//!
//! Places: `blaxel` and `blaxel:IMAGE` make a sandbox for the one program and remove it at the end;
//! `blaxel:sandbox=NAME` runs the program in a sandbox that is there.
//!
//! A terminal of this vendor passes on text: what is no UTF-8, or is cut by its pieces in the middle of a character, is
//! destroyed; pieces come twice when somebody connects, and are missing when somebody is slow; and nobody tells how its
//! shell ended. So the shell becomes a *carrier* (`carrier.py`, seen off in `start` over `shared::greeting`), which runs the
//! program on a terminal or on pipes of its own, and carries its bytes in lines with offsets and sums (`lines`). Who follows
//! (`follow`) puts output in order (`heard`) and types what may not have arrived again (`typed`): both ways nothing is
//! lost and nothing comes twice, also when the connection breaks or a later server goes on. The vendor's way to run commands
//! without a terminal writes what they print into files of the sandbox; it is used for scripts of ours only (`api`).
//!
//! # Invariants
//! 1. What starts a program is said once. What is typed is typed once, however often it is said.
//! 2. A sandbox of ours, and the carrier in somebody else's, is removed when its program's controls are dropped, started
//!    or not; and when this server is gone, the vendor removes it, or the carrier ends with its program.
//! 3. Program, variables and directory go in as input, and never stand in arguments.
//! 4. The key goes over TLS or stays on this machine. It is in headers, and for a socket in its address, as the vendor
//!    wants it; that address is shown nowhere.

mod api;
mod follow;
mod heard;
mod lines;
mod place;
mod settings;
mod start;
mod terminal;
mod typed;
mod typist;

use std::path::PathBuf;
use std::sync::{Arc, OnceLock};

use ptyard_core::{ErrorCode, TerminalId};
use ptyard_terminal::backend::{
    Abilities, Backend, BoxFuture, Creation, Earlier, EndsWith, Grounds, KillReach, Orphan, StartError,
    StartSpec, Started,
};

use self::api::Api;
use self::place::Place;
pub use self::settings::Settings;
use crate::remote::http::{CallError, not_set_up};
use crate::remote::ledger::Ledger;
use crate::remote::listed::{self, Entry};
use crate::remote::lodging::Whose;
use crate::shared::{start_error, undisturbed};

/// What stands before the name of a sandbox that is there.
const SANDBOX: &str = "sandbox=";

/// Runs programs in sandboxes.
#[derive(Debug, Clone)]
pub struct Blaxel {
    settings: Settings,
    /// Made for the first call, and so is nothing that nobody needs.
    api: Arc<OnceLock<Api>>,
    ledger: Ledger,
    place: Where,
}

/// Where at the vendor.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Where {
    /// In a sandbox of its own, made from this image or the vendor's usual one.
    Own(Option<String>),
    /// In this sandbox.
    Sandbox(String),
}

impl Where {
    /// Whose the sandbox of a program is, and what it is called.
    fn whose(&self, id: TerminalId) -> (Whose, String) {
        match self {
            Self::Own(_) => (Whose::Ours, api::name(id)),
            Self::Sandbox(name) => (Whose::Theirs, name.clone()),
        }
    }
}

impl Blaxel {
    /// The vendor as these settings say. Nothing is asked of it yet.
    #[must_use]
    pub fn new(settings: Settings) -> Self {
        Self { settings, api: Arc::default(), ledger: Ledger::default(), place: Where::Own(None) }
    }

    /// The same, with a list in `directory` of what was made: a program in somebody else's sandbox has no mark there.
    #[must_use]
    pub fn remembering(self, directory: PathBuf) -> Self {
        Self { ledger: Ledger::in_directory(directory), ..self }
    }

    fn api(&self) -> Result<&Api, StartError> {
        if let Some(api) = self.api.get() {
            return Ok(api);
        }
        self.settings.check().map_err(not_set_up)?;
        let key = self.settings.key().map_err(not_set_up)?;
        self.settings.workspace().map_err(not_set_up)?;
        let api = Api::new(self.settings.clone(), key).map_err(|error| error.of_start(settings::NAME))?;
        Ok(self.api.get_or_init(|| api))
    }

    /// Whether the vendor takes the key.
    ///
    /// # Errors
    /// What is wrong, in one line.
    pub async fn version(&self) -> Result<String, StartError> {
        self.api()?.check().await.map_err(|error| error.of_start(&self.settings.api))?;
        Ok(format!("{} takes the key", self.settings.api))
    }

    /// Leaves nothing of what is on the list.
    async fn clear(&self, entry: Entry) -> Result<(), CallError> {
        let api = self.api()?;
        let (finder, place) = Place::awaited(api, &entry.sandbox, entry.whose);
        if entry.whose == Whose::Theirs {
            finder.send_replace(Some(api.find(&entry.sandbox).await?.into()));
        }
        listed::clear(&place, entry.id).await
    }
}

impl Backend for Blaxel {
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
        Abilities { kill, ends_with: EndsWith::Nothing, ..Abilities::EVERYTHING }
    }

    fn at(self: Arc<Self>, place: &str) -> Result<Arc<dyn Backend>, StartError> {
        let is_name = |text: &str| {
            !text.is_empty()
                && text.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-')
        };
        let is_word = |text: &str| {
            !text.is_empty()
                && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte))
        };
        let place = match place.strip_prefix(SANDBOX) {
            Some(name) if is_name(name) => Where::Sandbox(name.to_owned()),
            None if place.is_empty() => Where::Own(None),
            None if place.split(['/', ':']).all(is_word) => Where::Own(Some(place.to_owned())),
            _ => {
                return Err(start_error(
                    ErrorCode::InvalidArgument,
                    "blaxel takes an image or a sandbox: blaxel, blaxel:IMAGE or blaxel:sandbox=NAME",
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
        Box::pin(undisturbed(async move { start::start(this.api()?, &this.ledger, &this.place, spec).await }))
    }

    fn take_up(&self, orphan: Orphan) -> Option<Earlier> {
        let api = self.api().inspect_err(|error| {
            tracing::warn!(terminal = %orphan.id, %error, "a program in a sandbox cannot be asked for");
        });
        start::take_up(self, api.ok()?, &orphan)
    }
}
