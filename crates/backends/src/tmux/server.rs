//! The server, and the one client of it.

use std::collections::HashMap;
use std::path::PathBuf;
use std::time::Duration;

use ptyard_core::{ErrorCode, TerminalId};
use ptyard_terminal::backend::StartError;
use ptyard_terminal::local::Identity;
use tokio::process::Command;
use tokio::sync::{Mutex, OnceCell};
use tokio::time::Instant;

use super::link::{Follow, Link, TmuxError};
use super::protocol::{Pane, quoted};
use crate::shared::{clients, start_error};

/// The session programs run in when none is named.
pub(super) const SESSION: &str = "ptyard";

/// The option of a pane that says for which terminal it is, and what its next server needs: see [`Kept`].
pub(super) const OPTION: &str = "@ptyard";

/// Whether the session holds nothing but the window that keeps it, and nobody looks on.
const NOBODY: &str = "#{&&:#{==:#{session_windows},1},#{==:#{session_attached},0}}";

/// How long a server may take to be there, after one that is on its way out has gone.
const SERVER_LIMIT: Duration = Duration::from_secs(10);

/// How long after a client of ours has gone the next one comes at the least: a server (3.3a) may fall over one that comes
/// while it puts another away.
const AFTER_CLIENT: Duration = Duration::from_millis(50);

/// How long the next client of a server comes after the one before at the least: something may end every one.
const BETWEEN_CLIENTS: Duration = Duration::from_millis(250);

/// How long a server is left alone before it is tried again: a killed one is gone in milliseconds on a machine that has
/// nothing else to do.
const BETWEEN_TRIES: Duration = Duration::from_millis(50);

/// Which server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Server {
    /// The user's own, as `tmux` finds it.
    Default,
    /// The one with this socket, without the user's configuration.
    At(PathBuf),
}

#[derive(Debug)]
pub(super) struct ServerLink {
    server: Server,
    link: Mutex<Option<Current>>,
    /// What an earlier server of ours left, as it was when the first who asked looked.
    earlier: OnceCell<HashMap<TerminalId, Kept>>,
}

/// The client there is, or was.
#[derive(Debug)]
struct Current {
    link: Link,
    since: Instant,
}

/// What to ask for what stands in the options of all panes.
const KEPT: &str = "#{pane_id} #{?@ptyard,#{@ptyard},#{window_name}}";

/// What stands in a pane's option, for a later server of ours.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Kept {
    pub(super) pane: Pane,
    /// The word of its shell, if that is ours and came as far.
    pub(super) word: Option<String>,
    /// The program's process, if it came as far.
    pub(super) program: Option<Identity>,
}

impl Kept {
    /// What is to stand in the option.
    pub(super) fn option(id: TerminalId, word: Option<&str>, program: Option<&Identity>) -> String {
        let mut text = id.to_string();
        if let Some(word) = word {
            text += &format!(" {word}");
        }
        if let Some(Identity { pid, started_ticks, boot_id }) = program {
            text += &format!(" {pid} {started_ticks} {boot_id}");
        }
        text
    }

    /// What an answer about all panes says.
    fn all(listed: &str) -> impl Iterator<Item = (TerminalId, Self)> {
        listed.lines().filter_map(|line| {
            let (pane, rest) = line.split_once(' ')?;
            Self::parse(Pane::parse(pane.as_bytes())?, rest)
        })
    }

    fn parse(pane: Pane, text: &str) -> Option<(TerminalId, Self)> {
        let mut words = text.split_whitespace();
        let id = words.next()?.parse().ok()?;
        let word = words.next().map(str::to_owned);
        let mut identity = || {
            let (pid, ticks, boot) = (words.next()?, words.next()?, words.next()?);
            Some(Identity {
                pid: pid.parse().ok()?,
                started_ticks: ticks.parse().ok()?,
                boot_id: boot.to_owned(),
            })
        };
        let program = identity();
        Some((id, Self { pane, word, program }))
    }
}

/// What to do about a server that is not there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum IfThereIsNone {
    Start,
    Leave,
}

/// Why a client was not greeted.
enum Ungreeted {
    /// The server left before it answered.
    NotYet(String),
    Unreachable(String),
}

impl ServerLink {
    pub(super) fn new(server: Server) -> Self {
        Self { server, link: Mutex::default(), earlier: OnceCell::new() }
    }

