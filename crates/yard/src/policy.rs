//! Which terminal of a client ends when it has too many: what models were trained to expect.

use ptyard_core::Moment;

/// Most terminals of a client at once, unless it says otherwise.
pub(crate) const MAX_TERMINALS: u32 = 64;

/// From this share of the limit on, the client is warned: 60 of 64.
pub(crate) const WARN_BELOW_MAX: u32 = 4;

/// The terminals used last are never ended.
const PROTECTED: usize = 8;

/// A terminal as the policy sees it, in order of insertion.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Candidate {
    pub(crate) last_used: Moment,
    pub(crate) exited: bool,
}

/// The index of the terminal to end for a new one: of all but the eight used last, the one unused longest that has
/// exited, else the one unused longest.
pub(crate) fn victim(candidates: &[Candidate]) -> Option<usize> {
    let mut order: Vec<usize> = (0..candidates.len()).collect();
    // Stable: of equal times the one inserted earlier counts as used later, and is protected first.
    order.sort_by_key(|&i| std::cmp::Reverse(candidates[i].last_used));
    let mut rest: Vec<usize> = order.into_iter().skip(PROTECTED).collect();
    rest.sort_by_key(|&i| (candidates[i].last_used, i));
    rest.iter().copied().find(|&i| candidates[i].exited).or_else(|| rest.first().copied())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn live(n: usize) -> Vec<Candidate> {
        (0..n).map(|i| Candidate { last_used: Moment::from_millis(i as u64), exited: false }).collect()
    }

    #[test]
    fn the_examples_of_the_model_contract() {
        assert_eq!(victim(&live(9)), Some(0), "nine live: the oldest");
        let mut nine = live(9);
        nine[8].exited = true;
        assert_eq!(victim(&nine), Some(0), "the only exited one is protected: the oldest live");
        let mut many = live(64);
        many[30].exited = true;
        many[40].exited = true;
        assert_eq!(victim(&many), Some(30));
        let mut equal = vec![Candidate { last_used: Moment::EPOCH, exited: false }; 12];
        assert_eq!(victim(&equal), Some(8));
        equal[10].exited = true;
        assert_eq!(victim(&equal), Some(10));
        assert_eq!(victim(&live(8)), None);
        assert_eq!(victim(&[]), None);
    }
}
