//! Writing a log.

use std::fs;
use std::io;
use std::os::fd::AsFd as _;
use std::path::Path;
use std::sync::{Arc, OnceLock};
use std::task::Poll;

use rustix::fs::mkdir;
use rustix::io::Errno;

use super::config::LogConfig;
use super::error::{FillError, LogError, errno};
#[cfg(feature = "pause-points")]
use super::fault::Faults;
use super::fault::Step;
use super::header::{self, Header};
use super::poison::Poison;
use super::reader::{LogReader, Shared};
use super::ring_file::{Access, PRIVATE_DIR, RingFile};
use super::seal::Seal;
use super::segments::{Appender, Segments};
use crate::sys::mapping::{Ends, Producer, Shape};

/// Writes a log. There is one writer per log; a second one is refused.
///
/// Dropping it changes nothing in the files: the log can be continued with [`LogWriter::reopen`], as after a death.
/// Readers that are left keep what there was; they do not see what a later writer adds.
///
/// # Invariants
/// 1. Between calls the ring's free part before its armed end holds poison and nothing else.
/// 2. `stalled` is set exactly when the last try to flush failed.
/// 3. Everything before the ring's flushed offset is in segment files or evicted.
pub struct LogWriter {
    ring: Producer,
    shared: Arc<Shared>,
    appender: Appender,
    poison: Poison,
    /// Least armed bytes worth a read.
    window: usize,
    stalled: Option<LogError>,
    shape: Shape,
    /// How many bytes of the ring have their blocks: the first few, then all.
    reserved: usize,
}

/// A log that could not be closed yet. Nothing is lost: close it again later.
#[derive(Debug, thiserror::Error)]
#[error("the log cannot be closed: {error}")]
pub struct NotClosed {
    /// The log's writer, still good.
    pub writer: Box<LogWriter>,
    /// What hindered it.
    pub error: LogError,
}

impl std::fmt::Debug for LogWriter {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("LogWriter")
            .field("dir", &self.shared.segments.dir())
            .field("flushed", &self.ring.flushed())
            .field("published", &self.ring.published())
            .field("stalled", &self.stalled)
            .finish_non_exhaustive()
    }
}

/// The least read window at first: a program that prints little touches few pages.
const FIRST_WINDOW: usize = 512;

impl LogWriter {
    /// A new, empty log in the directory `dir`, which is created and must not exist.
    ///
    /// # Errors
    /// [`LogError::Exists`]; [`LogError::DiskFull`] when the ring's space cannot be reserved, [`LogError::Os`] for
    /// anything else. Nothing is left behind then.
    pub fn create(dir: &Path, config: LogConfig) -> Result<Self, LogError> {
        match mkdir(dir, PRIVATE_DIR) {
            Ok(()) => {}
            Err(Errno::EXIST) => return Err(LogError::Exists { dir: dir.to_owned() }),
            Err(e) => return Err(LogError::os("create", dir, e)),
        }
        let config = config.within_limits();
        let segments = Segments::new(dir.to_owned(), config.segment_bytes, 0);
        let created = RingFile::open(dir, Access::Write)
            .and_then(|file| Self::with_new_ring(&file.expect("invariant: created"), segments, config));
        if created.is_err() {
            // Only what was made above can be in it; a failure leaves an empty log, which is no harm.
            let _ = fs::remove_dir_all(dir);
        }
        created
    }

    /// Begins an empty log in an empty ring file.
    pub(crate) fn with_new_ring(
        file: &RingFile,
        segments: Segments,
        config: LogConfig,
    ) -> Result<Self, LogError> {
        let poison =
            Poison::random().map_err(|e| LogError::os("draw random bytes for", segments.dir(), e))?;
        let page = rustix::param::page_size();
        let shape = Shape { header: page, ring: config.ring_bytes };
        file.reserve(shape.header + page)?;
        let ends = Ends { flushed: 0, published: 0 };
        let mut ring = Self::map(file, &segments, shape, ends)?;
        header::write(&mut ring, shape, segments.segment_bytes(), &poison);
        Ok(Self::assemble(ring, segments, config.quota_bytes, poison, shape, page, OnceLock::new()))
    }

