//! Programs that a person sees in panes of [herdr](https://herdr.dev), a terminal multiplexer for agents.
//!
//! herdr gives the *text* of a pane and takes text for it; it gives no bytes, no offsets and no end of a program. What is
//! read and typed that way cannot be exact. So the program's terminal is never herdr's: it is one of this machine's own
//! ([`LocalBackend`](ptyard_terminal::local::LocalBackend), under the keeper where there is one), and the pane shows
//! it. In the pane runs a *viewer*, `ptyard attach`, which paints what the terminal shows, gives the terminal the pane's
//! size, and passes on what a person types.
//!
//! Why so, and not a carrier in the pane that holds the terminal:
//!
//! * Bytes, codes, signals, whole trees, limits and restarts are the local backend's, and hold as they do there.
//! * A person's keys in the pane come through the terminal's one input queue, as all input does, so a paste and its Enter
//!   are not interleaved by them, and a draft of theirs is known to be one.
//! * herdr's ids of panes move when a sibling closes. The viewer's line, typed once into the pane that was just made, is
//!   the only thing ever addressed by one. No message passes herdr, so none can be too long for it.
//! * When herdr ends or crashes, the agents do not. They get new panes when it is back.
//!
//! What herdr knows of the agent in a pane comes as evidence, over its event socket: see `seat`. herdr finds agents by
//! their process, and here that is the viewer, so the viewer's variable `HERDR_AGENT` tells it the program's name.
//!
//! A pane that was there before cannot be taken over: nothing of it but its text can be had.
//!
//! # Invariants
//! 1. A program ends because of herdr only when a person has closed its pane: a close that was told while it was seen to
//!    be there, and a look that does not find it any more. Whatever else is missing gets a pane again.
//! 2. Neither arguments nor variables of a program, nor what is typed, are given to herdr.
//! 3. What herdr says never ends a turn that it did not see begin behind our write.

mod cli;
mod follow;
mod look;
mod program;
mod seat;
mod session;
mod stream;
mod wire;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use ptyard_core::ErrorCode;
use ptyard_terminal::backend::{
    Abilities, Backend, BoxFuture, Earlier, EndsWith, Io, Orphan, StartError, StartSpec, Started, Streams,
};

use self::seat::Seat;
use self::session::Session;
use crate::shared::here::Here;
use crate::shared::{start_error, undisturbed};

/// The session that is meant when none is named: herdr's own default.
const DEFAULT: &str = "default";

/// Longest name of a session: a socket's path has room for 107 bytes.
const NAME_BYTES: usize = 64;

/// Which herdr, and how.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settings {
    /// The command.
    pub program: PathBuf,
    /// Where its sockets are, in place of `$XDG_CONFIG_HOME` or `~/.config`.
    pub config: Option<PathBuf>,
    /// The command that shows the terminal whose id is put behind it. It ends with 0 when the program has ended, and only
    /// then; it waits for a terminal that is being started.
    pub viewer: Vec<String>,
    /// The pause before a broken connection is made again, which doubles up to [`Settings::longest_pause`].
    pub first_pause: Duration,
    /// The longest such pause.
    pub longest_pause: Duration,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            program: "herdr".into(),
            config: None,
            viewer: Vec::new(),
            first_pause: Duration::from_secs(1),
            longest_pause: Duration::from_secs(30),
        }
    }
}

/// Runs programs whose terminals are shown in panes.
#[derive(Clone)]
pub struct Herdr {
    settings: Arc<Settings>,
    sessions: Arc<Mutex<BTreeMap<String, Arc<Session>>>>,
    /// Where programs run.
    here: Here,
    session: String,
}

impl Herdr {
    /// The panes of a user's herdr. Nothing is asked of it yet.
    #[must_use]
    pub fn new(settings: Settings) -> Self {
        Self {
            settings: Arc::new(settings),
            sessions: Arc::default(),
            here: Here::default(),
            session: DEFAULT.to_owned(),
        }
    }

    /// The version of the herdr there is.
    ///
    /// # Errors
    /// When there is none.
    pub async fn version(&self) -> Result<String, StartError> {
        self.session().cli().version().await.map_err(|error| error.of_start())
    }

    fn session(&self) -> Arc<Session> {
        let mut sessions = self.sessions.lock().unwrap_or_else(PoisonError::into_inner);
        let make = || Arc::new(Session::new(&self.settings, &self.session));
        Arc::clone(sessions.entry(self.session.clone()).or_insert_with(make))
    }
}

impl Backend for Herdr {
    fn name(&self) -> &'static str {
        "herdr"
    }

    fn abilities(&self) -> Abilities {
        Abilities { streams: Streams::TtyOnly, ends_with: EndsWith::Nothing, ..Abilities::EVERYTHING }
    }

    fn at(self: Arc<Self>, place: &str) -> Result<Arc<dyn Backend>, StartError> {
        let session = if place.is_empty() { DEFAULT } else { place };
        if session.contains([':', '%']) {
            let message = "herdr gives the text of a pane and not its bytes, so a program that runs there cannot be \
                           taken over: start one with exec at herdr or herdr:SESSION";
            return Err(start_error(ErrorCode::Unsupported, message));
        }
        let is_name = session.len() <= NAME_BYTES
            && !session.starts_with(['-', '.'])
            && session.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.'));
        if !is_name {
            let message =
                "a session of herdr has a name of at most 64 letters, digits, dots, dashes and underscores";
            return Err(start_error(ErrorCode::InvalidArgument, message));
        }
        Ok(Arc::new(Self { session: session.to_owned(), ..Self::clone(&self) }))
    }

    fn start(&self, spec: StartSpec) -> BoxFuture<'_, Result<Started, StartError>> {
        let (session, here) = (self.session(), self.here.clone());
        Box::pin(undisturbed(async move {
            let Io::Tty(_) = spec.io else {
                let message = "programs in herdr have a tty: start it with one (`--tty`)";
                return Err(start_error(ErrorCode::Unsupported, message));
            };
            let local = here.backend().await?;
            session.ensure_server().await.map_err(|error| error.of_start())?;
            let seat = Arc::new(Seat::new(spec.id, spec.argv.first().map(String::as_str)));
            let cwd = spec.cwd.clone();
            // Dropped, it is ended.
            let started = local.start(spec).await?;
            session.open(&seat, Some(&cwd)).await.map_err(|error| error.of_start())?;
            Ok(program::shown(started, seat, session))
        }))
    }

    fn stand_on(&self, local: &Arc<dyn Backend>) {
        self.here.stand_on(local);
    }

    fn take_up(&self, orphan: Orphan) -> Option<Earlier> {
        let Earlier { id, started, unseen_from } = orphan.kept?;
        let seat = Arc::new(Seat::new(id, None));
        let started = program::shown(started, seat, self.session());
        Some(Earlier { id, started, unseen_from })
    }
}
