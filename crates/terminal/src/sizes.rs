//! The sizes a tty had, written down beside its log: a screen that is built from the log later depends on them.

use std::fs::OpenOptions;
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use ptyard_core::Size;

const FILE: &str = "sizes";

/// One entry: the offset from which on, columns, rows, four bytes of nothing. In the machine's own byte order, like the
/// log.
const ENTRY_BYTES: usize = 16;

/// Adds a size to those of the terminal in `directory`.
pub(crate) fn note(directory: &Path, from: u64, size: Size) -> io::Result<()> {
    let mut entry = [0; ENTRY_BYTES];
    entry[..8].copy_from_slice(&from.to_ne_bytes());
    entry[8..10].copy_from_slice(&size.cols().to_ne_bytes());
    entry[10..12].copy_from_slice(&size.rows().to_ne_bytes());
    // One write, so an entry is there or not.
    let mut file = OpenOptions::new().append(true).create(true).mode(0o600).open(directory.join(FILE))?;
    file.write_all(&entry)
}

/// All sizes of the terminal in `directory`, which began with `first`. What cannot be read is left out.
pub(crate) fn of(directory: &Path, first: Size) -> Vec<(u64, Size)> {
    let bytes = std::fs::read(directory.join(FILE)).unwrap_or_default();
    let later = bytes.chunks_exact(ENTRY_BYTES).filter_map(entry);
    std::iter::once((0, first)).chain(later).collect()
}

fn entry(bytes: &[u8]) -> Option<(u64, Size)> {
    let (from, rest) = bytes.split_first_chunk()?;
    let (cols, rest) = rest.split_first_chunk()?;
    let (rows, _) = rest.split_first_chunk()?;
    let size = Size::new(u16::from_ne_bytes(*cols).into(), u16::from_ne_bytes(*rows).into()).ok()?;
    Some((u64::from_ne_bytes(*from), size))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_come_back_in_order_and_half_an_entry_is_none() {
        let directory = tempfile::tempdir().unwrap();
        let (first, second) = (Size::new(80, 24).unwrap(), Size::new(120, 40).unwrap());
        assert_eq!(of(directory.path(), first), [(0, first)]);
        note(directory.path(), 7, second).unwrap();
        note(directory.path(), u64::MAX, first).unwrap();
        assert_eq!(of(directory.path(), first), [(0, first), (7, second), (u64::MAX, first)]);
        let file = directory.path().join(FILE);
        let bytes = std::fs::read(&file).unwrap();
        std::fs::write(&file, &bytes[..20]).unwrap();
        assert_eq!(of(directory.path(), first), [(0, first), (7, second)]);
    }
}
