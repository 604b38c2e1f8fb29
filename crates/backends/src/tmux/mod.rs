//! Programs in panes of a tmux server on this machine.
//!
//! One client in control mode per server is the only connection (`link`); nothing is forked per message. Programs get
//! windows of their own in the session `ptyard`, or the one that `tmux:SESSION` names; `tmux:SESSION:WINDOW.PANE` takes
//! a pane over that is there, with its history, and gives it back at the end.
//!
//! tmux is a terminal itself. It answers what programs ask, it is what a person sees who attaches at the same time, and
//! a program goes on when we are gone. Targets are the server's own numbers (`%5`), which are exact; a name is looked
//! up once, with `=`.
//!
//! # Invariants
//! 1. A pane of ours is killed when its program's controls are dropped; one that was taken over is left as it is.
//! 2. What is typed goes through the client's one stream, in order.

mod control;
mod link;
mod pane;
mod protocol;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use ptyard_core::ErrorCode;
use ptyard_terminal::backend::{
    Abilities, Backend, BoxFuture, CodeKnown, EndsWith, Io, KillReach, Questions, StartError, StartSpec,
    Started, Streams,
};
use tokio::process::Command;
use tokio::sync::{Mutex, watch};

use self::control::TmuxControl;
use self::link::{Link, TmuxError};
use self::pane::{PaneSink, PaneSource, type_into};
use self::protocol::{Pane, quoted};
use crate::shared::greeting::{Afterwards, Far, Greeting, Said};
use crate::shared::{clients, start_error, undisturbed};

/// The session programs run in when none is named.
const SESSION: &str = "ptyard";

/// How long a server may take to be there, after one that is on its way out has gone.
const SERVER_LIMIT: Duration = Duration::from_secs(10);

/// How long a server is left alone before it is tried again: a killed one is gone in milliseconds on a machine that has
/// nothing else to do.
const BETWEEN_TRIES: Duration = Duration::from_millis(50);

/// How long a shell may take to greet: login files are not read, but the machine may be busy.
const GREETING_LIMIT: Duration = Duration::from_secs(20);

/// Lines of a pane's history that come with it when it is taken over.
const HISTORY_LINES: u32 = 10_000;

/// Which server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Server {
    /// The user's own, as `tmux` finds it.
    Default,
    /// The one with this socket, without the user's configuration.
    At(PathBuf),
}

/// Runs programs in panes.
#[derive(Debug, Clone)]
pub struct Tmux {
    server: Arc<ServerLink>,
    place: Place,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Place {
    /// A window of its own in this session.
    Session(String),
    /// A pane that is there.
    Pane(String),
}

#[derive(Debug)]
struct ServerLink {
    server: Server,
    link: Mutex<Option<(String, Link)>>,
}

/// Why a client was not greeted.
enum Ungreeted {
    /// The server left before it answered, or had not attached the client yet.
    NotYet(String),
    Unreachable(String),
}

impl Tmux {
    /// The panes of a server. Nothing is asked of it yet.
    #[must_use]
    pub fn new(server: Server) -> Self {
        let server = Arc::new(ServerLink { server, link: Mutex::default() });
        Self { server, place: Place::Session(SESSION.to_owned()) }
    }

    /// The version of the tmux there is.
    ///
    /// # Errors
    /// When there is none.
    pub async fn version(&self) -> Result<String, StartError> {
        let mut command = self.server.tmux();
        command.arg("-V");
        match clients::run(command, SERVER_LIMIT).await {
            Ok(output) => Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned()),
            Err(error) => Err(start_error(ErrorCode::BackendUnreachable, format!("tmux: {error}"))),
        }
    }
}

impl ServerLink {
    fn tmux(&self) -> Command {
        let mut command = clients::command("tmux");
        if let Server::At(socket) = &self.server {
            command.arg("-S").arg(socket).args(["-f", "/dev/null"]);
        }
        command.arg("-u");
        command
    }

    /// The client, which is started if there is none, or if the server it was of is gone.
    async fn link(&self) -> Result<Link, StartError> {
        let mut current = self.link.lock().await;
        if let Some((_, link)) = current.as_ref().filter(|(_, link)| !link.is_gone()) {
            return Ok(link.clone());
        }
        let give_up = tokio::time::Instant::now() + SERVER_LIMIT;
        let link = loop {
            match self.greet().await {
                Ok(link) => break link,
                // A server that is on its way out still takes clients, and its socket goes last.
                Err(Ungreeted::NotYet(_)) if tokio::time::Instant::now() < give_up => {}
                Err(Ungreeted::NotYet(error) | Ungreeted::Unreachable(error)) => {
                    return Err(start_error(ErrorCode::BackendUnreachable, format!("tmux: {error}")));
                }
            }
            tokio::time::sleep(BETWEEN_TRIES).await;
        };
        *current = Some((SESSION.to_owned(), link.clone()));
        Ok(link)
    }

