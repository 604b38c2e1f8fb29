//! Finding what a dead or closed writer left, and removing a log.

use std::fs;
use std::io::ErrorKind;
use std::path::Path;
use std::sync::{Arc, OnceLock};

use super::config::LogConfig;
use super::error::LogError;
use super::header::Header;
use super::reader::{LogReader, Shared};
use super::ring_file::{Access, RingFile};
use super::seal::{Seal, SealFile, errno};
use super::segments::Segments;
use super::writer::LogWriter;
use crate::sys::mapping::View;

/// A log without a writer.
pub struct Recovered {
    /// Reads it.
    pub reader: LogReader,
    /// Its end.
    pub end: u64,
    /// The end of its program, if that was recorded.
    pub seal: Option<Seal>,
    /// How many of its last bytes were read by a writer that died before it published them.
    pub unpublished: u64,
}

/// Opens a log without a writer to read it, and changes nothing: one that was closed, or one whose writer died.
///
/// # Errors
/// [`LogError::InUse`] while it has a writer, [`LogError::Removed`] when there is no such directory,
/// [`LogError::Damaged`] when somebody changed its files.
pub fn recover(dir: &Path) -> Result<Recovered, LogError> {
    let found = find(dir, Access::Read)?;
    let (view, end, unpublished) = match &found.ring {
        Some(ring) => {
            (View::of_bytes(ring.header.ends.flushed, ring.unflushed()), ring.end, ring.unpublished())
        }
        None => (View::of_bytes(found.folded_end, Vec::new()), found.folded_end, 0),
    };
    let seal = found.seal;
    let shared = Shared { segments: found.segments, view, seal: OnceLock::new() };
    if let Some(seal) = &seal {
        shared.seal.set(seal.clone()).expect("invariant: a new cell is empty");
    }
    Ok(Recovered { reader: LogReader::new(Arc::new(shared)), end, seal, unpublished })
}

/// Removes a log and everything in its directory. One that is gone already is no error.
///
/// Close or drop its writer first. Readers that are left get [`LogError::Removed`].
///
/// # Errors
/// [`LogError::Os`] when a file cannot be removed; done again, it goes on where it stopped.
pub fn remove(dir: &Path) -> Result<(), LogError> {
    match fs::remove_dir_all(dir) {
        Ok(()) => Ok(()),
        Err(e) if e.kind() == ErrorKind::NotFound => Ok(()),
        Err(e) => Err(LogError::os("remove", dir, errno(&e))),
    }
}

impl LogWriter {
    /// Goes on with a log at its exact end, whether its writer died, was dropped or closed it.
    ///
    /// The sizes of the ring and of the segments stay as they are; `config` gives the quota, and the size of a ring
    /// that has to be made again.
    ///
    /// # Errors
    /// As [`recover`], and [`LogError::DiskFull`] when a new ring is needed and its space cannot be reserved.
    pub fn reopen(dir: &Path, config: LogConfig) -> Result<Self, LogError> {
        let config = config.within_limits();
        let found = find(dir, Access::Write)?;
        let file = found.file.expect("invariant: opened for writing, the ring file is there");
        match found.ring {
            Some(ring) => Self::with_ring(&file, found.segments, &ring.header, ring.end, config, found.seal),
            None => Self::with_new_ring(&file, found.segments, found.folded_end, config, found.seal),
        }
    }
}

/// What is in a log's directory.
struct Found {
    file: Option<RingFile>,
    segments: Segments,
    /// The ring, when it was ever used.
    ring: Option<FoundRing>,
    /// The end of the segments.
    folded_end: u64,
    seal: Option<Seal>,
}

struct FoundRing {
    header: Header,
    /// The whole file.
    bytes: Vec<u8>,
    /// The end of the log, with what was read and not published.
    end: u64,
}

impl FoundRing {
    fn new(header: Header, bytes: Vec<u8>) -> Self {
        let mut ring = Self { header, bytes, end: 0 };
        let published = ring.header.ends.published;
        let armed = ring.range(published, ring.header.armed);
        ring.end = published + ring.header.poison.overwritten(published, &armed) as u64;
        ring
    }

    /// The bytes of the absolute range `from..to`.
    fn range(&self, from: u64, to: u64) -> Vec<u8> {
        let ring = &self.bytes[self.header.shape.header..];
        let skip = (from % ring.len() as u64) as usize;
        ring.iter().cycle().skip(skip).take((to - from) as usize).copied().collect()
    }

    fn unflushed(&self) -> Vec<u8> {
        self.range(self.header.ends.flushed, self.end)
    }

    fn unpublished(&self) -> u64 {
        self.end - self.header.ends.published
    }
}

fn find(dir: &Path, access: Access) -> Result<Found, LogError> {
    let damaged = |what| LogError::Damaged { dir: dir.to_owned(), what };
    match fs::metadata(dir) {
        Ok(_) => {}
        Err(e) if e.kind() == ErrorKind::NotFound => return Err(LogError::Removed { dir: dir.to_owned() }),
        Err(e) => return Err(LogError::os("look at", dir, errno(&e))),
    }
    // The lock comes first: what follows must not change while we look.
    let file = RingFile::open(dir, access)?;
    let image = file.as_ref().map(RingFile::image).transpose()?.flatten();
    let ring = image.map(|(header, bytes)| FoundRing::new(header, bytes));
    let seal_file = SealFile::read(dir)?;
    let segment_bytes = match (&ring, &seal_file) {
        (Some(ring), _) => Some(ring.header.segment_bytes),
        (None, seal_file) => seal_file.as_ref().map(|file| file.segment_bytes),
    };
    let seal =
        ring.as_ref().and_then(|ring| ring.header.seal.clone()).or_else(|| seal_file.map(|f| f.seal()));
    let mut segments = Segments::new(dir.to_owned(), segment_bytes.unwrap_or(LogConfig::SEGMENT_BYTES), 0);
    let extent = segments.extent()?;
    if segment_bytes.is_none() && extent.is_some() {
        return Err(damaged("it has segments, but neither a ring nor a seal"));
    }
    let flushed = ring.as_ref().map(|ring| ring.header.ends.flushed);
    let folded_end = flushed.unwrap_or(extent.map_or(0, |extent| extent.end));
    if extent.map_or(0, |extent| extent.end) < folded_end {
        return Err(damaged("bytes that were flushed are not in the segments"));
    }
    segments.set_start(extent.map_or(folded_end, |extent| extent.start.min(folded_end)));
    Ok(Found { file, segments, ring, folded_end, seal })
}
