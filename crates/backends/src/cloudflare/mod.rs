//! Programs in sandboxes of Cloudflare, through the vendor's bridge: a worker of one's own.
//!
//! Two kinds of places: `cloudflare` begins a sandbox for the one program and removes it at the end;
//! `cloudflare:sandbox=ID` runs the program in a sandbox that may be there.
//!
//! A session of the bridge has one terminal, which everybody who connects to it shares, and that terminal is a shell, whose
//! end nobody tells. So each program has a session of its own (`place`), and its shell becomes a greeter (`start`, over
//! `shared::greeting`): what the program prints begins behind its word, and the program's end is its word again, taken
//! out of the output. Runs of single programs, which the bridge has too, take output for lines of text and have no input,
//! so they are used for scripts only (`api`), and pipes are carried over the terminal.
//!
//! When the connection breaks, the program goes on, and so does who follows it (`follow`): the terminal plays again what
//! it printed last, and `remote::replay` finds where that goes on.
//!
//! # Invariants
//! 1. What starts a program, and what types, is said once.
//! 2. A sandbox of ours, and a session in somebody else's, is removed when its program's controls are dropped, started or
//!    not.
//! 3. Values of variables and the directory go in fields of their own, never in arguments.
//! 4. The key is in headers only, and goes over TLS or stays on this machine.

mod api;
mod events;
mod follow;
mod gate;
mod place;
mod settings;
mod start;

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
use crate::remote::http::{CallError, not_set_up, refused};
use crate::remote::ledger::Ledger;
use crate::remote::lodging::Whose;
use crate::shared::{start_error, undisturbed};

/// What stands before the id of a sandbox that may be there.
const SANDBOX: &str = "sandbox=";

/// Longest id of a sandbox.
const MOST_ID: usize = 128;

/// Whether the bridge takes this for the id of a sandbox.
fn is_sandbox(id: &str) -> bool {
    (1..=MOST_ID).contains(&id.len()) && id.bytes().all(|byte| matches!(byte, b'a'..=b'z' | b'2'..=b'7'))
}

/// Runs programs in sandboxes.
#[derive(Debug, Clone)]
pub struct Cloudflare {
    settings: Settings,
    /// Made for the first call, and so is nothing that nobody needs.
    api: Arc<OnceCell<Api>>,
    ledger: Ledger,
    place: Where,
}

/// Where at the vendor.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Where {
    /// In a sandbox of its own.
    Own,
    /// In this sandbox.
    Sandbox(String),
}

impl Cloudflare {
    /// The vendor as these settings say. Nothing is asked of it yet.
    #[must_use]
    pub fn new(settings: Settings) -> Self {
        Self { settings, api: Arc::default(), ledger: Ledger::default(), place: Where::Own }
    }

    /// The same, with a list in `directory` of what was made: the vendor tells nobody which sandboxes there are.
    #[must_use]
    pub fn remembering(self, directory: PathBuf) -> Self {
        Self { ledger: Ledger::in_directory(directory), ..self }
    }

    async fn on_the_list(&self) -> Result<Vec<Creation>, StartError> {
        let all = self.ledger.all().await.map_err(|error| {
            start_error(
                ErrorCode::StateUnwritable,
                format!("the list of what was made cannot be read: {error}"),
            )
        })?;
        if all.is_empty() {
            // Nothing is asked of a vendor that nobody uses.
            return Ok(Vec::new());
        }
        let api = self.api().await?;
        let made = |(entry, owner): (String, Option<TerminalId>)| {
            let what = match entry.split_once('.') {
                None => format!("sandbox {entry}"),
                Some((sandbox, session)) => format!("session {session} in sandbox {sandbox}"),
            };
            // A session without an owner is closed, and nobody can tell which processes were its.
            let id = owner.unwrap_or(TerminalId::from_bits(0));
            let place = self.listed(api, &entry, id);
            let end = async move { place.clear(id).await.map_err(|error| error.of_start("the bridge")) };
            Creation { what, owner, end: Box::pin(end) }
        };
        Ok(all.into_iter().map(made).collect())
    }

