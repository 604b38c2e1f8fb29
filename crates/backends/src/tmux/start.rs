//! A window of its own for a program.

use std::sync::Arc;
use std::time::Duration;

use ptyard_core::ErrorCode;
use ptyard_terminal::backend::{Placing, Questions, StartError, StartSpec, Started};
use ptyard_terminal::local::Identity;
use tokio::sync::{mpsc, watch};

use super::control::{Owner, SCRIPT_LIMIT, TmuxControl, mark, pass_sizes, resize_window};
use super::follow::{Following, Hearing};
use super::joined::{Joined, Joining};
use super::link::Link;
use super::pane::{Feed, HandedOut, PaneSink, PaneSource, type_into};
use super::piped;
use super::protocol::{Pane, quoted};
use super::server::{Kept, OPTION, ServerLink, of_start};
use super::session::{Session, Sizing, go_with_session};
use crate::shared::fate::Fate;
use crate::shared::greeting::{Afterwards, Far, Greeting, Said};
use crate::shared::{clients, start_error};

/// How long a shell may take to greet: login files are not read, but the machine may be busy.
const GREETING_LIMIT: Duration = Duration::from_secs(20);

/// Sizes that somebody has set, on their way to the terminal. The one who passes them on waits.
pub(super) const SIZES: usize = 4;

/// Clients over which a pane was found and whose output nobody has come to yet. The next one waits.
pub(super) const FEEDS: usize = 16;

/// How often a start whose client goes is begun over the next one.
const TRIES: usize = 3;

/// A window that is closed unless it is handed over.
struct Window {
    server: Arc<ServerLink>,
    link: Link,
    pane: Option<Pane>,
}

impl Drop for Window {
    fn drop(&mut self) {
        if let Some(pane) = self.pane {
            let (server, link) = (Arc::clone(&self.server), self.link.clone());
            tokio::spawn(async move {
                link.forget(pane);
                let _gone = server.insist(&link, &format!("kill-pane -t {pane}")).await;
            });
        }
    }
}

/// How far a start has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Progress {
    /// The program does not run, and will not.
    NotBegun,
    /// It may run: its shell was told what it is, or may have been.
    MayRun,
}

/// Writes down in a pane what a later server of ours needs to know of it.
pub(super) async fn note(link: &Link, pane: Pane, text: &str) -> Result<(), StartError> {
    link.ask(noting(pane, text)).await.map(drop).map_err(|error| of_start(&error))
}

fn noting(pane: Pane, text: &str) -> String {
    format!("set-option -p -t {pane} {OPTION} {}", quoted(text))
}

/// A title as one line of a command.
fn plain(title: &str) -> String {
    title.chars().map(|c| if c.is_control() { ' ' } else { c }).collect()
}

/// Starts a program. When the client goes before the program can run, that is done again over the next one.
pub(super) async fn start(
    server: &Arc<ServerLink>,
    mut link: Link,
    session: &Session,
    spec: StartSpec,
) -> Result<Started, StartError> {
    let (id, mut tries) = (spec.id, 1);
    loop {
        let mut progress = Progress::NotBegun;
        let started = start_over(server, link.clone(), session, &spec, &mut progress).await;
        if started.is_ok() || !link.is_gone() {
            return started;
        }
        // Whether there is a window is not known when that was not answered. It goes before another one is made.
        let closed = server.close(&link, id).await;
        if progress == Progress::MayRun {
            let mark = mark(id);
            if let Err(error) = clients::look_after(&mark, &["kill", "0"], SCRIPT_LIMIT).await {
                tracing::warn!(mark, %error, "the processes of a start that failed may not have ended");
            }
        }
        if progress == Progress::MayRun || closed.is_err() || tries == TRIES {
            return started;
        }
        tries += 1;
        link = server.link().await?;
    }
}

