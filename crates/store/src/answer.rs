//! How the store answers.

use std::pin::Pin;

use crate::error::StoreError;

/// What a call comes to. It needs no runtime of any kind. Dropped before it is ready, the call may have happened or not.
pub type Answer<'a, T> = Pin<Box<dyn Future<Output = Result<T, StoreError>> + Send + 'a>>;

/// What an answer outlives.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Survives {
    /// The death of the server, as by `kill -9`. Enough for what is about programs of this machine, which end with it.
    Server,
    /// The death of the machine: it was written through to the disk.
    Machine,
}
