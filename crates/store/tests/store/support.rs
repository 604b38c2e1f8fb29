//! What the tests share.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use ptyard_core::TerminalId;
use ptyard_store::Owner;
use ptyard_store::inbox::{Batch, Claim, Due, NewMessage, Purpose, Receipt, Urgency};
use ptyard_store::sqlite::SqliteStore;
pub(crate) use ptyard_store::wait;
use tempfile::TempDir;

/// A store in a directory of its own.
pub(crate) struct Place {
    pub(crate) directory: TempDir,
    pub(crate) store: SqliteStore,
}

impl Place {
    pub(crate) fn new() -> Self {
        Self::at(tempfile::tempdir().unwrap())
    }

    /// In memory where there is such a place, for tests that do not care for the disk.
    pub(crate) fn fast() -> Self {
        Self::at(tempfile::tempdir_in("/dev/shm").or_else(|_none| tempfile::tempdir()).unwrap())
    }

    fn at(directory: TempDir) -> Self {
        let store = SqliteStore::open(directory.path().join("ptyard.db")).unwrap();
        Self { directory, store }
    }

    /// The same store, closed and opened again.
    pub(crate) fn reopened(self) -> Self {
        let Self { directory, store } = self;
        drop(store);
        let store = SqliteStore::open(directory.path().join("ptyard.db")).unwrap();
        Self { directory, store }
    }
}

pub(crate) fn terminal(n: u128) -> TerminalId {
    TerminalId::from_bits(n)
}

pub(crate) fn at(ms: u64) -> SystemTime {
    UNIX_EPOCH + Duration::from_millis(ms)
}

pub(crate) fn owner(name: &str) -> Owner {
    Owner::new(name)
}

/// A message from nobody for terminal `to`.
pub(crate) fn message(to: u128, text: &str) -> NewMessage {
    NewMessage {
        to: terminal(to),
        from: None,
        origin: None,
        purpose: Purpose::Message,
        text: text.to_owned(),
        key: None,
        urgency: Urgency::Ready,
        at: at(1_000),
    }
}

/// Everything that is due, one message.
pub(crate) fn next(receiver: u128) -> Claim {
    Claim { receiver: terminal(receiver), owner: owner("server 1"), batch: Batch::One, due: Due::All }
}

pub(crate) fn receipt() -> Receipt {
    Receipt { evidence: "screen".to_owned(), offset: Some(77), at: at(2_000) }
}
