//! Reading a log.

use std::path::Path;
use std::sync::{Arc, OnceLock};

use super::error::LogError;
use super::seal::Seal;
use super::segments::Segments;
use crate::sys::mapping::{Copied, View};

/// What of a log can be read now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bounds {
    /// The oldest offset kept.
    pub start: u64,
    /// The published end: one more than the last offset.
    pub end: u64,
    /// Where the program's output ended, once that is known. Bytes of descendants may follow it.
    pub sealed: Option<u64>,
}

/// What [`LogReader::read`] gave.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReadOutcome {
    /// Offset of the first byte given; of the next one to come, when none was given.
    pub from: u64,
    /// How many bytes from the offset asked for were evicted before they were read.
    pub evicted: u64,
}

/// Reads a log, and never changes it. Cheap to clone; clones and the writer may be in different threads.
///
/// It keeps working after the writer is gone. Waiting for more is not its business: whoever publishes also notifies.
#[derive(Clone)]
pub struct LogReader {
    shared: Arc<Shared>,
}

pub(crate) struct Shared {
    pub(crate) segments: Segments,
    pub(crate) view: View,
    pub(crate) seal: OnceLock<Seal>,
}

impl LogReader {
    pub(crate) fn new(shared: Arc<Shared>) -> Self {
        Self { shared }
    }

    /// What can be read now. In a later call each number is the same or higher, and `sealed` stays.
    #[must_use]
    pub fn bounds(&self) -> Bounds {
        // In this order, so that `start <= end` and `sealed <= end` whatever happens in between.
        let (start, sealed) = (self.shared.segments.start(), self.shared.seal.get().map(|seal| seal.at));
        Bounds { start, end: self.shared.view.published(), sealed }
    }

    /// The log's directory, where its terminal's other files are.
    #[must_use]
    pub fn dir(&self) -> &Path {
        self.shared.segments.dir()
    }

    /// The published end.
    #[must_use]
    pub fn end(&self) -> u64 {
        self.shared.view.published()
    }

    /// Where and how the program's output ended, once that is known.
    #[must_use]
    pub fn seal(&self) -> Option<&Seal> {
        self.shared.seal.get()
    }

    /// Appends at most `max` bytes, from the offset `at` on, to `out`; fewer only when the end comes first (or, with
    /// nothing lost, when older bytes are evicted during the call). If bytes from `at` on were evicted, it begins at the
    /// oldest kept and says how many are missing.
    ///
    /// Bytes that left the ring are read with blocking file calls, in general from the page cache.
    ///
    /// # Errors
    /// [`LogError::BeyondEnd`] when `at` is; [`LogError::Removed`] when the log's files are gone; [`LogError::Os`] or
    /// [`LogError::Damaged`] when they cannot be read. `out` is then as it was.
    pub fn read(&self, at: u64, max: usize, out: &mut Vec<u8>) -> Result<ReadOutcome, LogError> {
        let end = self.end();
        if at > end {
            return Err(LogError::BeyondEnd { at, end });
        }
        let before = out.len();
        let mut from = at.max(self.shared.segments.start());
        let read = self.read_into(&mut from, max, out);
        if let Err(error) = read {
            out.truncate(before);
            return Err(error);
        }
        Ok(ReadOutcome { from, evicted: from - at })
    }

    /// Reads from `*from` on, and moves it when that was evicted before anything was read.
    fn read_into(&self, from: &mut u64, max: usize, out: &mut Vec<u8>) -> Result<(), LogError> {
        let Shared { segments, view, .. } = &*self.shared;
        let before = out.len();
        loop {
            let got = out.len() - before;
            let at = *from + got as u64;
            let flushed = match view.copy(at, max - got, out) {
                Copied::Bytes(_) => return Ok(()),
                Copied::Below(flushed) => flushed,
            };
            let ahead = usize::try_from(flushed - at).unwrap_or(usize::MAX);
            let want = (max - got).min(ahead);
            if want == 0 {
                return Ok(());
            }
            if segments.read(at, want, out)? == 0 {
                let start = segments.start();
                match (start > at, got) {
                    (true, 0) => *from = start,
                    (true, _) => return Ok(()),
                    (false, _) => return Err(LogError::Removed { dir: segments.dir().to_owned() }),
                }
            }
        }
    }
}
