//! Programs in panes of a tmux server on this machine.
//!
//! One client in control mode per server is the only connection (`link`); nothing is forked per message. Programs get
//! windows of their own in the session `ptyard`, or the one that `tmux:SESSION` names; `tmux:session=NAME` makes one for
//! them. `tmux:SESSION:WINDOW.PANE` takes a pane over that is there, with its history, and gives it back at the end.
//!
//! tmux is a terminal itself. It answers what programs ask, it is what a person sees who attaches at the same time, and
//! a program goes on when we are gone, or our client is. Targets are the server's own numbers (`%5`), which are exact; a name is looked
//! up once, with `=`.
//!
//! # Invariants
//! 1. A pane of ours is killed when its program's controls are dropped; one that was taken over is left as it is.
//! 2. What is typed goes through the client's one stream, in order.

mod adopt;
mod control;
mod draw;
mod follow;
mod joined;
mod link;
mod pane;
mod piped;
mod protocol;
mod rejoin;
mod server;
mod session;
mod start;

use std::sync::Arc;

use ptyard_core::ErrorCode;
use ptyard_terminal::backend::{
    Abilities, Backend, BoxFuture, CodeKnown, Earlier, EndsWith, Io, KillReach, Orphan, ProgramFrom,
    Questions, StartError, StartSpec, Started, Streams,
};

use self::control::Owner;
pub use self::server::Server;
use self::server::{SESSION, ServerLink};
use self::session::Session;
use crate::shared::{start_error, undisturbed};

/// What is written before the name of a session that is made for programs of ours.
const MADE: &str = "session=";

/// Runs programs in panes.
#[derive(Debug, Clone)]
pub struct Tmux {
    server: Arc<ServerLink>,
    place: Place,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Place {
    /// A window of its own in this session.
    Session(Session),
    /// A pane that is there.
    Pane(String),
}

impl Tmux {
    /// The panes of a server. Nothing is asked of it yet.
    #[must_use]
    pub fn new(server: Server) -> Self {
        Self { server: Arc::new(ServerLink::new(server)), place: Place::Session(Session::Own) }
    }

    /// The version of the tmux there is.
    ///
    /// # Errors
    /// When there is none.
    pub async fn version(&self) -> Result<String, StartError> {
        self.server.version().await
    }
}

impl Backend for Tmux {
    fn name(&self) -> &'static str {
        "tmux"
    }

    fn abilities(&self) -> Abilities {
        let (kill, program) = match self.place {
            Place::Session(_) => (KillReach::Related, ProgramFrom::Start),
            Place::Pane(_) => (KillReach::Terminal, ProgramFrom::Place),
        };
        Abilities {
            streams: Streams::TtyOnly,
            kill,
            program,
            code: CodeKnown::ShellCode,
            ends_with: EndsWith::Connection,
            questions: Questions::ThePlaces,
            ..Abilities::EVERYTHING
        }
    }

    fn at(self: Arc<Self>, place: &str) -> Result<Arc<dyn Backend>, StartError> {
        if place.chars().any(char::is_control) {
            return Err(start_error(ErrorCode::InvalidArgument, "the name holds control characters"));
        }
        let place = match (place, place.strip_prefix(MADE)) {
            (_, Some(name)) => Place::Session(Session::made(name)?),
            ("" | SESSION, _) => Place::Session(Session::Own),
            (pane, _) if pane.contains(':') || pane.starts_with('%') => Place::Pane(pane.to_owned()),
            (session, _) => Place::Session(Session::Theirs(session.to_owned())),
        };
        Ok(Arc::new(Self { server: Arc::clone(&self.server), place }))
    }

    fn start(&self, spec: StartSpec) -> BoxFuture<'_, Result<Started, StartError>> {
        let (server, place) = (Arc::clone(&self.server), self.place.clone());
        Box::pin(undisturbed(async move {
            let Io::Tty(_) = spec.io else {
                let message = "programs in tmux have a tty: start it with one (`--tty`)";
                return Err(start_error(ErrorCode::Unsupported, message));
            };
            let link = server.link().await?;
            match place {
                Place::Session(session) => start::start(&server, link, &session, spec).await,
                Place::Pane(target) => adopt::adopt(server, link, &target, &spec).await,
            }
        }))
    }

    fn take_up(&self, orphan: Orphan) -> Option<Earlier> {
        let owner = match &self.place {
            Place::Session(session) => Owner::Us(session.sizing()),
            Place::Pane(_) => Owner::Others,
        };
        rejoin::take_up(Arc::clone(&self.server), owner, &orphan)
    }
}
