//! The output log: every byte a terminal printed, append-only, at fixed absolute offsets.
//!
//! Per terminal one directory (mode 0700) with files of mode 0600:
//!
//! | file | what |
//! |---|---|
//! | `ring` | header (ends, seal) and a small ring of the latest bytes, mapped shared; only the header is left of a closed log, and its bytes when they fit into one page |
//! | `00000000000008388608.seg` | one segment of older bytes, named by its first offset, a multiple of the segment length |
//!
//! The way the data goes: [`LogWriter::fill`] hands the free part of the ring to `read(2)` and publishes what came;
//! when half of the ring is unflushed it is appended to a segment file with one `pwrite(2)`. A [`LogReader`] copies the
//! latest bytes out of the ring and reads older ones from the segments. [`recover`] and [`LogWriter::reopen`] read
//! what a dead writer left.
//!
//! # What holds
//! 1. A byte that was read into the ring has its offset for good and is in the log, whenever the process is killed:
//!    also in the middle of the `read(2)` itself (see [`LogWriter::fill`]) or of a flush, which is repeated at the same
//!    place. This is about the death of the process. Nothing is synced, so a machine that loses power may lose what
//!    the kernel had not written yet.
//! 2. A full disk loses nothing: bytes stay in the ring, whose blocks were reserved before anything was read into them;
//!    when there is no room left [`LogWriter::fill`] is [`FillError::Blocked`] and the program waits in its own
//!    `write(2)`. Sealing needs no space.
//! 3. Readers never change the log, hold no descriptor between calls, and hold no lock while they read a file.
//! 4. The quota removes whole segments, oldest first; every reader that missed bytes is told how many.
//! 5. An idle log costs two pages of memory and of disk and no descriptor, a busy one its ring and one descriptor, a
//!    closed one no memory but at most a page of last bytes per log with a reader.

mod config;
mod error;
#[cfg_attr(not(feature = "pause-points"), expect(unreachable_pub, reason = "exported for tests only"))]
mod fault;
mod header;
mod poison;
mod reader;
mod recover;
mod ring_file;
mod seal;
mod segments;
mod writer;

pub use config::LogConfig;
pub use error::{FillError, LogError};
#[cfg(feature = "pause-points")]
pub use fault::{Died, Faults, Step, Verdict};
pub use reader::{Bounds, LogReader, ReadOutcome};
pub use recover::{Recovered, recover, remove, sweep};
pub use seal::Seal;
pub use writer::{LogWriter, NotClosed};