    pub(super) async fn version(&self) -> Result<String, StartError> {
        let mut command = self.tmux();
        command.arg("-V");
        match clients::run(command, SERVER_LIMIT).await {
            Ok(output) => Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned()),
            Err(error) => Err(start_error(ErrorCode::BackendUnreachable, format!("tmux: {error}"))),
        }
    }

    /// What an earlier server of ours left for this terminal. Looks once, and starts no server for it.
    pub(super) async fn earlier(&self, id: TerminalId) -> Option<Kept> {
        let look = async || {
            let mut command = self.tmux();
            command.args(["list-panes", "-a", "-F", KEPT]);
            let listed = clients::run(command, SERVER_LIMIT).await;
            // Without a server there is nothing, and the client says so.
            let listed = listed.map(|output| String::from_utf8_lossy(&output.stdout).into_owned());
            Kept::all(&listed.unwrap_or_default()).collect()
        };
        self.earlier.get_or_init(look).await.get(&id).cloned()
    }

    fn tmux(&self) -> Command {
        let mut command = clients::command("tmux");
        if let Server::At(socket) = &self.server {
            command.arg("-S").arg(socket).args(["-f", "/dev/null"]);
        }
        command.arg("-u");
        command
    }

    /// The client, which is started if there is none, or if the server it was of is gone.
    pub(super) async fn link(&self) -> Result<Link, StartError> {
        let mut current = self.link.lock().await;
        if let Some(Current { link, .. }) = current.as_ref().filter(|current| !current.link.is_gone()) {
            return Ok(link.clone());
        }
        let give_up = Instant::now() + SERVER_LIMIT;
        if current.is_some() {
            tokio::time::sleep(AFTER_CLIENT).await;
        }
        let link = loop {
            match self.greet(IfThereIsNone::Start).await {
                Ok(link) => break link,
                // A server that is on its way out still takes clients, and its socket goes last.
                Err(Ungreeted::NotYet(_)) if Instant::now() < give_up => {}
                Err(Ungreeted::NotYet(error) | Ungreeted::Unreachable(error)) => {
                    return Err(start_error(ErrorCode::BackendUnreachable, format!("tmux: {error}")));
                }
            }
            tokio::time::sleep(BETWEEN_TRIES).await;
        };
        *current = Some(Current { link: link.clone(), since: Instant::now() });
        Ok(link)
    }

    /// This client, or the next one of the same server. One that is gone takes nothing with it while its server lives.
    pub(super) async fn again(&self, before: &Link) -> Result<Link, TmuxError> {
        if !before.is_gone() {
            return Ok(before.clone());
        }
        let Some(server) = &before.server else { return Err(before.is_gone_for()) };
        let mut current = self.link.lock().await;
        if let Some(Current { link, .. }) = current.as_ref().filter(|current| !current.link.is_gone()) {
            return if link.has_server_of(before) { Ok(link.clone()) } else { Err(before.is_gone_for()) };
        }
        let now = Instant::now();
        let earliest = current.as_ref().map_or(now, |current| current.since + BETWEEN_CLIENTS);
        let mut next = earliest.max(now + AFTER_CLIENT);
        let greeting = async {
            while next < now + SERVER_LIMIT {
                tokio::time::sleep_until(next).await;
                match self.greet(IfThereIsNone::Leave).await {
                    Ok(link) => return link.has_server_of(before).then_some(link),
                    Err(Ungreeted::NotYet(_)) => {}
                    Err(Ungreeted::Unreachable(_)) => break,
                }
                next = Instant::now() + BETWEEN_TRIES;
            }
            None
        };
        let link = tokio::select! {
            biased;
            () = server.ended() => None,
            link = greeting => link,
        };
        let link = link.ok_or_else(|| before.is_gone_for())?;
        tracing::info!("tmux has another client: {}", before.is_gone_for());
        *current = Some(Current { link: link.clone(), since: Instant::now() });
        Ok(link)
    }

    /// Gives a command that may be carried out twice, until a client was answered.
    pub(super) async fn insist(&self, link: &Link, command: &str) -> Result<String, TmuxError> {
        let mut link = link.clone();
        loop {
            link = self.again(&link).await?;
            match link.ask(command).await {
                Err(TmuxError::Gone(_)) => {}
                answered => return answered,
            }
        }
    }

    /// Closes what there is of a terminal whose start was not finished.
    pub(super) async fn close(&self, link: &Link, id: TerminalId) -> Result<(), TmuxError> {
        let listed = self.insist(link, &format!("list-panes -a -F {}", quoted(KEPT))).await?;
        for (_, Kept { pane, .. }) in Kept::all(&listed).filter(|(whose, _)| *whose == id) {
            match self.insist(link, &format!("kill-pane -t {pane}")).await {
                Err(error @ TmuxError::Gone(_)) => return Err(error),
                // Refused: somebody else has closed it.
                Ok(_) | Err(TmuxError::Refused(_)) => {}
            }
        }
        Ok(())
    }

    /// Starts a client.
    async fn greet(&self, server: IfThereIsNone) -> Result<Link, Ungreeted> {
        let unreachable = |error: &dyn std::fmt::Display| Ungreeted::Unreachable(error.to_string());
        let not_started = |error: std::io::Error| match error.kind() {
            std::io::ErrorKind::NotFound => unreachable(&"it is not installed: install tmux, 3.3 or newer"),
            _ => unreachable(&error),
        };
        let mut command = self.tmux();
        if server == IfThereIsNone::Leave {
            command.arg("-N");
        }
        // The session's first window keeps it, and with it our client, when no program runs.
        command
            .args(["-C", "new-session", "-A", "-s", SESSION, "-n", "ptyard", "-x", "80", "-y", "24"])
            .arg("exec sleep 2147483647");
        let link = Link::start(command).map_err(not_started)?;
        // Our size is not the size of any window, however small we are. And when we are gone, however that comes, the
        // session goes too unless a program is in it.
        let clear = quoted(&format!("if-shell -F '{NOBODY}' 'kill-session -t ={SESSION}:'"));
        let greeting = [
            ("refresh-client -f ignore-size".to_owned(), Follow::Nothing),
            (format!("set-hook -t '={SESSION}:' client-detached {clear}"), Follow::Nothing),
            ("display-message -p '#{pid}'".to_owned(), Follow::Nothing),
        ];
        let greeted = tokio::time::timeout(SERVER_LIMIT, link.ask_at_once(greeting)).await;
        let greeted = greeted.map(|[sized, hooked, asked]| sized.and(hooked).and(asked));
        match greeted {
            Ok(Ok(pid)) => {
                let pid =
                    pid.text.trim_end().parse().map_err(|_| unreachable(&"its answer is not understood"))?;
                link.of(pid).map_err(|error| Ungreeted::NotYet(error.to_string()))
            }
            Ok(Err(error)) => Err(Ungreeted::NotYet(error.to_string())),
            Err(_) => Err(unreachable(&"the server does not answer")),
        }
    }
}

