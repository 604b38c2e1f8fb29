//! A window of its own for a program.

use std::time::Duration;

use ptyard_core::ErrorCode;
use ptyard_terminal::backend::{Questions, StartError, StartSpec, Started};
use ptyard_terminal::local::Identity;
use tokio::sync::{mpsc, watch};

use super::control::{Owner, TmuxControl, mark, own_end, pass_sizes, resize_window};
use super::joined::{Joined, Joining};
use super::link::Link;
use super::pane::{Feed, HandedOut, PaneSink, PaneSource, type_into};
use super::protocol::{Pane, quoted};
use super::server::{Kept, OPTION, of_start};
use super::session::{Session, Sizing, go_with_session};
use crate::shared::fate::Fate;
use crate::shared::greeting::{Afterwards, Far, Greeting, Said};
use crate::shared::start_error;

/// How long a shell may take to greet: login files are not read, but the machine may be busy.
const GREETING_LIMIT: Duration = Duration::from_secs(20);

/// Sizes that somebody has set, on their way to the terminal. The one who passes them on waits.
pub(super) const SIZES: usize = 4;

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

/// Writes down in a pane what a later server of ours needs to know of it.
pub(super) async fn note(link: &Link, pane: Pane, text: &str) -> Result<(), StartError> {
    let set = link.ask(format!("set-option -p -t {pane} {OPTION} {}", quoted(text))).await;
    set.map(drop).map_err(|error| of_start(&error))
}

/// A title as one line of a command.
fn plain(title: &str) -> String {
    title.chars().map(|c| if c.is_control() { ' ' } else { c }).collect()
}

pub(super) async fn start(link: Link, session: &Session, spec: StartSpec) -> Result<Started, StartError> {
    let (_none, unheld) =
        spec.ceilings.split(|_| Some("programs of tmux are tmux's own children".to_owned()))?;
    // tmux says in TERM what it is; everything else is what was asked for.
    let mut env = spec.env.clone();
    env.remove("TERM");
    let mut greeting = Greeting::new(&spec, &env, Afterwards::Waits, Far::AsFound)?;
    let size = spec.io.size();
    let mut window = Window { link: &link, pane: None };
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
    let mut source =
        PaneSource::new(Feed { drawn: Vec::new(), pieces: followed.pieces, ending }, handed_out.clone());
    let greeted = tokio::time::timeout(GREETING_LIMIT, greet(&link, pane, &mut source, &mut greeting)).await;
    let pid = greeted
        .map_err(|_| start_error(ErrorCode::SpawnFailed, "the shell in the pane does not answer"))??;
    note(&link, pane, &Kept::option(spec.id, Some(greeting.word()), Identity::of(pid).as_ref())).await?;
    // The pane is the control's from here on.
    window.pane = None;
    drop(window);
    let (herald, fate) = Fate::new();
    let (sizes, seen) = mpsc::channel(SIZES);
    tokio::spawn(pass_sizes(followed.size, sizes));
    if session.sizing() == Sizing::Attached {
        tokio::spawn(go_with_session(link.clone(), pane, followed.shown));
    }
    tokio::spawn(own_end(link.clone(), pane, mark(spec.id), end, herald));
    let place = Joining::there(Joined::new(link, &found, pid));
    Ok(Started {
        source: Box::new(source),
        sink: Some(Box::new(PaneSink::new(place.clone(), handed_out))),
        control: Box::new(TmuxControl::new(place, spec.id, Owner::Us(session.sizing()), fate, seen)),
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