    /// Starts a client, and the server if there is none.
    async fn greet(&self) -> Result<Link, Ungreeted> {
        let unreachable = |error: &dyn std::fmt::Display| Ungreeted::Unreachable(error.to_string());
        let mut command = self.tmux();
        // The session's first window keeps it, and with it our client, when no program runs.
        command
            .args(["-C", "new-session", "-A", "-s", SESSION, "-n", "ptyard", "-x", "80", "-y", "24"])
            .arg("exec sleep 2147483647");
        let link = Link::start(command).map_err(|error| unreachable(&error))?;
        // Our size is not the size of any window, however small we are.
        let greeted = tokio::time::timeout(SERVER_LIMIT, link.ask("refresh-client -f ignore-size")).await;
        match greeted {
            Ok(Ok(_)) => Ok(link),
            Ok(Err(error)) => Err(Ungreeted::NotYet(error.to_string())),
            Err(_) => Err(unreachable(&"the server does not answer")),
        }
    }
}

impl Backend for Tmux {
    fn name(&self) -> &'static str {
        "tmux"
    }

    fn abilities(&self) -> Abilities {
        let kill = match self.place {
            Place::Session(_) => KillReach::Related,
            Place::Pane(_) => KillReach::Terminal,
        };
        Abilities {
            streams: Streams::TtyOnly,
            kill,
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
        let place = match place {
            "" => Place::Session(SESSION.to_owned()),
            pane if pane.contains(':') || pane.starts_with('%') => Place::Pane(pane.to_owned()),
            session => Place::Session(session.to_owned()),
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
                Place::Session(session) => start(link, &session, spec).await,
                Place::Pane(target) => adopt(link, &target).await,
            }
        }))
    }
}

fn of_start(error: &TmuxError) -> StartError {
    let code = match error {
        TmuxError::Gone(_) => ErrorCode::BackendUnreachable,
        TmuxError::Refused(why) if why.contains("can't find") => ErrorCode::PlaceNotFound,
        TmuxError::Refused(_) => ErrorCode::SpawnFailed,
    };
    start_error(code, error.to_string())
}

/// A pane as an answer names it.
struct Found {
    pane: Pane,
    pid: u32,
    tty: PathBuf,
    window: String,
}

/// What to ask for it.
const FOUND: &str = "'#{pane_id} #{pane_pid} #{pane_tty} #{window_id}'";

impl Found {
    fn parse(text: &str) -> Option<Self> {
        let mut words = text.split_whitespace();
        Some(Self {
            pane: Pane::parse(words.next()?.as_bytes())?,
            pid: words.next()?.parse().ok()?,
            tty: words.next()?.into(),
            window: words.next()?.to_owned(),
        })
    }
}

fn not_understood(text: &str) -> StartError {
    start_error(ErrorCode::SpawnFailed, format!("tmux answered what is not understood: {text:?}"))
}

/// A window that is closed unless it is handed over.
struct Window<'a> {
    link: &'a Link,
    pane: Option<Pane>,
}

impl Drop for Window<'_> {
    fn drop(&mut self) {
        if let Some(pane) = self.pane {
            let link = self.link.clone();
            tokio::spawn(async move {
                link.forget(pane);
                let _gone = link.ask(format!("kill-pane -t {pane}")).await;
            });
        }
    }
}

