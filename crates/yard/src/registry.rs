//! Which terminals there are.

use std::collections::{BTreeMap, HashMap, HashSet, VecDeque};
use std::sync::Arc;
use std::sync::atomic::Ordering;

use ptyard_core::{SessionId, TerminalId};

use crate::entry::Entry;
use crate::error::YardError;
use crate::ids::ShortIds;
use crate::policy::{self, Candidate};
use crate::spec::TerminalRef;

/// How many removed terminals are remembered, so that asking for one says "removed" and not "unknown".
const REMEMBERED: usize = 10_000;

/// How many ended terminals are kept readable. Of more, the oldest are removed.
const ENDED_KEPT: usize = 1_000;

/// How many bytes of ended terminals' logs are kept. Of more, the oldest are removed: 4 GiB.
const ENDED_BYTES_KEPT: u64 = 4 << 30;

/// The registry. Behind a mutex that is never held across a wait.
///
/// # Invariants
/// 1. `names` and `shorts` point at entries of `entries`, each at one that has that name or short id.
/// 2. An id is in `entries` or among the removed, never in both.
#[derive(Default)]
pub(crate) struct Registry {
    entries: BTreeMap<TerminalId, Arc<Entry>>,
    names: HashMap<String, TerminalId>,
    shorts: HashMap<SessionId, TerminalId>,
    /// Names of programs that are being started.
    reserved: HashSet<String>,
    removed: VecDeque<(TerminalId, SessionId, Option<String>)>,
    pub(crate) short_ids: ShortIds,
    pub(crate) starting: usize,
    pub(crate) closed: bool,
}

impl Registry {
    pub(crate) fn find(&self, at: &TerminalRef) -> Result<Arc<Entry>, YardError> {
        let id = match at {
            TerminalRef::Id(id) => Some(*id),
            TerminalRef::Short(short) => self.shorts.get(short).copied(),
            TerminalRef::Name(name) => self.names.get(name).copied(),
        };
        if let Some(entry) = id.and_then(|id| self.entries.get(&id)) {
            return Ok(Arc::clone(entry));
        }
        let was_removed = self.removed.iter().any(|(id, short, name)| match at {
            TerminalRef::Id(asked) => asked == id,
            TerminalRef::Short(asked) => asked == short,
            TerminalRef::Name(asked) => Some(asked) == name.as_ref(),
        });
        Err(if was_removed {
            YardError::TerminalRemoved(at.clone())
        } else {
            YardError::UnknownTerminal(at.clone())
        })
    }

    /// The id given last.
    pub(crate) fn newest(&self) -> Option<TerminalId> {
        self.entries.last_key_value().map(|(id, _)| *id)
    }

    /// Keeps a name for a program that is being started.
    pub(crate) fn reserve(&mut self, name: &str) -> Result<(), YardError> {
        if self.names.contains_key(name) || !self.reserved.insert(name.to_owned()) {
            return Err(YardError::NameTaken(name.to_owned()));
        }
        Ok(())
    }

    pub(crate) fn unreserve(&mut self, name: &str) {
        self.reserved.remove(name);
    }

    pub(crate) fn insert(&mut self, entry: Arc<Entry>) {
        let id = entry.id();
        if let Some(name) = &entry.record.name {
            self.reserved.remove(name);
            self.names.insert(name.clone(), id);
        }
        self.shorts.insert(entry.record.session_id, id);
        self.entries.insert(id, entry);
        self.check_invariants();
    }

    /// Takes a terminal out: from here on nobody finds it.
    pub(crate) fn remove(&mut self, id: TerminalId) -> Option<Arc<Entry>> {
        let entry = self.entries.remove(&id)?;
        if let Some(name) = &entry.record.name {
            self.names.remove(name);
        }
        self.shorts.remove(&entry.record.session_id);
        if !entry.was_told() {
            self.short_ids.take_back(entry.record.session_id);
        }
        if self.removed.len() == REMEMBERED {
            self.removed.pop_front();
        }
        self.removed.push_back((id, entry.record.session_id, entry.record.name.clone()));
        self.check_invariants();
        Some(entry)
    }

    pub(crate) fn all(&self) -> impl Iterator<Item = &Arc<Entry>> {
        self.entries.values()
    }

    pub(crate) fn running(&self) -> usize {
        self.all().filter(|entry| !entry.has_exited()).count()
    }

    /// The ended terminals to remove so that the rest fits: oldest first, those whose end was handed over before others.
    pub(crate) fn overdue(&self) -> Vec<TerminalId> {
        let ended: Vec<_> = self.all().filter(|entry| entry.has_exited()).collect();
        let sizes = |entry: &&Arc<Entry>| {
            let bounds = entry.terminal.log().bounds();
            bounds.end - bounds.start
        };
        let (mut count, mut bytes) = (ended.len(), ended.iter().map(sizes).sum::<u64>());
        if count <= ENDED_KEPT && bytes <= ENDED_BYTES_KEPT {
            return Vec::new();
        }
        let (delivered, undelivered): (Vec<_>, Vec<_>) = ended.into_iter().partition(|entry| !entry.counts());
        let mut overdue = Vec::new();
        for entry in delivered.into_iter().chain(undelivered) {
            if count <= ENDED_KEPT && bytes <= ENDED_BYTES_KEPT {
                break;
            }
            count -= 1;
            bytes -= sizes(&entry);
            overdue.push(entry.id());
        }
        overdue
    }

    /// The terminals that count for a client, oldest first.
    pub(crate) fn of_client(&self, client: &str) -> Vec<Arc<Entry>> {
        self.all()
            .filter(|entry| entry.record.client.as_deref() == Some(client) && entry.counts())
            .cloned()
            .collect()
    }

    /// The terminal of a client that ends so that one more fits under `most`. It no longer counts for the client.
    pub(crate) fn prune(&self, client: &str, most: usize) -> Option<Arc<Entry>> {
        let entries = self.of_client(client);
        if entries.len() < most {
            return None;
        }
        let candidates: Vec<_> = entries
            .iter()
            .map(|entry| Candidate { last_used: entry.last_used(), exited: entry.has_exited() })
            .collect();
        let victim = Arc::clone(&entries[policy::victim(&candidates)?]);
        victim.pruned.store(true, Ordering::Release);
        Some(victim)
    }

    fn check_invariants(&self) {
        if cfg!(debug_assertions) && self.entries.len() < 64 {
            for (name, id) in &self.names {
                assert_eq!(self.entries[id].record.name.as_ref(), Some(name), "invariant 1: names");
            }
            for (short, id) in &self.shorts {
                assert_eq!(self.entries[id].record.session_id, *short, "invariant 1: short ids");
            }
            assert!(self.removed.iter().all(|(id, ..)| !self.entries.contains_key(id)), "invariant 2");
        }
    }
}
