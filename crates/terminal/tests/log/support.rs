//! Small words the tests are written in.

use std::path::PathBuf;

use ptyard_terminal::log::{FillError, LogConfig, LogReader, LogWriter};

/// Small enough that every path is taken within a few writes.
pub(crate) const TINY: LogConfig =
    LogConfig { ring_bytes: 8 << 10, segment_bytes: 4 << 10, quota_bytes: 1 << 30 };

/// A directory that goes away, and the place of a log in it.
pub(crate) struct Place {
    _keep: tempfile::TempDir,
    pub(crate) dir: PathBuf,
}

pub(crate) fn place() -> Place {
    let keep = tempfile::tempdir().unwrap();
    let dir = keep.path().join("log");
    Place { _keep: keep, dir }
}

/// Numbered lines of many-byte text: wherever they are cut, a piece tells where it belongs.
pub(crate) fn text(from: u64, len: usize) -> Vec<u8> {
    const LINE: usize = 32;
    let first = from / LINE as u64;
    let mut out = Vec::with_capacity(len + 2 * LINE);
    for line in first.. {
        if out.len() >= len + LINE {
            break;
        }
        let mut row = format!("{line:012} äßé→€ 😀").into_bytes();
        row.resize(LINE - 1, b'.');
        row.push(b'\n');
        out.extend(row);
    }
    let skip = (from % LINE as u64) as usize;
    out[skip..skip + len].to_vec()
}

/// Reads `bytes` into the log as a program's output would come: as much as fits at each read. Says how much was taken.
pub(crate) fn put(log: &mut LogWriter, mut bytes: &[u8]) -> usize {
    let all = bytes.len();
    while !bytes.is_empty() {
        let filled = log.fill(|area| {
            let count = area.len().min(bytes.len());
            area[..count].copy_from_slice(&bytes[..count]);
            Ok(count)
        });
        match filled {
            Ok(count) => bytes = &bytes[count..],
            Err(FillError::Blocked(_)) => break,
            Err(FillError::Read(e)) => panic!("{e}"),
        }
    }
    all - bytes.len()
}

/// Everything from `at` on.
pub(crate) fn rest(log: &LogReader, at: u64) -> Vec<u8> {
    let mut out = Vec::new();
    let outcome = log.read(at, usize::MAX, &mut out).unwrap();
    assert_eq!((outcome.from, outcome.evicted), (at, 0));
    out
}
