//! One container: sessions, each with at most one terminal.

use std::collections::{BTreeMap, HashMap};
use std::io;
use std::sync::{Arc, Mutex};

use tokio::sync::watch;

use super::locked;
use super::pty::Pty;
use crate::vendors::program::{Io, Order, Told};
use crate::vendors::sandbox::Sandbox;

/// The session of those who name none.
pub(super) const DEFAULT: &str = "default";

/// Where sessions are that name no directory; where that does not exist, they are in the root.
const WORKSPACE: &str = "/workspace";

/// A container, until it is dropped.
#[derive(Debug)]
pub(super) struct Container {
    pub(super) sandbox: Sandbox,
    sessions: Mutex<HashMap<String, Arc<Session>>>,
    /// True when it is gone.
    pub(super) gone: watch::Sender<bool>,
}

/// A session: what its programs are given.
#[derive(Debug)]
pub(super) struct Session {
    cwd: String,
    env: BTreeMap<String, String>,
    pty: Mutex<Option<Arc<Pty>>>,
}

impl Container {
    pub(super) fn new() -> Self {
        let sessions = Mutex::default();
        let container = Self { sandbox: Sandbox::new(), sessions, gone: watch::Sender::new(false) };
        container.open(DEFAULT, None, BTreeMap::new());
        container
    }

    /// Opens a session; false when there is one of that name.
    pub(super) fn open(&self, id: &str, cwd: Option<&str>, env: BTreeMap<String, String>) -> bool {
        let cwd = cwd.unwrap_or(WORKSPACE);
        // As the vendor does with a directory that is not there.
        let cwd = if std::path::Path::new(cwd).is_dir() { cwd } else { "/" }.to_owned();
        let mut sessions = locked(&self.sessions);
        if sessions.contains_key(id) {
            return false;
        }
        sessions.insert(id.to_owned(), Arc::new(Session { cwd, env, pty: Mutex::default() }));
        true
    }

    pub(super) fn session(&self, id: &str) -> Option<Arc<Session>> {
        locked(&self.sessions).get(id).cloned()
    }

    /// Names of the sessions that somebody opened.
    pub(super) fn sessions(&self) -> Vec<String> {
        locked(&self.sessions).keys().filter(|id| *id != DEFAULT).cloned().collect()
    }

    /// Closes a session: its terminal is closed under its shell. False when there is none.
    pub(super) fn close(&self, id: &str) -> bool {
        let session = locked(&self.sessions).remove(id);
        let Some(session) = session else { return false };
        if let Some(pty) = locked(&session.pty).take() {
            pty.destroy();
        }
        true
    }

    /// Ends everything in it.
    pub(super) fn end(&self) {
        self.gone.send_replace(true);
        self.sandbox.end();
    }

    /// A program in a session.
    pub(super) fn order(&self, session: &Session, argv: Vec<String>, io: Io) -> Order {
        let mut env = self.sandbox.environment();
        env.extend(session.env.clone());
        Order { argv, cwd: Some(session.cwd.clone()), env, io, told: Told::BehindOutput }
    }

    /// The terminal of a session, which it gets with the first who asks and keeps: another one gets the same.
    pub(super) fn pty(
        &self,
        session: &Session,
        shell: &str,
        (cols, rows): (u16, u16),
        replay_bytes: usize,
    ) -> io::Result<Arc<Pty>> {
        let mut pty = locked(&session.pty);
        if let Some(pty) = &*pty {
            return Ok(Arc::clone(pty));
        }
        let mut order = self.order(session, vec![shell.to_owned()], Io::Tty(cols, rows));
        order.env.insert("TERM".to_owned(), "xterm-256color".to_owned());
        order.env.insert("PROMPT_COMMAND".to_owned(), "clear; unset PROMPT_COMMAND".to_owned());
        let made = Pty::start(&order, &self.sandbox.mark(), replay_bytes)?;
        *pty = Some(Arc::clone(&made));
        Ok(made)
    }
}

impl Drop for Container {
    fn drop(&mut self) {
        self.end();
    }
}