    /// What stands on the list by this name.
    fn listed(&self, api: &Api, entry: &str, id: TerminalId) -> Place {
        match entry.split_once('.') {
            None => Place::new(api, &self.ledger, entry.to_owned(), Whose::Ours, id),
            Some((sandbox, session)) => {
                let mut place = Place::new(api, &self.ledger, sandbox.to_owned(), Whose::Theirs, id);
                session.clone_into(&mut place.session);
                place
            }
        }
    }

    /// What stands there for this terminal.
    async fn there(&self, id: TerminalId) -> Result<Place, CallError> {
        let api = self.api().await?;
        let all = self.ledger.all().await.map_err(CallError::garbled)?;
        let entry = all.into_iter().find_map(|(entry, owner)| (owner == Some(id)).then_some(entry));
        let entry = entry.ok_or_else(|| refused(404, b"it is not on the list of what was made", None))?;
        Ok(self.listed(api, &entry, id))
    }

    async fn api(&self) -> Result<&Api, StartError> {
        self.api.get_or_try_init(|| std::future::ready(self.open())).await
    }

    fn open(&self) -> Result<Api, StartError> {
        let base = self.settings.base().map_err(not_set_up)?;
        let key = self.settings.key().map_err(not_set_up)?;
        Api::new(&self.settings, base, key.as_ref()).map_err(|error| error.of_start(settings::NAME))
    }

    /// Whether the bridge takes the key. Naming a sandbox makes none.
    ///
    /// # Errors
    /// What is wrong, in one line.
    pub async fn version(&self) -> Result<String, StartError> {
        let api = self.api().await?;
        match api.name().await {
            Ok(_unused) => Ok(format!("{} takes the key", api.base())),
            Err(CallError::Refused { status: 401, .. }) if matches!(self.settings.key(), Ok(None)) => {
                Err(not_set_up(self.settings.no_key()))
            }
            Err(error) => Err(error.of_start(api.base())),
        }
    }
}

impl Backend for Cloudflare {
    fn name(&self) -> &'static str {
        settings::NAME
    }

    fn grounds(&self) -> Grounds {
        Grounds::Elsewhere
    }

    fn abilities(&self) -> Abilities {
        let kill = match self.place {
            Where::Sandbox(_) => KillReach::Related,
            Where::Own => KillReach::Tree,
        };
        Abilities { kill, code: CodeKnown::ShellCode, ends_with: EndsWith::Nothing, ..Abilities::EVERYTHING }
    }

    fn at(self: Arc<Self>, place: &str) -> Result<Arc<dyn Backend>, StartError> {
        let place = match place.strip_prefix(SANDBOX) {
            None if place.is_empty() => Where::Own,
            Some(id) if is_sandbox(id) => Where::Sandbox(id.to_owned()),
            _ => {
                return Err(start_error(
                    ErrorCode::InvalidArgument,
                    "the places are cloudflare and cloudflare:sandbox=ID, whose ID has letters a-z and digits 2-7 only",
                ));
            }
        };
        Ok(Arc::new(Self { place, ..Self::clone(&self) }))
    }

    fn creations(&self) -> BoxFuture<'_, Result<Vec<Creation>, StartError>> {
        Box::pin(self.on_the_list())
    }

    fn start(&self, spec: StartSpec) -> BoxFuture<'_, Result<Started, StartError>> {
        let this = self.clone();
        Box::pin(undisturbed(async move {
            start::start(this.api().await?, &this.ledger, &this.place, spec).await
        }))
    }

    fn take_up(&self, orphan: Orphan) -> Option<Earlier> {
        start::take_up(self, orphan)
    }

    fn remembered_bytes(&self) -> usize {
        follow::REPLAY_BYTES
    }
}
