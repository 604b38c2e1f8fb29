//! One program in a pane, followed to its end, over one client after the other.
//!
//! A client that is gone takes nothing with it while its server lives: the next one takes the pane up as it is after a
//! restart of ours. What was printed in between is known as far as the pane shows it (`draw`).

use std::sync::Arc;
use std::time::Duration;

use ptyard_core::{Cause, Exit, Size, TerminalId};
use ptyard_terminal::local::{Identity, OtherProcess};
use tokio::sync::{mpsc, watch};

use super::control::{Owner, SCRIPT_LIMIT, mark, pass_sizes};
use super::draw::{self, History};
use super::joined::{FOUND, Finder, Found, Joined};
use super::link::{Link, TmuxError};
use super::pane::{Feed, type_into};
use super::server::{Kept, ServerLink, follow_window};
use super::session::{Sizing, go_with_session};
use crate::shared::fate::Herald;
use crate::shared::greeting::Ending;
use crate::shared::{clients, look_after};

/// What the line in the log says.
const WORDS: &str = "nobody listened for a while; what was printed then is known as far as the pane shows it";

/// How long after a process has ended the server may take to know how.
const STATUS_LIMIT: Duration = Duration::from_secs(2);

/// How long a program whose pane was closed may take to leave by itself.
const HANG_UP_GRACE: Duration = Duration::from_secs(2);

/// A program in a pane, and whom to tell of it.
pub(super) struct Following {
    pub(super) server: Arc<ServerLink>,
    pub(super) id: TerminalId,
    pub(super) owner: Owner,
    pub(super) kept: Kept,
    /// Whoever acts on the pane.
    pub(super) finder: Finder,
    /// Whoever reads its output.
    pub(super) feeds: mpsc::Sender<Feed>,
    pub(super) sizes: mpsc::Sender<Size>,
}

/// What the end is heard by, over one client.
pub(super) struct Hearing {
    pub(super) link: Link,
    /// What the shell of a program of ours says.
    pub(super) end: watch::Receiver<Option<i32>>,
    /// The program. `None` when it had ended before it could be looked at.
    pub(super) process: Option<Arc<OtherProcess>>,
}

impl Following {
    /// Follows the program until its end is known, and tells it.
    pub(super) async fn run(self, mut hearing: Hearing, herald: Herald) {
        let exit = loop {
            let ended = match self.owner {
                Owner::Us(_) => self.own_end(&hearing, &herald).await,
                Owner::Others => self.others_end(&hearing).await,
            };
            match ended {
                Ok(exit) => break exit,
                Err(ClientGone) => match self.again(hearing).await {
                    Ok(next) => hearing = next,
                    Err(error) => break self.out_of_reach(&error).await,
                },
            }
        };
        herald.ended(exit);
    }

    /// Takes the pane up over the next client.
    async fn again(&self, before: Hearing) -> Result<Hearing, TmuxError> {
        let Hearing { mut link, process, .. } = before;
        loop {
            link = self.server.again(&link).await?;
            match self.take_up(&link, process.clone()).await {
                Err(TmuxError::Gone(_)) => {}
                taken_up => return taken_up,
            }
        }
    }

    /// Takes the pane up over this client: what it shows, and what it prints from then on. `process` is the program if
    /// that is known.
    pub(super) async fn take_up(
        &self,
        link: &Link,
        process: Option<Arc<OtherProcess>>,
    ) -> Result<Hearing, TmuxError> {
        let Kept { pane, word, program } = &self.kept;
        let pane = *pane;
        let answer = link.ask(format!("display-message -p -t {pane} {FOUND}")).await?;
        let not_there = || TmuxError::Refused(format!("can't find pane: {pane}"));
        let found = Found::parse(&answer).filter(|found| found.pane == pane).ok_or_else(not_there)?;
        follow_window(link, &found.window).await?;
        let (drawn, followed) = draw::follow(link, pane, WORDS, History::None).await?;
        if self.owner != Owner::Us(Sizing::Asked)
            && let Some(size) = found.size
        {
            let _has_room = self.sizes.try_send(size);
        }
        tokio::spawn(pass_sizes(followed.size, self.sizes.clone()));
        if self.owner == Owner::Us(Sizing::Attached) {
            tokio::spawn(go_with_session(link.clone(), pane, followed.shown));
        }
        let pid = program.as_ref().map_or(found.pid, |program| program.pid);
        let joined = match process {
            Some(_) => Joined::with(link.clone(), &found, pid, process),
            None => Joined::new(link.clone(), &found, pid),
        };
        let (told, end) = watch::channel(None);
        let ending = word.as_deref().map(|word| (Ending::of(word), told));
        let process = joined.process.clone();
        self.finder.send_replace(Some(Arc::new(joined)));
        // Nobody takes it when the terminal is gone by now; then its controls close the pane.
        let feed = Feed { client: link.number, drawn, pieces: followed.pieces, ending };
        let _nobody = self.feeds.send(feed).await;
        // A shell that told the end when nobody listened tells it again for a line that is typed.
        if let Owner::Us(_) = self.owner
            && !program.as_ref().is_some_and(Identity::is_there)
        {
            type_into(link, pane, b"\n").await?;
        }
        Ok(Hearing { link: link.clone(), end, process })
    }

