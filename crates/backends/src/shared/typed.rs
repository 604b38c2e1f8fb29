//! What was typed and may not have been taken.
//!
//! # Invariants
//! 1. Each byte has one offset, and is kept until the program is known to have taken it: typed again at its offset, it is
//!    typed once.

/// Input on its way.
#[derive(Debug, Default)]
pub(crate) struct Typed {
    /// Where in the input `held` begins; before it everything was taken.
    taken: u64,
    held: Vec<u8>,
    closed_at: Option<u64>,
}

impl Typed {
    /// Goes on behind what somebody else typed, up to this offset.
    #[cfg(feature = "blaxel")]
    pub(crate) fn begin_at(&mut self, offset: u64) {
        self.taken = offset;
    }

    pub(crate) fn end(&self) -> u64 {
        self.taken + self.held.len() as u64
    }

    /// Bytes that may not have been taken.
    #[cfg(feature = "ssh")]
    pub(crate) fn waiting(&self) -> usize {
        self.held.len()
    }

    /// Takes more; the offset at which it is typed.
    pub(crate) fn add(&mut self, bytes: &[u8]) -> u64 {
        let at = self.end();
        self.held.extend_from_slice(bytes);
        at
    }

    /// The input ends here; the offset at which.
    pub(crate) fn close(&mut self) -> u64 {
        *self.closed_at.insert(self.end())
    }

    /// So much was taken; `false` when that is old news.
    pub(crate) fn taken(&mut self, offset: u64) -> bool {
        let Some(more) = offset.checked_sub(self.taken).and_then(|more| usize::try_from(more).ok()) else {
            return false;
        };
        self.held.drain(..more.min(self.held.len()));
        self.taken = offset;
        true
    }

    /// What may not have arrived, and the offset at which it is typed again.
    pub(crate) fn again(&self) -> (u64, &[u8]) {
        (self.taken, &self.held)
    }

    /// Where it ends, when it does.
    pub(crate) const fn closed_at(&self) -> Option<u64> {
        self.closed_at
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_not_taken_stays_at_its_offset() {
        let mut typed = Typed::default();
        assert_eq!((typed.add(b"abc"), typed.add(b"de")), (0, 3));
        assert!(typed.taken(4));
        assert_eq!(typed.again(), (4, &b"e"[..]));
        assert!(!typed.taken(3), "what is late says nothing");
        assert_eq!((typed.again(), typed.closed_at()), ((4, &b"e"[..]), None));
        assert_eq!((typed.close(), typed.closed_at()), (5, Some(5)));
    }
}
