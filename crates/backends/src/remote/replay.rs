//! Going on behind a connection that broke, where a vendor plays again what was printed last.
//!
//! A replay is everything that was printed, as long as that is less than what the vendor keeps; then what is new begins
//! where what was heard ends. Later it is the last so many bytes, and where they begin is found by what was heard: the
//! longest beginning of the replay that is also the end of what was heard. That is believed when it is at least half of
//! what the vendor keeps and does not repeat itself. Otherwise nobody knows how much is missing or is there twice.

/// What was heard so far, as far as it is needed.
///
/// # Invariants
/// 1. `tail` is the last `limit` bytes of what was heard, or all of it.
#[derive(Debug)]
pub(crate) struct Heard {
    /// What the vendor keeps, in bytes.
    limit: usize,
    /// How much was heard, in bytes.
    total: u64,
    /// At most twice the limit: it is cut now and then, and not for each piece.
    tail: Vec<u8>,
}

impl Heard {
    /// Nothing yet, of a vendor that keeps `limit` bytes.
    pub(crate) const fn new(limit: usize) -> Self {
        Self { limit, total: 0, tail: Vec::new() }
    }

    /// So many bytes were heard, of which these are the last.
    pub(crate) fn so_far(limit: usize, total: u64, tail: Vec<u8>) -> Self {
        Self { limit, total, tail }
    }

    /// How many bytes were heard.
    pub(crate) const fn total(&self) -> u64 {
        self.total
    }

    /// These bytes were heard.
    pub(crate) fn take(&mut self, bytes: &[u8]) {
        self.total += bytes.len() as u64;
        self.tail.extend_from_slice(&bytes[bytes.len().saturating_sub(self.limit)..]);
        if self.tail.len() > 2 * self.limit {
            self.tail.drain(..self.tail.len() - self.limit);
        }
    }

    fn tail(&self) -> &[u8] {
        &self.tail[self.tail.len().saturating_sub(self.limit)..]
    }

    /// Where in a replay what is new begins; `None` when nobody can tell.
    pub(crate) fn new_in(&self, replay: &[u8]) -> Option<usize> {
        let tail = self.tail();
        if replay.len() < self.limit {
            let total = usize::try_from(self.total).ok()?;
            let known = replay.get(total.checked_sub(tail.len())?..total)?;
            return (known == tail).then_some(total);
        }
        let borders = borders(replay, tail);
        let &[longest, ref shorter @ ..] = borders.as_slice() else { return None };
        let repeats = shorter.first().is_some_and(|&next| next > longest / 2);
        (longest >= self.limit / 2 && !repeats).then_some(longest)
    }
}

/// The lengths of all beginnings of `replay` that are also ends of `tail`, the longest first.
fn borders(replay: &[u8], tail: &[u8]) -> Vec<usize> {
    // For each beginning of `replay`, the longest shorter one that is also its end.
    let mut falls_to = vec![0; replay.len() + 1];
    let mut length = 0;
    for at in 1..replay.len() {
        while length > 0 && replay[length] != replay[at] {
            length = falls_to[length];
        }
        if replay[length] == replay[at] {
            length += 1;
        }
        falls_to[at + 1] = length;
    }
    // The longest beginning that is an end of what was seen of `tail`.
    let mut length = 0;
    for &byte in tail {
        while length > 0 && (length == replay.len() || replay[length] != byte) {
            length = falls_to[length];
        }
        if replay.get(length) == Some(&byte) {
            length += 1;
        }
    }
    let mut all = Vec::new();
    while length > 0 {
        all.push(length);
        length = falls_to[length];
    }
    all
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const LIMIT: usize = 64;

    /// What was heard of `printed` when `heard` bytes had come, in pieces of this length.
    fn heard(printed: &[u8], piece: usize) -> Heard {
        let mut heard = Heard::new(LIMIT);
        for piece in printed.chunks(piece) {
            heard.take(piece);
        }
        heard
    }

    fn last(printed: &[u8]) -> &[u8] {
        &printed[printed.len().saturating_sub(LIMIT)..]
    }

    proptest! {
        /// Whatever was printed, and however often it repeats itself: who goes on goes on exactly, or not at all.
        #[test]
        fn whoever_goes_on_goes_on_exactly_where_they_were(
            printed in prop::collection::vec(0..4_u8, 0..400),
            at in 0.0..=1.0_f64,
            piece in 1..100_usize,
        ) {
            let at = (printed.len() as f64 * at) as usize;
            let (before, after) = printed.split_at(at);
            let heard = heard(before, piece);
            match heard.new_in(last(&printed)) {
                Some(new) => prop_assert_eq!(&last(&printed)[new..], after),
                // Not when all is there, and not when most of it is known.
                None => prop_assert!(printed.len() >= LIMIT),
            }
        }

        #[test]
        fn what_was_found_is_all_there_is(replay in prop::collection::vec(0..2_u8, 0..40), tail in prop::collection::vec(0..2_u8, 0..40)) {
            let want: Vec<usize> = (1..=replay.len().min(tail.len()))
                .rev()
                .filter(|&length| tail.ends_with(&replay[..length]))
                .collect();
            prop_assert_eq!(borders(&replay, &tail), want);
        }
    }

    #[test]
    fn lines_with_numbers_are_found_again() {
        let printed: Vec<u8> = (0..100).flat_map(|n| format!("line {n}\n").into_bytes()).collect();
        for at in printed.len() - LIMIT / 2..=printed.len() {
            assert_eq!(heard(&printed[..at], 7).new_in(last(&printed)), Some(LIMIT - (printed.len() - at)));
        }
        let too_late = printed.len() - LIMIT / 2 - 1;
        assert_eq!(heard(&printed[..too_late], 7).new_in(last(&printed)), None);
    }

    #[test]
    fn what_repeats_itself_is_nowhere() {
        let printed = [b'y', b'\n'].repeat(200);
        assert_eq!(heard(&printed[..380], 7).new_in(last(&printed)), None);
        // Unless everything was played.
        assert_eq!(heard(&printed[..20], 7).new_in(&printed[..40]), Some(20));
    }

    #[test]
    fn another_terminal_is_none_of_ours() {
        assert_eq!(heard(b"what was heard", 3).new_in(b"another shell's prompt"), None);
        assert_eq!(heard(b"what was heard", 3).new_in(b""), None);
        assert_eq!(heard(b"", 3).new_in(b"all is new"), Some(0));
    }
}