async fn start(link: Link, session: &str, spec: StartSpec) -> Result<Started, StartError> {
    let (_none, unheld) =
        spec.ceilings.split(|_| Some("programs of tmux are tmux's own children".to_owned()))?;
    // tmux says in TERM what it is; everything else is what was asked for.
    let mut env = spec.env.clone();
    env.remove("TERM");
    let mut greeting = Greeting::new(&spec, &env, Afterwards::Waits, Far::AsFound)?;
    let size = spec.io.size();
    if session != SESSION {
        // Exact: without `=` a name would stand for any session that begins with it.
        link.ask(format!("has-session -t {}", quoted(&format!("={session}"))))
            .await
            .map_err(|error| of_start(&error))?;
    }
    let command = format!(
        "new-window -d -P -F {FOUND} -n {} -t {} -c / /bin/sh -c {}",
        quoted(&spec.id.to_string()),
        quoted(&format!("={session}:")),
        quoted(&greeting.greeter()),
    );
    let answer = link.ask_and_follow(command).await.map_err(|error| of_start(&error))?;
    let (Some(found), Some(pieces)) = (Found::parse(&answer.text), answer.pieces) else {
        return Err(not_understood(&answer.text));
    };
    let pane = found.pane;
    let mut window = Window { link: &link, pane: Some(pane) };
    // The greeter waits, so all of this is so before the program is there.
    link.ask(format!("resize-window -t {} -x {} -y {}", found.window, size.cols(), size.rows()))
        .await
        .map_err(|error| of_start(&error))?;
    if session != SESSION {
        follow_window(&link, &found.window).await?;
    }
    let (ended, end) = watch::channel(None);
    let mut source = PaneSource::new(pieces, Some((greeting.ending(), ended)));
    let greeted = tokio::time::timeout(GREETING_LIMIT, greet(&link, pane, &mut source, &mut greeting)).await;
    let pid = greeted
        .map_err(|_| start_error(ErrorCode::SpawnFailed, "the shell in the pane does not answer"))??;
    // The pane is the control's from here on.
    window.pane = None;
    drop(window);
    let control = TmuxControl::own(link.clone(), &found, pid, spec.id, end);
    Ok(Started {
        source: Box::new(source),
        sink: Some(Box::new(PaneSink::new(link, pane, found.tty))),
        control: Box::new(control),
        questions: Questions::ThePlaces,
        pid: Some(pid),
        unheld,
    })
}

/// Sees the program off; its process id, and whatever came behind the last word is output.
async fn greet(
    link: &Link,
    pane: Pane,
    source: &mut PaneSource,
    greeting: &mut Greeting,
) -> Result<u32, StartError> {
    let mut program = 0;
    loop {
        let Some(piece) = source.piece().await else { return Err(greeting.silence()) };
        let mut rest = Vec::new();
        let mut said = greeting.hear(&piece, &mut rest);
        while let Some(what) = said {
            match what {
                Said::Ready(_) => {
                    type_into(link, pane, greeting.script()).await.map_err(|error| of_start(&error))?;
                }
                Said::Pid(pid) => program = pid,
                Said::Gone => {
                    source.put_back(std::mem::take(&mut rest));
                    return Ok(program);
                }
                Said::Refused(error) => return Err(error),
            }
            said = greeting.hear(b"", &mut rest);
        }
    }
}

/// Lets our client hear of a window of another session: it hears of those of its own, so the window is linked there.
async fn follow_window(link: &Link, window: &str) -> Result<(), StartError> {
    let command = format!("link-window -d -s {window} -t {}", quoted(&format!("={SESSION}:")));
    link.ask(command).await.map(drop).map_err(|error| of_start(&error))
}

async fn adopt(link: Link, target: &str) -> Result<Started, StartError> {
    let exact = if target.starts_with('%') { target.to_owned() } else { format!("={target}") };
    let answer = link
        .ask(format!("display-message -p -t {} {FOUND}", quoted(&exact)))
        .await
        .map_err(|error| of_start(&error))?;
    let found = Found::parse(&answer)
        .ok_or_else(|| start_error(ErrorCode::PlaceNotFound, format!("tmux has no pane {target}")))?;
    let pane = found.pane;
    // Heard from the answer on; what was printed before it is in the history, which is asked for in the same breath.
    let named = link.ask_and_follow(format!("display-message -p -t {pane} '#{{pane_id}}'"));
    let history = format!("capture-pane -p -e -J -S -{HISTORY_LINES} -t {pane}");
    let cursor = format!("display-message -p -t {pane} '#{{cursor_x}} #{{cursor_y}} #{{pane_height}}'");
    follow_window(&link, &found.window).await.or_else(|error| {
        // It is there already when another of its panes was taken over, or it is one of our session.
        if error.message.contains("already") { Ok(()) } else { Err(error) }
    })?;
    let (named, history, _cursor) = tokio::join!(named, link.ask(history), link.ask(cursor));
    let pieces = named.map_err(|error| of_start(&error))?.pieces.ok_or_else(|| not_understood(&answer))?;
    let history = history.map_err(|error| of_start(&error))?;
    let mut source = PaneSource::new(pieces, None);
    source.put_back(history.trim_end().replace('\n', "\r\n").into_bytes());
    let control = TmuxControl::adopted(link.clone(), &found)
        .map_err(|error| start_error(ErrorCode::SpawnFailed, format!("cannot watch the program: {error}")))?;
    Ok(Started {
        source: Box::new(source),
        sink: Some(Box::new(PaneSink::new(link, pane, found.tty))),
        control: Box::new(control),
        questions: Questions::ThePlaces,
        pid: Some(found.pid),
        unheld: Vec::new(),
    })
}
