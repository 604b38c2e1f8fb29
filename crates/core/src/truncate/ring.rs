//! The last bytes of a stream.

/// Keeps the last `limit` bytes pushed, growing only as they come.
///
/// # Invariants
/// 1. `bytes` is never longer than `limit`, and `start` is 0 until it is that long.
/// 2. The kept bytes in order are `bytes[start..]`, then `bytes[..start]`.
#[derive(Debug, Clone)]
pub(super) struct Ring {
    bytes: Vec<u8>,
    start: usize,
    limit: usize,
}

impl Ring {
    pub(super) const fn new(limit: usize) -> Self {
        Self { bytes: Vec::new(), start: 0, limit }
    }

    pub(super) const fn limit(&self) -> usize {
        self.limit
    }

    pub(super) fn len(&self) -> usize {
        self.bytes.len()
    }

    pub(super) fn push(&mut self, new: &[u8]) {
        // Of more than a ring full, only the end can stay.
        let new = &new[new.len().saturating_sub(self.limit)..];
        let (grow, wrap) = new.split_at(new.len().min(self.limit - self.bytes.len()));
        self.bytes.extend_from_slice(grow);
        if !wrap.is_empty() {
            let (to_end, from_begin) = wrap.split_at(wrap.len().min(self.limit - self.start));
            self.bytes[self.start..self.start + to_end.len()].copy_from_slice(to_end);
            self.bytes[..from_begin.len()].copy_from_slice(from_begin);
            self.start = (self.start + wrap.len()) % self.limit;
        }
        debug_assert!(self.bytes.len() <= self.limit, "invariant 1");
        debug_assert!(self.start == 0 || self.bytes.len() == self.limit, "invariant 1");
    }

    /// The kept bytes in order.
    pub(super) fn into_vec(mut self) -> Vec<u8> {
        self.bytes.rotate_left(self.start);
        self.bytes
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn keeps_the_last_bytes_in_order(
            limit in 0usize..20,
            pieces in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..30), 0..12),
        ) {
            let mut ring = Ring::new(limit);
            for piece in &pieces {
                ring.push(piece);
            }
            let whole = pieces.concat();
            prop_assert_eq!(ring.into_vec(), &whole[whole.len().saturating_sub(limit)..]);
        }
    }
}
