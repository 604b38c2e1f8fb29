//! Idempotency keys of writes.

use ptyard_core::TerminalId;

use crate::answer::Answer;

/// What a key says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum KeyClaim {
    /// It is new and taken now.
    New,
    /// It was taken for the same content: what came of that, if it is known.
    Seen(Option<String>),
}

/// The keys of the terminals. Every answer survives the server: what was typed ends with the machine.
pub trait Keys {
    /// Takes a key for content of this digest. Of more than [`KEYS_KEPT`] keys of one terminal the oldest is forgotten.
    ///
    /// Fails with [`KeyConflict`] when the key was taken for other content.
    ///
    /// [`KEYS_KEPT`]: crate::sqlite::KEYS_KEPT
    /// [`KeyConflict`]: crate::StoreError::KeyConflict
    fn claim_key(&self, terminal: TerminalId, key: String, digest: u64) -> Answer<'_, KeyClaim>;

    /// Takes note of what came of a key.
    fn settle_key(&self, terminal: TerminalId, key: String, outcome: String) -> Answer<'_, ()>;

    /// Frees a key, for nothing came of it.
    fn free_key(&self, terminal: TerminalId, key: String) -> Answer<'_, ()>;
}
