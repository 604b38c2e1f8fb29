//! Where a terminal's shared cursor stands, written down beside its log at every handover: the next server's windows
//! go on there.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::Path;

const FILE: &str = "cursor";

/// The offset, then 1 if the end was handed over. In the machine's own byte order, like the log.
const BYTES: usize = 16;

/// What was handed over on the shared cursor.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Position {
    /// Up to which offset.
    pub(crate) offset: u64,
    /// Whether the end was.
    pub(crate) end: bool,
}

/// The file of a terminal's position. It is opened with the first handover and closed with the last: in between each
/// handover is one system call.
#[derive(Debug, Default)]
pub(crate) struct PositionFile(Option<File>);

impl PositionFile {
    /// Writes a position into a terminal's directory: one write to one place, whole or not at all as far as a death of
    /// this process goes.
    pub(crate) fn write(&mut self, position: Position, directory: &Path) -> io::Result<()> {
        let mut bytes = [0; BYTES];
        bytes[..8].copy_from_slice(&position.offset.to_ne_bytes());
        bytes[8] = u8::from(position.end);
        let file = match self.0.take() {
            Some(file) => file,
            None => {
                let mut options = OpenOptions::new();
                options.write(true).create(true).truncate(false).mode(0o600).open(directory.join(FILE))?
            }
        };
        file.write_all_at(&bytes, 0)?;
        self.0 = (!position.end).then_some(file);
        Ok(())
    }
}

impl Position {
    /// Reads it; nothing was handed over of a terminal that has none.
    pub(crate) fn read(directory: &Path) -> Self {
        let bytes = std::fs::read(directory.join(FILE)).unwrap_or_default();
        let Some((offset, rest)) = bytes.split_first_chunk() else { return Self::default() };
        Self { offset: u64::from_ne_bytes(*offset), end: rest.first() == Some(&1) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn law_03_a_position_comes_back_and_none_is_the_beginning() {
        let directory = tempfile::tempdir().unwrap();
        assert_eq!(Position::read(directory.path()), Position::default());
        let mut file = PositionFile::default();
        for (offset, end) in [(u64::MAX, false), (8, false), (7, true), (9, true)] {
            let position = Position { offset, end };
            file.write(position, directory.path()).unwrap();
            assert_eq!(Position::read(directory.path()), position);
            assert_eq!(file.0.is_none(), end, "open between the first handover and the last");
        }
    }
}