pub(super) fn of_start(error: &TmuxError) -> StartError {
    let code = match error {
        TmuxError::Gone(_) => ErrorCode::BackendUnreachable,
        TmuxError::Refused(why) if why.contains("can't find") => ErrorCode::PlaceNotFound,
        TmuxError::Refused(_) => ErrorCode::SpawnFailed,
    };
    start_error(code, error.to_string())
}

pub(super) fn not_understood(text: &str) -> StartError {
    start_error(ErrorCode::SpawnFailed, format!("tmux answered what is not understood: {text:?}"))
}

/// Lets our client hear of a window of another session: it hears of those of its own, so the window is linked there.
pub(super) async fn follow_window(link: &Link, window: &str) -> Result<(), TmuxError> {
    let ours = quoted(&format!("={SESSION}:"));
    let there = link.ask(format!("list-windows -t {ours} -F '#{{window_id}}'")).await?;
    if there.lines().any(|line| line == window) {
        return Ok(());
    }
    link.ask(format!("link-window -d -s {window} -t {ours}")).await.map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_kept_comes_back_from_the_option() {
        let id = TerminalId::from_bits(7);
        let program = Identity { pid: 12, started_ticks: 99, boot_id: "b-0".to_owned() };
        let own = Kept { pane: Pane(3), word: Some("ptyard-1f".to_owned()), program: Some(program.clone()) };
        let option = Kept::option(id, own.word.as_deref(), Some(&program));
        assert_eq!(Kept::parse(Pane(3), &option), Some((id, own)));
        let bare = Kept { pane: Pane(3), word: None, program: None };
        assert_eq!(Kept::parse(Pane(3), &Kept::option(id, None, None)), Some((id, bare)));
        assert_eq!(Kept::parse(Pane(3), "bash"), None);
        assert_eq!(Kept::parse(Pane(3), ""), None);
    }
}
