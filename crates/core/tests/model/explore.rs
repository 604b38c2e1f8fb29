//! A breadth-first search over all interleavings, with the shortest way to whatever it finds.

use std::collections::hash_map::Entry;
use std::collections::{BTreeMap, HashMap, VecDeque};
use std::fmt::Debug;
use std::hash::{Hash, Hasher};

/// A system whose every interleaving is tried.
pub(crate) trait System: Clone + Hash {
    /// One step.
    type Action: Copy + Debug;

    /// The steps that are possible now. Those that are only sometimes taken (noise, crashes, people) are `chance`s: a
    /// state in which nothing else is left has to be a good one to stay in for ever.
    fn actions(&self, actions: &mut Vec<(Chance, Self::Action)>);

    /// Takes a step; what it broke, if anything.
    fn apply(&mut self, action: Self::Action) -> Result<(), &'static str>;

    /// What is wrong with staying here for ever, if anything.
    fn at_rest(&self) -> Result<Rest, &'static str>;
}

/// Whether a step has to come at last.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Chance {
    /// It comes, sooner or later.
    Progress,
    /// It may come or not.
    Perhaps,
}

/// How a system came to rest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Rest {
    /// All is done.
    Done,
    /// Something waits, and it is told why.
    Waits(&'static str),
}

/// What was found.
#[derive(Debug)]
pub(crate) struct Found<A> {
    /// States.
    pub(crate) states: usize,
    /// What broke, with the shortest way there.
    pub(crate) broken: BTreeMap<&'static str, Vec<A>>,
    /// How it came to rest, and how often.
    pub(crate) rests: BTreeMap<Rest, usize>,
}

/// 64 bits that stand for a state: among two million, two that differ have the same with a chance of 1 in ten million.
pub(crate) fn fingerprint(state: &impl Hash) -> u64 {
    let mut hasher = Fold::default();
    state.hash(&mut hasher);
    hasher.finish()
}

/// A hash by folded multiplication: an eighth of the time of the standard one, which has to fear attackers.
#[derive(Default)]
struct Fold(u64);

impl Hasher for Fold {
    fn finish(&self) -> u64 {
        fold(self.0, 0x9e37_79b9_7f4a_7c15)
    }

    fn write(&mut self, bytes: &[u8]) {
        for piece in bytes.chunks(8) {
            let mut word = [0; 8];
            word[..piece.len()].copy_from_slice(piece);
            self.write_u64(u64::from_le_bytes(word));
        }
    }

    fn write_u8(&mut self, n: u8) {
        self.write_u64(n.into());
    }

    fn write_u64(&mut self, n: u64) {
        self.0 = fold(self.0.rotate_left(23) ^ n ^ 0xa076_1d64_78bd_642f, 0xe703_7ed1_a0b4_28db);
    }

    fn write_usize(&mut self, n: usize) {
        self.write_u64(n as u64);
    }
}

fn fold(a: u64, b: u64) -> u64 {
    let wide = u128::from(a) * u128::from(b);
    (wide >> 64) as u64 ^ wide as u64
}

/// Every state that can be reached from `start`, but not beyond one that is broken, and no more than `limit`.
pub(crate) fn explore<S: System>(start: S, limit: usize) -> Found<S::Action> {
    let mut parents: HashMap<u64, Option<(u64, S::Action)>> = HashMap::new();
    let mut frontier = VecDeque::new();
    let mut found = Found { states: 0, broken: BTreeMap::new(), rests: BTreeMap::new() };
    let mut actions = Vec::new();
    let first = fingerprint(&start);
    parents.insert(first, None);
    frontier.push_back((first, start));
    while let Some((here, state)) = frontier.pop_front() {
        if found.states == limit {
            break;
        }
        found.states += 1;
        actions.clear();
        state.actions(&mut actions);
        let mut moves = false;
        for (chance, action) in actions.drain(..) {
            let mut next = state.clone();
            if let Err(broken) = next.apply(action) {
                moves = true;
                found.broken.entry(broken).or_insert_with(|| way(&parents, here, Some(action)));
                continue;
            }
            let there = fingerprint(&next);
            moves |= chance == Chance::Progress && there != here;
            if let Entry::Vacant(entry) = parents.entry(there) {
                entry.insert(Some((here, action)));
                frontier.push_back((there, next));
            }
        }
        if !moves {
            match state.at_rest() {
                Ok(rest) => *found.rests.entry(rest).or_default() += 1,
                Err(broken) => {
                    found.broken.entry(broken).or_insert_with(|| way(&parents, here, None));
                }
            }
        }
    }
    found
}

fn way<A: Copy>(parents: &HashMap<u64, Option<(u64, A)>>, mut at: u64, last: Option<A>) -> Vec<A> {
    let mut way: Vec<A> = last.into_iter().collect();
    while let Some(Some((before, action))) = parents.get(&at) {
        way.push(*action);
        at = *before;
    }
    way.reverse();
    way
}