async fn start_over(
    server: &Arc<ServerLink>,
    link: Link,
    session: &Session,
    spec: &StartSpec,
    progress: &mut Progress,
) -> Result<Started, StartError> {
    let (_none, unheld) =
        spec.ceilings.split(|_| Some("programs of tmux are tmux's own children".to_owned()))?;
    // tmux says in TERM what it is; everything else is what was asked for.
    let mut env = spec.env.clone();
    env.remove("TERM");
    let mut greeting = Greeting::new(spec, &env, Afterwards::Waits, Far::AsFound)?;
    let size = spec.io.size();
    let (id, server) = (spec.id, Arc::clone(server));
    let mut window = Window { server: Arc::clone(&server), link: link.clone(), pane: None };
    let (name, greeter) = (spec.id.to_string(), greeting.greeter());
    let opening = session.open(&link, &name, size, &greeter, |pane| window.pane = Some(pane));
    let (found, followed) = opening.await?;
    let pane = found.pane;
    window.pane = Some(pane);
    // The greeter waits, so all of this is so before the program is there.
    note(&link, pane, &Kept::option(spec.id, Some(greeting.word()), None)).await?;
    let resized = resize_window(&link, &found.window, size, session.sizing()).await;
    resized.map_err(|error| of_start(&error))?;
    if let Some(title) = &spec.title {
        // From here on the option says whose it is, and the name is free for people.
        let renamed = link.ask(format!("rename-window -t {} {}", found.window, quoted(&plain(title)))).await;
        renamed.map_err(|error| of_start(&error))?;
    }
    let (ended, end) = watch::channel(None);
    let ending = Some((greeting.ending(), ended));
    let handed_out = HandedOut::default();
    let (feeds, fed) = mpsc::channel(FEEDS);
    let mut source = PaneSource::new(fed, handed_out.clone());
    source.take(Feed { client: link.number, drawn: Vec::new(), pieces: followed.pieces, ending });
    let greeted = greet(&link, pane, spec.placing, &mut source, &mut greeting, progress);
    let greeted = tokio::time::timeout(GREETING_LIMIT, greeted).await;
    let pid = greeted
        .map_err(|_| start_error(ErrorCode::SpawnFailed, "the shell in the pane does not answer"))??;
    let kept = Kept { pane, word: Some(greeting.word().to_owned()), program: Identity::of(pid) };
    let noted = noting(pane, &Kept::option(id, kept.word.as_deref(), kept.program.as_ref()));
    server.insist(&link, &noted).await.map_err(|error| of_start(&error))?;
    // The pane is the control's from here on.
    window.pane = None;
    drop(window);
    let (herald, fate) = Fate::new();
    let (sizes, seen) = mpsc::channel(SIZES);
    tokio::spawn(pass_sizes(followed.size, sizes.clone()));
    if session.sizing() == Sizing::Attached {
        tokio::spawn(go_with_session(link.clone(), pane, followed.shown));
    }
    let owner = Owner::Us(session.sizing());
    let joined = Joined::new(link.clone(), &found, pid);
    let hearing = Hearing { link, end, process: joined.process.clone() };
    let (finder, place) = Joining::there(joined);
    let following = Following { server: Arc::clone(&server), id, owner, kept, finder, feeds, sizes };
    tokio::spawn(following.run(hearing, herald));
    Ok(Started {
        source: Box::new(source),
        sink: Some(Box::new(PaneSink::new(place.clone(), handed_out))),
        control: Box::new(TmuxControl::new(server, place, id, owner, fate, seen)),
        questions: Questions::ThePlaces,
        pid: Some(pid),
        unheld,
    })
}

/// Sees the program off; its process id, and whatever came behind the last word is output.
async fn greet(
    link: &Link,
    pane: Pane,
    placing: Placing,
    source: &mut PaneSource,
    greeting: &mut Greeting,
    progress: &mut Progress,
) -> Result<u32, StartError> {
    let mut program = 0;
    loop {
        let Some(piece) = source.piece().await else {
            return Err(if link.is_gone() { of_start(&link.is_gone_for()) } else { greeting.silence() });
        };
        let mut rest = Vec::new();
        let mut said = greeting.hear(&piece, &mut rest);
        while let Some(what) = said {
            match what {
                Said::Ready(_) => {
                    // The shell waits and says nothing meanwhile.
                    if placing == Placing::Loose
                        && let Err(error) = piped::pipe(link, pane).await
                    {
                        tracing::debug!(%pane, %error, "its output does not come by a pipe");
                    }
                    *progress = Progress::MayRun;
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
