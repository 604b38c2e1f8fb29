//! The segment files: bytes that left the ring.
//!
//! Segment `n` holds the offsets `n * segment_bytes ..` up to the next one's, so an offset's place needs no index.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use rustix::fd::OwnedFd;
use rustix::fs::{Mode, OFlags, open, unlink};
use rustix::io::{Errno, pread};

use super::error::{LogError, errno};
use super::fault::{Faults, Step};

const SUFFIX: &str = ".seg";
/// Readable and writable for the user alone.
pub(crate) const PRIVATE: Mode = Mode::RUSR.union(Mode::WUSR);

/// Where a log's segments are.
#[derive(Debug)]
pub(crate) struct Segments {
    dir: PathBuf,
    segment_bytes: u64,
    /// The oldest offset kept.
    start: AtomicU64,
}

/// What is left of a log's segments in its directory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Extent {
    /// First offset of the unbroken run of segments that ends with the last.
    pub(crate) start: u64,
    /// End of the last segment's file.
    pub(crate) end: u64,
}

impl Segments {
    pub(crate) fn new(dir: PathBuf, segment_bytes: u64, start: u64) -> Self {
        Self { dir, segment_bytes, start: AtomicU64::new(start) }
    }

    pub(crate) fn dir(&self) -> &Path {
        &self.dir
    }

    pub(crate) fn segment_bytes(&self) -> u64 {
        self.segment_bytes
    }

    pub(crate) fn start(&self) -> u64 {
        self.start.load(Ordering::Acquire)
    }

    /// First offset of the segment that `at` belongs to.
    fn first_of(&self, at: u64) -> u64 {
        at - at % self.segment_bytes
    }

    fn path(&self, first: u64) -> PathBuf {
        self.dir.join(format!("{first:020}{SUFFIX}"))
    }

    /// Appends at most `max` bytes from `at` on to `out`; fewer at the end of a segment. 0 means that the segment is
    /// gone: evicted, or the log was removed.
    pub(crate) fn read(&self, at: u64, max: usize, out: &mut Vec<u8>) -> Result<usize, LogError> {
        let first = self.first_of(at);
        let path = self.path(first);
        let file = match open(&path, OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty()) {
            Ok(file) => file,
            Err(Errno::NOENT) => return Ok(0),
            Err(errno) => return Err(LogError::os("open", path, errno)),
        };
        let left = usize::try_from(first + self.segment_bytes - at).unwrap_or(usize::MAX);
        let (from, want) = (out.len(), max.min(left));
        out.resize(from + want, 0);
        let mut got = 0;
        while got < want {
            match pread(&file, &mut out[from + got..], at - first + got as u64) {
                Ok(0) => break,
                Ok(n) => got += n,
                Err(Errno::INTR) => {}
                Err(errno) => {
                    out.truncate(from);
                    return Err(LogError::os("read", path, errno));
                }
            }
        }
        out.truncate(from + got);
        if got == 0 && want > 0 {
            return Err(LogError::Damaged { dir: self.dir.clone(), what: "a segment is too short" });
        }
        Ok(got)
    }

    /// What is there, `None` when there is no segment.
    pub(crate) fn extent(&self) -> Result<Option<Extent>, LogError> {
        let failed = |e: std::io::Error| LogError::os("list", &self.dir, errno(&e));
        let mut firsts = Vec::new();
        for entry in fs::read_dir(&self.dir).map_err(failed)? {
            let name = entry.map_err(failed)?.file_name();
            let digits = name.to_str().and_then(|name| name.strip_suffix(SUFFIX)).filter(|d| d.len() == 20);
            firsts.extend(digits.and_then(|digits| digits.parse::<u64>().ok()));
        }
        firsts.sort_unstable();
        let Some(&last) = firsts.last() else { return Ok(None) };
        let next_to = |first: &u64, next: &u64| first + self.segment_bytes == *next;
        let unbroken = firsts.chunk_by(next_to).next_back().map_or(last, |run| run[0]);
        let len = fs::metadata(self.path(last)).map_err(failed)?.len();
        Ok(Some(Extent { start: unbroken, end: last + len }))
    }

    /// Takes what recovery found as the oldest offset.
    pub(crate) fn set_start(&mut self, start: u64) {
        *self.start.get_mut() = start;
    }
}

/// The writer's access to the segments.
pub(crate) struct Appender {
    /// The segment that was written last, by its first offset.
    current: Option<(u64, OwnedFd)>,
    quota_bytes: u64,
    pub(crate) faults: Faults,
}

impl Appender {
    pub(crate) fn new(quota_bytes: u64) -> Self {
        Self { current: None, quota_bytes, faults: Faults::default() }
    }

    /// Writes a prefix of `bytes`, which begin at `at`, to their segment's file and says how much. Done again with the
    /// same bytes, it changes nothing. Evicts what would exceed the quota first.
    pub(crate) fn append(&mut self, segments: &Segments, at: u64, bytes: &[u8]) -> Result<usize, LogError> {
        let first = segments.first_of(at);
        let left = usize::try_from(first + segments.segment_bytes - at).unwrap_or(usize::MAX);
        let bytes = &bytes[..bytes.len().min(left)];
        self.make_room(segments, at + bytes.len() as u64)?;
        if self.current.as_ref().is_none_or(|(open, _)| *open != first) {
            self.current = None;
            let path = segments.path(first);
            let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::CLOEXEC | OFlags::NOFOLLOW;
            let opened = self.faults.pass(Step::OpenSegment).and_then(|()| open(&path, flags, PRIVATE));
            self.current = Some((first, opened.map_err(|e| LogError::os("create", path, e))?));
        }
        let (_, file) = self.current.as_ref().expect("invariant: opened above");
        loop {
            match self.faults.append(file, bytes, at - first) {
                Ok(0) => return Err(LogError::os("append to", segments.path(first), Errno::NOSPC)),
                Ok(count) => return Ok(count),
                Err(Errno::INTR) => {}
                Err(errno) => return Err(LogError::os("append to", segments.path(first), errno)),
            }
        }
    }

    /// Removes the oldest segments until `end` fits into the quota. The segment of `end` itself always stays.
    fn make_room(&mut self, segments: &Segments, end: u64) -> Result<(), LogError> {
        loop {
            let start = segments.start();
            let next = segments.first_of(start) + segments.segment_bytes;
            if end.saturating_sub(segments.first_of(start)) <= self.quota_bytes || next >= end {
                return Ok(());
            }
            // The start moves first: no reader may look for a file that is gone and not be told.
            segments.start.store(next, Ordering::Release);
            let path = segments.path(next - segments.segment_bytes);
            let removed = self.faults.pass(Step::Evict).and_then(|()| unlink(&path));
            match removed {
                Ok(()) | Err(Errno::NOENT) => {}
                Err(errno) => return Err(LogError::os("remove", path, errno)),
            }
        }
    }
}
