//! The session in which a program gets a window of its own.
//!
//! Our client hears of the windows of its own session only, so a window of another one is linked there too, in the same
//! step in which it is made: what it prints is heard from the first byte on.

use ptyard_core::{ErrorCode, Size};
use ptyard_terminal::backend::StartError;
use tokio::sync::watch;

use super::joined::{FOUND, Found};
use super::link::{Answer, Follow, Followed, Link, Shown, TmuxError};
use super::protocol::{Pane, quoted};
use super::server::{SESSION, not_understood, of_start};
use crate::shared::start_error;

/// The option of a session that was made for programs of ours only.
const OURS: &str = "@ptyard-session";

/// How often a session may come or go between a look at it and the next step.
const TRIES: usize = 5;

/// Longest name of a session, in bytes.
const NAME_BYTES: usize = 64;

/// Which session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Session {
    /// The one of our client, which is always there.
    Own,
    /// Somebody's, which has to be there.
    Theirs(String),
    /// One for programs of ours only: made with the first of them, gone with the last. Its windows have the size of
    /// whoever attaches.
    Made(String),
}

/// Whose wish the size of a window is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Sizing {
    /// The one of whoever has the terminal.
    Asked,
    /// That of the person who attaches; nobody's but the terminal's while nobody does.
    Attached,
}

/// A window that was made: how it is found, and what comes of it.
pub(super) type Opened = (Found, Followed);

impl Session {
    /// The one that `session=NAME` names.
    pub(super) fn made(name: &str) -> Result<Self, StartError> {
        let plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-');
        if !(1..=NAME_BYTES).contains(&name.len()) || !name.bytes().all(plain) || name == SESSION {
            let message = format!(
                "{name:?} is no name for a session of its own: letters, digits, `_` and `-`, and not {SESSION:?}"
            );
            return Err(start_error(ErrorCode::InvalidArgument, message));
        }
        Ok(Self::Made(name.to_owned()))
    }

    pub(super) const fn sizing(&self) -> Sizing {
        match self {
            Self::Own | Self::Theirs(_) => Sizing::Asked,
            Self::Made(_) => Sizing::Attached,
        }
    }

    /// Makes a window in which the shell runs this line. A window that is made and cannot be used is `abandoned`.
    pub(super) async fn open(
        &self,
        link: &Link,
        window: &str,
        size: Size,
        line: &str,
        mut abandoned: impl FnMut(Pane),
    ) -> Result<Opened, StartError> {
        let tail = format!("-c / /bin/sh -c {}", quoted(line));
        let new_window = |session: &str| {
            let (window, at) = (quoted(window), quoted(&format!("={session}:")));
            format!("new-window -d -P -F {FOUND} -n {window} -t {at} {tail}")
        };
        match self {
            Self::Own => {
                let made =
                    link.ask_and_follow(new_window(SESSION)).await.map_err(|error| of_start(&error))?;
                opened(made)
            }
            Self::Theirs(session) => {
                let commands =
                    [(new_window(session), Follow::Named), (linked(session, window), Follow::Nothing)];
                let [made, linked] = link.ask_at_once(commands).await;
                settled(made, [linked], &mut abandoned).map_err(|error| of_start(&error)).and_then(opened)
            }
            Self::Made(session) => {
                for _ in 0..TRIES {
                    let made = if is_there(link, session).await? {
                        let commands = [
                            (new_window(session), Follow::Named),
                            (linked(session, window), Follow::Nothing),
                        ];
                        let [made, linked] = link.ask_at_once(commands).await;
                        settled(made, [linked], &mut abandoned)
                    } else {
                        let (cols, rows) = (size.cols(), size.rows());
                        let (name, title) = (quoted(session), quoted(window));
                        let new_session = format!(
                            "new-session -d -P -F {FOUND} -s {name} -n {title} -x {cols} -y {rows} {tail}"
                        );
                        let mark = format!("set-option -t {} {OURS} 1", quoted(&format!("={session}:")));
                        let commands = [
                            (new_session, Follow::Named),
                            (mark, Follow::Nothing),
                            (linked(session, window), Follow::Nothing),
                        ];
                        let [made, marked, linked] = link.ask_at_once(commands).await;
                        settled(made, [marked, linked], &mut abandoned)
                    };
                    match made {
                        Ok(made) => return opened(made),
                        // Another program of ours made it first, or the last one in it has just ended.
                        Err(TmuxError::Refused(why))
                            if why.contains("duplicate session") || why.contains("can't find session") => {}
                        Err(error) => return Err(of_start(&error)),
                    }
                }
                let message = format!("the session {session:?} comes and goes in tmux: try again");
                Err(start_error(ErrorCode::SpawnFailed, message))
            }
        }
    }
}

/// Closes a pane of ours when a person ends the session that was made for it: our client's keeps the window otherwise.
pub(super) async fn go_with_session(link: Link, pane: Pane, mut shown: watch::Receiver<Shown>) {
    if shown.wait_for(|shown| *shown == Shown::Once).await.is_ok() {
        let _gone = link.ask(format!("kill-pane -t {pane}")).await;
    }
}

/// Links a window of this session to our client's.
fn linked(session: &str, window: &str) -> String {
    let (from, to) = (quoted(&format!("={session}:={window}")), quoted(&format!("={SESSION}:")));
    format!("link-window -d -s {from} -t {to}")
}

/// Whether a session for programs of ours is there.
async fn is_there(link: &Link, session: &str) -> Result<bool, StartError> {
    let filter = quoted(&format!("#{{==:#{{session_name}},{session}}}"));
    let look = format!("list-sessions -f {filter} -F '#{{session_name}} #{{{OURS}}}'");
    let told = link.ask(look).await.map_err(|error| of_start(&error))?;
    match told.lines().next().map(|line| line.ends_with(" 1")) {
        None => Ok(false),
        Some(true) => Ok(true),
        Some(false) => {
            let message = format!(
                "tmux has a session {session:?} that somebody else made: choose another name, or end it with \
                 `tmux kill-session -t ={session}`"
            );
            Err(start_error(ErrorCode::NameTaken, message))
        }
    }
}

/// The window, when everything behind it was done too.
fn settled<const N: usize>(
    made: Result<Answer, TmuxError>,
    rest: [Result<Answer, TmuxError>; N],
    abandoned: &mut impl FnMut(Pane),
) -> Result<Answer, TmuxError> {
    let made = made?;
    if let Some(error) = rest.into_iter().find_map(Result::err) {
        if let Some(found) = Found::parse(&made.text) {
            abandoned(found.pane);
        }
        return Err(error);
    }
    Ok(made)
}

fn opened(made: Answer) -> Result<Opened, StartError> {
    match (Found::parse(&made.text), made.followed) {
        (Some(found), Some(followed)) => Ok((found, followed)),
        _ => Err(not_understood(&made.text)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_tmux_would_change_or_that_are_ours_are_refused() {
        assert_eq!(Session::made("cao-a_1").ok(), Some(Session::Made("cao-a_1".to_owned())));
        for bad in ["", "a.b", "a:b", "a b", "ä", "ptyard", &"x".repeat(65)] {
            let refused = Session::made(bad).err().map(|error| error.code);
            assert_eq!(refused, Some(ErrorCode::InvalidArgument), "{bad:?}");
        }
    }
}
