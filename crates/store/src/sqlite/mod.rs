//! The store in one file of one machine.
//!
//! One thread writes and one reads, each on a connection of its own; both take their jobs from a bounded queue, whose
//! overflow rule is that callers wait.

mod convert;
mod events;
mod fault;
mod flows;
mod handoffs;
mod inbox;
mod keys;
mod migrate;
mod open;
mod reader;
mod sessions;
mod terminals;
mod writer;

use std::path::{Path, PathBuf};

use rusqlite::Connection;

use crate::answer::{Answer, Survives};
use crate::error::StoreError;
use crate::sqlite::fault::Fault;
use crate::sqlite::reader::Reader;
use crate::sqlite::writer::Writer;

/// How many events are kept. Of more, the oldest are forgotten and a reader is told.
pub const EVENTS_KEPT: u64 = 100_000;

/// How many keys of one terminal are kept. Of more, the oldest are forgotten.
pub const KEYS_KEPT: u32 = 256;

/// How many messages may wait for one receiver: more than an agent reads in a week.
pub const MOST_PENDING: u64 = 10_000;

/// The longest text of a message: 1 MiB, what one write to a terminal takes many times over.
pub const MOST_TEXT_BYTES: usize = 1 << 20;

/// How many handoffs with a result are kept. Of more, the oldest are forgotten.
pub const HANDOFFS_KEPT: u64 = 10_000;

/// How many runs of one flow that are over are kept. Of more, the oldest are forgotten.
pub const FLOW_RUNS_KEPT: u32 = 100;

/// A store in an SQLite database. Dropped, it finishes the jobs it has and closes the file.
pub struct SqliteStore {
    path: PathBuf,
    writer: Writer,
    reader: Reader,
}

impl SqliteStore {
    /// Opens the database at `path`, or makes it (0600), and brings it to this version's schema.
    ///
    /// A damaged database, one of a newer version and one of something else are refused and left as they are.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, StoreError> {
        let path = path.as_ref().to_owned();
        let (writing, reading) = open::connections(&path)?;
        let writer = Writer::start(path.clone(), writing)?;
        let reader = Reader::start(path.clone(), reading)?;
        Ok(Self { path, writer, reader })
    }

    /// Where it is.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    fn write<T: Send + 'static>(
        &self,
        survives: Survives,
        job: impl FnOnce(&Connection) -> Result<T, Fault> + Send + 'static,
    ) -> Answer<'_, T> {
        Box::pin(self.writer.run(survives, job))
    }

    fn read<T: Send + 'static>(
        &self,
        job: impl FnOnce(&Connection) -> Result<T, Fault> + Send + 'static,
    ) -> Answer<'_, T> {
        Box::pin(self.reader.run(job))
    }
}
