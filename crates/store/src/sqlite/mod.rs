//! The store in one file of one machine.

/// How many events are kept. Of more, the oldest are forgotten and a reader is told.
pub const EVENTS_KEPT: u64 = 100_000;

/// How many keys of one terminal are kept. Of more, the oldest are forgotten.
pub const KEYS_KEPT: u32 = 256;
