//! The idempotency keys of writes: a write that was repeated, perhaps because its server died, is not typed twice.
//!
//! # Invariants
//! 1. A key is in the store before anything of its write is typed.

use ptyard_core::TerminalId;
use ptyard_store::KeyClaim;
use ptyard_terminal::Written;
use serde::{Deserialize, Serialize};

use crate::error::YardError;
use crate::spec::TypedInput;
use crate::yard::Yard;

/// What a key says about a write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum KeyState {
    /// It is new: type.
    New,
    /// It was used for this very input: what came of it, if that is known by now.
    Seen(Option<Written>),
}

/// [`Written`], as it stands in the store.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
struct Taken {
    taken: usize,
    taken_back: usize,
    mark: u64,
    input_ended: bool,
}

impl Yard {
    /// Looks a key up, and takes it when it is new.
    pub(crate) async fn claim_key(
        &self,
        terminal: TerminalId,
        key: &str,
        input: &TypedInput,
    ) -> Result<KeyState, YardError> {
        Ok(match self.inner.store.claim_key(terminal, key.to_owned(), digest(input)).await? {
            KeyClaim::New => KeyState::New,
            KeyClaim::Seen(outcome) => KeyState::Seen(outcome.as_deref().and_then(read)),
        })
    }

    /// Takes note of what came of a keyed write. Of one that typed nothing the key is free again.
    pub(crate) async fn settle_key(&self, terminal: TerminalId, key: &str, written: Option<Written>) {
        let key = key.to_owned();
        let store = &self.inner.store;
        let noted = match written.filter(|written| written.taken > 0) {
            Some(written) => match serde_json::to_string(&Taken::from(written)) {
                Ok(outcome) => store.settle_key(terminal, key, outcome).await,
                // Known as typed, with an outcome nobody knows.
                Err(_) => Ok(()),
            },
            None => store.free_key(terminal, key).await,
        };
        if let Err(error) = noted {
            tracing::warn!(%terminal, %error, "what came of a keyed write is not written down");
        }
    }
}

fn read(outcome: &str) -> Option<Written> {
    serde_json::from_str::<Taken>(outcome).ok().map(Written::from)
}

/// FNV-1a of the input: the same in every version of this program, and only there to notice a mistake.
fn digest(input: &TypedInput) -> u64 {
    let feed = |digest: u64, bytes: &[u8]| {
        bytes.iter().fold(digest, |digest, byte| (digest ^ u64::from(*byte)).wrapping_mul(0x100_0000_01b3))
    };
    let start = 0xcbf2_9ce4_8422_2325;
    match input {
        TypedInput::Bytes(bytes) => feed(feed(start, b"b"), bytes),
        TypedInput::Keys(names) => feed(feed(start, b"k"), names.as_bytes()),
        TypedInput::Paste(text) => feed(feed(start, b"p"), text.as_bytes()),
    }
}

impl From<Written> for Taken {
    fn from(written: Written) -> Self {
        let Written { taken, taken_back, mark, input_ended } = written;
        Self { taken, taken_back, mark, input_ended }
    }
}

impl From<Taken> for Written {
    fn from(taken: Taken) -> Self {
        let Taken { taken, taken_back, mark, input_ended } = taken;
        Self { taken, taken_back, mark, input_ended }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kinds_of_input_are_told_apart() {
        let text = || "Enter".to_owned();
        let digests: std::collections::BTreeSet<u64> = [
            TypedInput::Bytes(Vec::new()),
            TypedInput::Bytes(text().into()),
            TypedInput::Keys(text()),
            TypedInput::Paste(text()),
        ]
        .iter()
        .map(digest)
        .collect();
        assert_eq!(digests.len(), 4);
    }

    #[test]
    fn an_outcome_comes_back() {
        let written = Written { taken: 3, taken_back: 1, mark: 7, input_ended: true };
        assert_eq!(read(&serde_json::to_string(&Taken::from(written)).unwrap()), Some(written));
        assert_eq!(read("of another version"), None);
    }
}