    /// Goes on with the ring of a writer that died or closed it: a file of `len` bytes, whose log ends at `end`.
    pub(crate) fn with_ring(
        file: &RingFile,
        segments: Segments,
        found: Header,
        len: usize,
        end: u64,
        quota_bytes: u64,
    ) -> Result<Self, LogError> {
        let Header { shape, ends: Ends { flushed, .. }, poison, seal, .. } = found;
        let page = rustix::param::page_size();
        let first = shape.header + page;
        // A full first page too: on a full disk the rest cannot be had now, and what there is can be read.
        let reserved = if len == first && end <= page as u64 { page } else { shape.ring };
        file.reserve(shape.header + reserved)?;
        let ring = Self::map(file, &segments, shape, Ends { flushed, published: end })?;
        let seal = seal.map_or_else(OnceLock::new, OnceLock::from);
        Ok(Self::assemble(ring, segments, quota_bytes, poison, shape, reserved, seal))
    }

    fn map(file: &RingFile, segments: &Segments, shape: Shape, ends: Ends) -> Result<Producer, LogError> {
        let mapped = Producer::map(file.fd.as_fd(), shape, ends);
        mapped.map_err(|e| LogError::os("map the ring of", segments.dir(), errno(&e)))
    }

    fn assemble(
        ring: Producer,
        segments: Segments,
        quota_bytes: u64,
        poison: Poison,
        shape: Shape,
        reserved: usize,
        seal: OnceLock<Seal>,
    ) -> Self {
        let shared = Arc::new(Shared { segments, view: ring.view(), seal });
        let appender = Appender::new(quota_bytes);
        Self { ring, shared, appender, poison, window: FIRST_WINDOW, stalled: None, shape, reserved }
    }

    /// A reader of this log.
    #[must_use]
    pub fn reader(&self) -> LogReader {
        LogReader::new(Arc::clone(&self.shared))
    }

    /// The published end.
    #[must_use]
    pub fn end(&self) -> u64 {
        self.ring.published()
    }

    /// Why the last flush failed; `None` when it did not. Output goes on until the ring is full.
    #[must_use]
    pub fn stalled(&self) -> Option<&LogError> {
        self.stalled.as_ref()
    }

    /// Hands a free part of the ring to `read`, which puts bytes at its front and says how many, then publishes them.
    ///
    /// The part is at least 1 byte and at most half the ring long. `read` must not touch it behind the bytes it
    /// reports, nor when it fails; `read(2)` does not. If the process dies in `read` or right after it, the bytes that
    /// are in the ring are recovered: each free byte holds poison, which no UTF-8 text contains. The limit: output that
    /// is not UTF-8 and whose last bytes are, one by one, the random poison of their places would lose those (1 in 13
    /// for one last byte out of C0, C1, F5..FF; 1 in 169 for two).
    ///
    /// Says how many bytes came: 0 when `read` said so.
    ///
    /// # Errors
    /// [`FillError::Read`] is what `read` failed with; [`FillError::Blocked`] when the ring is full and cannot be
    /// flushed, in which case `read` was not called.
    ///
    /// # Panics
    /// When `read` claims more bytes than it was given room for.
    pub fn fill(&mut self, read: impl FnOnce(&mut [u8]) -> io::Result<usize>) -> Result<usize, FillError> {
        match self.poll_fill(|area| Poll::Ready(read(area))) {
            Poll::Ready(filled) => filled,
            Poll::Pending => unreachable!("the read above is always ready"),
        }
    }

    /// [`fill`](Self::fill) for a read that may have nothing yet: `Pending` changes nothing.
    pub fn poll_fill(
        &mut self,
        read: impl FnOnce(&mut [u8]) -> Poll<io::Result<usize>>,
    ) -> Poll<Result<usize, FillError>> {
        if let Err(error) = self.prepare() {
            return Poll::Ready(Err(FillError::Blocked(error)));
        }
        self.pass(Step::Read);
        let area = self.ring.armed();
        let handed = area.len();
        let count = match read(area) {
            Poll::Ready(Ok(count)) => count,
            Poll::Ready(Err(error)) => return Poll::Ready(Err(FillError::Read(error))),
            Poll::Pending => return Poll::Pending,
        };
        assert!(count <= handed, "the read claims {count} bytes in an area of {handed}");
        self.pass(Step::Publish);
        self.ring.publish(count);
        if count == handed {
            self.window = (self.window * 4).min(self.ring.ring() / 2);
        }
        Poll::Ready(Ok(count))
    }

