//! What a server has of the programs, so that another keeper can be given it when the one that has it too dies.

use std::collections::HashMap;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use ptyard_core::TerminalId;

use super::link::Link;
use super::protocol::{KeptProgram, Parent, ToKeeper};
use crate::local::launcher::{Copies, Lent};
use crate::local::tree::cgroup::Home;

/// The programs that this server has from its keepers.
///
/// # Invariants
/// 1. What a program gives up is told to the keeper that holds copies of it: telling, and handing programs over to the
///    next keeper, exclude each other.
#[derive(Debug, Default)]
pub(super) struct Holdings {
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    /// The keeper that has copies; one that died until the next one has them. `None` before the first.
    link: Option<Arc<Link>>,
    held: HashMap<TerminalId, Held>,
    /// The cgroups of keepers that died. Each of them is here until this server ends: they are as few as those deaths.
    homes: Vec<Arc<Home>>,
}

impl State {
    /// Tells the keeper. Of one that is gone the copies are as well.
    fn say(&self, message: &ToKeeper) {
        let _ = self.link.as_ref().map(|link| link.say(message));
    }
}

/// One program.
#[derive(Debug)]
struct Held {
    facts: Facts,
    /// `None` while it is put together.
    lent: Option<Lent>,
}

/// What a keeper has to know of a program beside its descriptors.
#[derive(Debug, Clone)]
pub(super) struct Facts {
    pub(super) pid: u32,
    pub(super) started_ticks: Option<u64>,
    pub(super) tty: bool,
    pub(super) cgroup: Option<PathBuf>,
    pub(super) timer_slack_ns: Option<u64>,
}

impl Holdings {
    fn state(&self) -> MutexGuard<'_, State> {
        // Every change leaves it whole.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes note of a program. What is returned stands for the keeper's copies.
    pub(super) fn hold(self: &Arc<Self>, id: TerminalId, facts: Facts) -> Arc<KeptCopies> {
        self.state().held.insert(id, Held { facts, lent: None });
        Arc::new(KeptCopies { id, holdings: Arc::clone(self) })
    }

    /// Takes note of the cgroups of a keeper that died.
    pub(super) fn hold_home(&self, home: Arc<Home>) {
        self.state().homes.push(home);
    }

    /// Ends a program that could not be put together.
    pub(super) fn kill(&self, id: TerminalId) {
        let mut state = self.state();
        state.held.remove(&id);
        state.say(&ToKeeper::Kill(id));
    }

    /// Gives everything to another keeper, which is spoken to from now on; says how many programs that were.
    pub(super) fn hand_over(&self, link: Arc<Link>) -> usize {
        let mut state = self.state();
        for home in &state.homes {
            let message = ToKeeper::Home { path: home.path().to_owned() };
            if let Err(error) = link.say_with(&message, &[home.lock()]) {
                tracing::error!(%error, path = %home.path().display(), "the new keeper does not guard a cgroup");
            }
        }
        let mut given = 0;
        for (id, held) in &state.held {
            match held.give(*id, &link) {
                Ok(true) => given += 1,
                Ok(false) => {}
                Err(error) => tracing::error!(%error, %id, "a program will end with this server"),
            }
        }
        state.link = Some(link);
        given
    }
}

impl Held {
    /// Gives it to a keeper, unless nothing is open of it any more; says whether it did.
    fn give(&self, id: TerminalId, link: &Link) -> io::Result<bool> {
        let Some((lent, pidfd)) = self.lent.as_ref().and_then(|lent| Some((lent, lent.pidfd.upgrade()?)))
        else {
            return Ok(false);
        };
        let (output, input) = (lent.output.upgrade(), lent.input.upgrade());
        // Of an output that has ended nothing is open here, and the next server shall see that it has.
        let ended: Option<OwnedFd> = match output {
            Some(_) => None,
            None => Some(io::pipe()?.0.into()),
        };
        let mut descriptors: Vec<BorrowedFd<'_>> = vec![pidfd.as_fd()];
        descriptors.extend(output.iter().map(|fd| fd.get_ref().as_fd()).chain(ended.iter().map(AsFd::as_fd)));
        descriptors.extend(input.iter().map(|fd| fd.get_ref().as_fd()));
        let exit = lent.exit.borrow().clone();
        let Facts { pid, started_ticks, tty, cgroup, timer_slack_ns } = self.facts.clone();
        let program = KeptProgram {
            id,
            pid,
            started_ticks,
            parent: Parent::Heir,
            tty,
            cgroup,
            timer_slack_ns,
            reaped: exit.is_some(),
            exit,
            unseen_from: None,
        };
        link.say_with(&ToKeeper::Adopt(program), &descriptors).map(|()| true)
    }
}

/// What the keeper holds of a program.
#[derive(Debug)]
pub(super) struct KeptCopies {
    id: TerminalId,
    holdings: Arc<Holdings>,
}

impl Copies for KeptCopies {
    fn close_input(&self) {
        self.holdings.state().say(&ToKeeper::CloseInput(self.id));
    }

    fn lend(&self, lent: Lent) {
        if let Some(held) = self.holdings.state().held.get_mut(&self.id) {
            held.lent = Some(lent);
        }
    }
}

impl Drop for KeptCopies {
    fn drop(&mut self) {
        let mut state = self.holdings.state();
        state.held.remove(&self.id);
        state.say(&ToKeeper::Forget(self.id));
    }
}
