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
use super::error::{FillError, LogError};
#[cfg(feature = "pause-points")]
use super::fault::Faults;
use super::fault::Step;
use super::header;
use super::poison::Poison;
use super::reader::{LogReader, Shared};
use super::ring_file::{Access, PRIVATE_DIR, RingFile};
use super::seal::{Seal, SealFile, errno};
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
    seal_file: SealState,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum SealState {
    InRing,
    InFile,
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
        let created = RingFile::open(dir, Access::Write).and_then(|file| {
            Self::with_new_ring(&file.expect("invariant: created"), segments, 0, config, None)
        });
        if created.is_err() {
            // Only what was made above can be in it; a failure leaves an empty log, which is no harm.
            let _ = fs::remove_dir_all(dir);
        }
        created
    }

    /// Begins an empty ring at `end`, where everything is in segments.
    pub(crate) fn with_new_ring(
        file: &RingFile,
        segments: Segments,
        end: u64,
        config: LogConfig,
        seal: Option<Seal>,
    ) -> Result<Self, LogError> {
        let dir = segments.dir().to_owned();
        let poison = Poison::random().map_err(|e| LogError::os("draw random bytes for", &dir, e))?;
        let shape = Shape { header: rustix::param::page_size(), ring: config.ring_bytes };
        file.reserve(shape)?;
        let ends = Ends { flushed: end, published: end };
        let mut ring = Producer::map(file.fd.as_fd(), shape, ends)
            .map_err(|e| LogError::os("map the ring of", &dir, errno(&e)))?;
        header::write(&mut ring, shape, segments.segment_bytes(), &poison);
        Ok(Self::assemble(ring, segments, config, poison, seal, SealState::InFile))
    }

    /// Goes on with a dead writer's ring, whose ends were recovered.
    pub(crate) fn with_ring(
        file: &RingFile,
        segments: Segments,
        found: &header::Header,
        end: u64,
        config: LogConfig,
        seal: Option<Seal>,
    ) -> Result<Self, LogError> {
        let ends = Ends { flushed: found.ends.flushed, published: end };
        let ring = Producer::map(file.fd.as_fd(), found.shape, ends)
            .map_err(|e| LogError::os("map the ring of", segments.dir(), errno(&e)))?;
        Ok(Self::assemble(ring, segments, config, found.poison.clone(), seal, SealState::InRing))
    }

    fn assemble(
        ring: Producer,
        segments: Segments,
        config: LogConfig,
        poison: Poison,
        seal: Option<Seal>,
        seal_file: SealState,
    ) -> Self {
        let sealed = OnceLock::new();
        let seal_file = if seal.is_some() { seal_file } else { SealState::InRing };
        if let Some(seal) = seal {
            sealed.set(seal).expect("invariant: a new cell is empty");
        }
        let shared = Arc::new(Shared { segments, view: ring.view(), seal: sealed });
        let appender = Appender::new(config.quota_bytes);
        Self { ring, shared, appender, poison, window: FIRST_WINDOW, stalled: None, seal_file }
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
            let flushed = self.flush();
            if self.ring.room() == 0 {
                flushed?;
            }
        }
        if self.ring.armed().len() < self.window {
            let page = rustix::param::page_size() as u64;
            let to = (self.ring.published() + self.window as u64).next_multiple_of(page);
            let poison = &self.poison;
            self.ring.arm(to, |at, area| poison.paint(at, area));
        }
        Ok(())
    }

    /// Appends everything unflushed to the segment files. Only needed to try again after a failure.
    ///
    /// # Errors
    /// [`LogError::DiskFull`] or [`LogError::Os`]; what could not be written stays in the ring.
    pub fn flush(&mut self) -> Result<(), LogError> {
        let flushed = self.flush_all();
        self.stalled = flushed.as_ref().err().cloned();
        flushed
    }

    fn flush_all(&mut self) -> Result<(), LogError> {
        while !self.ring.unflushed().is_empty() {
            let (at, bytes) = (self.ring.flushed(), self.ring.unflushed());
            let count = self.appender.append(&self.shared.segments, at, bytes)?;
            self.pass(Step::Release);
            self.ring.release(count);
        }
        Ok(())
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

    /// Ends the writing. A sealed log is folded into its segment files and the seal's file, and the ring is unmapped
    /// and removed; one that is not sealed keeps its ring, to be continued. Readers go on reading.
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
        self.flush()?;
        let Some(seal) = self.shared.seal.get() else { return Ok(()) };
        let dir = self.shared.segments.dir();
        if self.seal_file == SealState::InRing {
            let file = SealFile {
                format: SealFile::FORMAT,
                segment_bytes: self.shared.segments.segment_bytes(),
                sealed_at: seal.at,
                note: seal.note.clone(),
            };
            self.appender
                .faults
                .pass(Step::SealFile)
                .map_err(|e| LogError::os("write the seal of", dir, e))?;
            file.write(dir)?;
            self.seal_file = SealState::InFile;
        }
        self.appender
            .faults
            .pass(Step::RemoveRing)
            .map_err(|e| LogError::os("remove the ring of", dir, e))?;
        RingFile::unlink(self.shared.segments.dir())
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
