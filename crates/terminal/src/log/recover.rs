//! Finding what a dead or closed writer left, and removing a log.

use std::fs;
use std::io::{self, ErrorKind};
use std::path::Path;
use std::sync::{Arc, OnceLock};

use super::config::LogConfig;
use super::error::{LogError, errno};
use super::header::Header;
use super::reader::{LogReader, Shared};
use super::ring_file::{Access, RingFile};
use super::seal::Seal;
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
    let (flushed, unflushed, published, seal) = match found.ring {
        Some(ring) => {
            (ring.header.ends.flushed, ring.unflushed, ring.header.ends.published, ring.header.seal)
        }
        None => (0, Vec::new(), 0, None),
    };
    let end = flushed + unflushed.len() as u64;
    let view = View::of_bytes(flushed, unflushed);
    let shared = Shared { segments: found.segments, view, seal: OnceLock::new() };
    if let Some(seal) = &seal {
        shared.seal.set(seal.clone()).expect("invariant: a new cell is empty");
    }
    Ok(Recovered { reader: LogReader::new(Arc::new(shared)), end, seal, unpublished: end - published })
}

/// What the directory of a log is called while it is being removed.
const REMOVED: &str = "removed";

/// Removes a log and everything in its directory. One that is gone already is no error.
///
/// It is gone in one step, by another name, whenever this is interrupted: of a log with half its files nobody could say
/// how its program ended. [`sweep`] removes what is left then. Close or drop its writer first. Readers that are left get
/// [`LogError::Removed`].
///
/// # Errors
/// [`LogError::Os`] when a file cannot be removed; done again, it goes on where it stopped.
pub fn remove(dir: &Path) -> Result<(), LogError> {
    let going = dir.with_extension(REMOVED);
    remove_all(&going)?;
    match fs::rename(dir, &going) {
        Ok(()) => remove_all(&going),
        Err(e) if e.kind() == ErrorKind::NotFound => Ok(()),
        Err(e) => Err(LogError::os("remove", dir, errno(&e))),
    }
}

/// Removes what interrupted removals left of logs whose directories are in `parent`.
///
/// # Errors
/// [`LogError::Os`] when something cannot be read or removed.
pub fn sweep(parent: &Path) -> Result<(), LogError> {
    let cannot_read = |e: io::Error| LogError::os("read", parent, errno(&e));
    for entry in fs::read_dir(parent).map_err(cannot_read)? {
        let path = entry.map_err(cannot_read)?.path();
        if path.extension().is_some_and(|extension| extension == REMOVED) {
            remove_all(&path)?;
        }
    }
    Ok(())
}

fn remove_all(dir: &Path) -> Result<(), LogError> {
    match fs::remove_dir_all(dir) {
        Err(e) if e.kind() != ErrorKind::NotFound => Err(LogError::os("remove", dir, errno(&e))),
        _ => Ok(()),
    }
}

impl LogWriter {
    /// Goes on with a log at its exact end, whether its writer died, was dropped or closed it.
    ///
    /// The sizes of the ring and of the segments stay as they are; `config` gives the quota.
    ///
    /// # Errors
    /// As [`recover`], and [`LogError::DiskFull`] when the ring of a closed log cannot be reserved again.
    pub fn reopen(dir: &Path, config: LogConfig) -> Result<Self, LogError> {
        let config = config.within_limits();
        let found = find(dir, Access::Write)?;
        let file = found.file.expect("invariant: opened for writing, the ring file is there");
        match found.ring {
            Some(ring) => {
                let end = ring.end();
                Self::with_ring(&file, found.segments, ring.header, ring.len, end, config.quota_bytes)
            }
            // Its writer died before the log was complete, so nothing can be in it.
            None => {
                Self::with_new_ring(&file, Segments::new(dir.to_owned(), config.segment_bytes, 0), config)
            }
        }
    }
}

/// What is in a log's directory.
struct Found {
    file: Option<RingFile>,
    segments: Segments,
    /// The ring, when it was ever used.
    ring: Option<FoundRing>,
}

struct FoundRing {
    header: Header,
    /// Bytes of the file.
    len: usize,
    /// What is in no segment, with what was read and not published.
    unflushed: Vec<u8>,
}

impl FoundRing {
    fn new(header: Header, file: &[u8]) -> Result<Self, &'static str> {
        let (flushed, published) = (header.ends.flushed, header.ends.published);
        let (ring, data) = (header.shape.ring as u64, &file[header.shape.header..]);
        let at = |offset: u64| data.get((offset % ring) as usize).copied();
        let mut unflushed: Vec<u8> = (flushed..header.armed)
            .map(at)
            .collect::<Option<_>>()
            .ok_or("the ring's file is too short for its bytes")?;
        let stable = (published - flushed) as usize;
        let read = header.poison.overwritten(published, &unflushed[stable..]);
        unflushed.truncate(stable + read);
        Ok(Self { header, len: file.len(), unflushed })
    }

    /// The end of the log.
    fn end(&self) -> u64 {
        self.header.ends.flushed + self.unflushed.len() as u64
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
    let ring = image.map(|(header, bytes)| FoundRing::new(header, &bytes)).transpose().map_err(damaged)?;
    let (segment_bytes, flushed) = match &ring {
        Some(ring) => (Some(ring.header.segment_bytes), ring.header.ends.flushed),
        None => (None, 0),
    };
    let mut segments = Segments::new(dir.to_owned(), segment_bytes.unwrap_or(LogConfig::SEGMENT_BYTES), 0);
    let (start, end) = segments.extent()?.map_or((0, 0), |extent| (extent.start, extent.end));
    if ring.is_none() && end > 0 {
        return Err(damaged("it has segments and no ring"));
    }
    if end < flushed {
        return Err(damaged("bytes that were flushed are not in the segments"));
    }
    segments.set_start(start.min(flushed));
    Ok(Found { file, segments, ring })
}
