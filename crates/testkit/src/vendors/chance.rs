//! Rounds of a test that goes by chance and can be had again.

/// Numbers that follow from a seed: xorshift.
#[derive(Debug)]
pub struct Chance(u64);

impl Chance {
    /// One with the seed that `PTYARD_SEED` says or a new one, which is told on stderr, and how many rounds there shall be:
    /// what `PTYARD_ROUNDS` says, else `rounds`.
    ///
    /// # Panics
    /// When there is no chance in this machine.
    #[must_use]
    pub fn and_rounds(rounds: u64) -> (Self, u64) {
        let said = |name: &str| std::env::var(name).ok().and_then(|text| text.parse::<u64>().ok());
        let mut random = [0; 8];
        getrandom::fill(&mut random).expect("random bytes");
        let seed = said("PTYARD_SEED").unwrap_or(u64::from_ne_bytes(random)).max(1);
        let rounds = said("PTYARD_ROUNDS").unwrap_or(rounds);
        eprintln!("{rounds} rounds with PTYARD_SEED={seed}");
        (Self(seed), rounds)
    }

    /// The next one, below `bound`.
    pub fn below(&mut self, bound: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % bound
    }

    /// One of these.
    ///
    /// # Panics
    /// When there are none.
    pub fn pick<T: Clone>(&mut self, of: &[T]) -> T {
        let at = usize::try_from(self.below(of.len() as u64)).expect("invariant: it is an index");
        of[at].clone()
    }
}