    /// Flushes when it is time, and arms the free part.
    fn prepare(&mut self) -> Result<(), LogError> {
        let full = self.ring.room() == 0;
        let due = self.ring.unflushed().len() >= self.ring.ring() / 2;
        // While the disk is full, only a full ring is a reason to try again: not every read.
        if due && (full || self.stalled.is_none()) {
            // Whole pages, so that the next append does not begin in one that the page cache has seen already.
            let page = rustix::param::page_size() as u64;
            let flushed = self.flush_to(self.ring.published() / page * page);
            if self.ring.room() == 0 {
                flushed?;
            }
        }
        if self.ring.armed().len() < self.window {
            let page = rustix::param::page_size() as u64;
            let mut to = (self.ring.published() + self.window as u64).next_multiple_of(page);
            if self.reserved < self.ring.ring() && to > self.reserved as u64 {
                match self.grow() {
                    Ok(()) => {}
                    Err(error) if self.ring.armed().is_empty() => return Err(error),
                    Err(_) => to = self.reserved as u64,
                }
            }
            let poison = &self.poison;
            self.ring.arm(to, |at, area| poison.paint(at, area));
        }
        Ok(())
    }

    /// Reserves the whole ring, once a program prints more than its first page.
    fn grow(&mut self) -> Result<(), LogError> {
        let dir = self.shared.segments.dir();
        let reserved =
            self.appender.faults.pass(Step::Grow).map_err(|e| LogError::os("reserve the ring of", dir, e));
        let reserved =
            reserved.and_then(|()| RingFile::again(dir)?.reserve(self.shape.header + self.shape.ring));
        if reserved.is_ok() {
            self.reserved = self.shape.ring;
        }
        self.stalled = reserved.as_ref().err().cloned();
        reserved
    }

    /// Appends everything unflushed to the segment files. Only needed to try again after a failure.
    ///
    /// # Errors
    /// [`LogError::DiskFull`] or [`LogError::Os`]; what could not be written stays in the ring.
    pub fn flush(&mut self) -> Result<(), LogError> {
        self.flush_to(self.ring.published())
    }

    fn flush_to(&mut self, to: u64) -> Result<(), LogError> {
        let flushed = self.append_to(to);
        self.stalled = flushed.as_ref().err().cloned();
        flushed
    }

    fn append_to(&mut self, to: u64) -> Result<(), LogError> {
        while self.ring.flushed() < to {
            let at = self.ring.flushed();
            let bytes = &self.ring.unflushed()[..(to - at) as usize];
            let count = self.appender.append(&self.shared.segments, at, bytes)?;
            self.pass(Step::Release);
            self.ring.release(count);
        }
        Ok(())
    }

    /// Whether the end of the program's output is marked, by this writer or one before.
    #[must_use]
    pub fn is_sealed(&self) -> bool {
        self.shared.seal.get().is_some()
    }

    /// Marks the published end as the end of the program's output. Done in the ring's reserved header, so it cannot
    /// fail. Bytes can still be added. A second seal changes nothing.
    ///
    /// `note` is cut to [`Seal::NOTE_BYTES`] at a character.
    pub fn seal(&mut self, note: &str) -> &Seal {
        if self.shared.seal.get().is_none() {
            let note = note[..note.floor_char_boundary(Seal::NOTE_BYTES)].to_owned();
            let seal = Seal { at: self.ring.published(), note };
            self.pass(Step::Seal);
            header::write_seal(&mut self.ring, &seal);
            // Only this writer sets it, so it is still empty.
            let _ = self.shared.seal.set(seal);
        }
        self.shared.seal.get().expect("invariant: set above")
    }

    /// Ends the writing. The ring of a sealed log is emptied into the segment files and shortened to its header, or to
    /// its first page when the program never printed more than that; one that is not sealed stays as it is. Readers go
    /// on reading.
    ///
    /// # Errors
    /// [`NotClosed`] holds the writer, for another try.
    pub fn close(mut self) -> Result<(), NotClosed> {
        match self.fold() {
            Ok(()) => Ok(()),
            Err(error) => Err(NotClosed { writer: Box::new(self), error }),
        }
    }

    fn fold(&mut self) -> Result<(), LogError> {
        let never_grew = self.reserved < self.shape.ring;
        if self.shared.seal.get().is_none() || never_grew {
            return Ok(());
        }
        self.flush()?;
        let dir = self.shared.segments.dir();
        self.appender.faults.pass(Step::Shorten).map_err(|e| LogError::os("shorten the ring of", dir, e))?;
        // The armed area goes with the bytes: there is nothing to recover behind the end.
        self.ring.disarm();
        RingFile::again(dir)?.shorten(self.shape.header)
    }

    fn pass(&self, step: Step) {
        let passed = self.appender.faults.pass(step);
        debug_assert!(passed.is_ok(), "{step:?} is no system call that could fail");
    }

    /// Makes things go wrong from now on.
    #[cfg(feature = "pause-points")]
    pub fn set_faults(&mut self, faults: Faults) {
        self.appender.faults = faults;
    }
}
