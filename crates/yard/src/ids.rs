//! Ids: full ones for good, short ones for models.

use std::collections::HashSet;

use ptyard_core::{SessionId, TerminalId};

/// A new full id: a UUIDv7, so that ids sort by age.
pub(crate) fn new_terminal_id(newest: Option<TerminalId>) -> TerminalId {
    after(newest, TerminalId::from_bits(uuid::Uuid::now_v7().as_u128()))
}

/// The id drawn, or, when the clock was set back since the newest one, one of the millisecond after that.
fn after(newest: Option<TerminalId>, drawn: TerminalId) -> TerminalId {
    /// The time stands in front of these.
    const RANDOM_BITS: u32 = 80;
    match newest {
        Some(newest) if drawn <= newest => {
            let next = (newest.bits() >> RANDOM_BITS) + 1;
            TerminalId::from_bits(next << RANDOM_BITS | drawn.bits() & ((1 << RANDOM_BITS) - 1))
        }
        _ => drawn,
    }
}

/// A name for one life of a server.
pub(crate) fn new_owner() -> String {
    uuid::Uuid::now_v7().to_string()
}

/// Six random lower-case hex digits.
pub(crate) fn chunk_id() -> String {
    format!("{:06x}", random_u32() & 0xff_ffff)
}

fn random_u32() -> u32 {
    getrandom::u32().expect("invariant: the kernel gives random bytes once it has booted")
}

/// The short ids of a server's life.
///
/// # Invariants
/// 1. An id that was told to anybody is never given out again.
#[derive(Debug, Default)]
pub(crate) struct ShortIds {
    given: HashSet<u32>,
}

impl ShortIds {
    /// A short id nobody was told before; `None` when all are used up.
    pub(crate) fn give(&mut self) -> Option<SessionId> {
        const COUNT: u32 = SessionId::MAX - SessionId::MIN + 1;
        if self.given.len() as u32 >= COUNT {
            return None;
        }
        // Random first, so that a stale id of an earlier life rarely hits; then the next free one, so that it ends.
        let start = random_u32() % COUNT;
        (0..COUNT)
            .map(|step| SessionId::MIN + (start + step) % COUNT)
            .find(|n| self.given.insert(*n))
            .and_then(SessionId::new)
    }

    /// How many are used up.
    pub(crate) fn in_use(&self) -> usize {
        self.given.len()
    }

    /// Takes note of an id of an earlier life, which its terminal keeps.
    pub(crate) fn keep(&mut self, id: SessionId) {
        self.given.insert(id.get());
    }

    /// Takes back an id that nobody was told.
    pub(crate) fn take_back(&mut self, id: SessionId) {
        self.given.remove(&id.get());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_sort_by_age_also_when_the_clock_is_set_back_by_a_day() {
        const DAY_MS: u128 = 24 * 60 * 60 * 1000;
        let today = new_terminal_id(None);
        let yesterday = TerminalId::from_bits(today.bits() - (DAY_MS << 80));
        let next = after(Some(today), yesterday);
        assert!(next > today, "{next} {today}");
        assert_eq!(next.bits() << 48, yesterday.bits() << 48, "it is as random as it was drawn");
        assert_eq!(after(Some(yesterday), today), today);
        assert!(new_terminal_id(Some(next)) > next);
    }

    #[test]
    fn short_ids_are_never_given_twice_and_run_out_with_a_word() {
        let mut ids = ShortIds::default();
        let mut seen = HashSet::new();
        for _ in SessionId::MIN..=SessionId::MAX {
            assert!(seen.insert(ids.give().unwrap()));
        }
        assert!(ids.give().is_none());
        let back = SessionId::new(4_242).unwrap();
        ids.take_back(back);
        assert_eq!(ids.give(), Some(back));
    }
}