    /// The end of a program of ours, as its shell says it behind the last byte of output.
    async fn own_end(&self, hearing: &Hearing, herald: &Herald) -> Result<Exit, ClientGone> {
        let (link, pane, mut end) = (&hearing.link, self.kept.pane, hearing.end.clone());
        let code = tokio::select! {
            biased;
            code = said(&mut end) => code,
            _ = link.gone() => None,
        };
        let Some(code) = code else {
            if link.is_gone() {
                return Err(ClientGone);
            }
            // Somebody closed the pane.
            self.hang_up().await;
            return Ok(Exit::lost());
        };
        let mark = mark(self.id);
        let looked = clients::look_after(&mark, &["count"], SCRIPT_LIMIT).await;
        let left = looked.map_or(0, |output| look_after::report(&output).found);
        herald.left_behind(left);
        if left == 0 {
            // Nobody is left who could print, and all that was printed came before the word. The pane goes before the end
            // is told: whoever hears of that may be the last who does anything here.
            link.forget(pane);
            let _gone = self.server.insist(link, &format!("kill-pane -t {pane}")).await;
        }
        Ok(Exit::exited(code))
    }

    /// Waits for the end of a process that was there before, and asks the server, whose child it was, how it ended. A
    /// pane that does not remain takes that with it.
    async fn others_end(&self, hearing: &Hearing) -> Result<Exit, ClientGone> {
        let (link, pane) = (&hearing.link, self.kept.pane);
        if let Some(process) = &hearing.process {
            tokio::select! {
                biased;
                () = process.ended() => {}
                _ = link.gone() => return Err(ClientGone),
            }
        }
        let give_up = tokio::time::Instant::now() + STATUS_LIMIT;
        let mut pause = Duration::from_millis(1);
        loop {
            let format = "#{pane_dead} #{pane_dead_status} #{pane_dead_signal}.";
            let answer = match link.ask(format!("display-message -p -t {pane} '{format}'")).await {
                Ok(answer) => answer,
                Err(TmuxError::Refused(_)) => {
                    link.forget(pane);
                    return Ok(unknown());
                }
                Err(TmuxError::Gone(_)) => return Err(ClientGone),
            };
            let (is_dead, rest) = answer.trim_end().trim_end_matches('.').split_once(' ').unwrap_or_default();
            let (code, signal) = rest.split_once(' ').unwrap_or_default();
            let exit = match (code.parse(), signal.parse()) {
                (_, Ok(signal)) => Some(Exit::signaled(signal)),
                (Ok(code), _) => Some(Exit::exited(code)),
                _ => None,
            };
            // A pane may be dead before its server has heard how.
            if exit.is_some() || tokio::time::Instant::now() > give_up {
                if is_dead == "1" {
                    // All that it printed came before this answer.
                    link.forget(pane);
                }
                return Ok(exit.unwrap_or_else(unknown));
            }
            // The server is told by a signal of the kernel, at the same time as we.
            if let Some(server) = &link.server {
                server.look_for_children();
            }
            tokio::time::sleep(pause).await;
            pause = (pause * 2).min(Duration::from_millis(50));
        }
    }

    /// What becomes of a program whose pane cannot be taken up again.
    pub(super) async fn out_of_reach(&self, error: &TmuxError) -> Exit {
        tracing::warn!(id = %self.id, pane = %self.kept.pane, %error, "a pane cannot be taken up again");
        match (self.owner, error) {
            // It may outlive its server, but nobody can reach it any more, or learn how it ends.
            (_, TmuxError::Gone(_)) => {}
            (Owner::Us(_), TmuxError::Refused(_)) => self.hang_up().await,
            (Owner::Others, TmuxError::Refused(_)) => return unknown(),
        }
        Exit::lost()
    }

    /// Ends a program whose pane is closed: its shell would not pass the hang-up on.
    async fn hang_up(&self) {
        let (mark, grace) = (mark(self.id), look_after::tenths(HANG_UP_GRACE));
        let ended = clients::look_after(&mark, &["kill", &grace], HANG_UP_GRACE + SCRIPT_LIMIT).await;
        if let Err(error) = ended {
            tracing::warn!(mark, %error, "the processes of a closed pane may not have ended");
        }
    }
}

/// The client is gone before the end was known.
struct ClientGone;

/// What was said, or nothing when the pane went with whoever would have.
async fn said(end: &mut watch::Receiver<Option<i32>>) -> Option<i32> {
    match end.wait_for(Option::is_some).await {
        Ok(code) => *code,
        Err(_) => None,
    }
}

fn unknown() -> Exit {
    Exit { cause: Cause::Unknown, ..Exit::lost() }
}
