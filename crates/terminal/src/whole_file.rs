//! Files that are there whole or not at all.

use std::ffi::OsString;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

/// What a file outlives that was just written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outlives {
    /// The death of the process that wrote it.
    Process,
    /// A loss of power too: the disk has it.
    Machine,
}

/// Puts `bytes` in place of what a private file (mode 0600) held, if it was there: readers find the old or the new text,
/// also when the writer dies halfway. Of two writers at once one wins, or one fails; they are to take turns.
///
/// # Errors
/// Of the file system. What was there is there still.
pub fn replace_file(path: &Path, bytes: &[u8], outlives: Outlives) -> io::Result<()> {
    let mut part = OsString::from(path);
    part.push(".part");
    let mut file = OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&part)?;
    file.write_all(bytes)?;
    if outlives == Outlives::Machine {
        file.sync_all()?;
    }
    drop(file);
    fs::rename(&part, path)?;
    if outlives == Outlives::Machine
        && let Some(directory) = path.parent()
    {
        File::open(directory)?.sync_all()?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    #[test]
    fn a_file_is_replaced_whole_and_private() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("note");
        for (text, outlives) in [("a longer text", Outlives::Process), ("short", Outlives::Machine)] {
            replace_file(&path, text.as_bytes(), outlives).unwrap();
            assert_eq!(fs::read_to_string(&path).unwrap(), text);
        }
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        // What a writer that died left is no hindrance.
        fs::write(directory.path().join("note.part"), "half of").unwrap();
        replace_file(&path, b"new", Outlives::Process).unwrap();
        assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 1);
        fs::create_dir(directory.path().join("note.part")).unwrap();
        replace_file(&path, b"newer", Outlives::Process).unwrap_err();
        assert_eq!(fs::read_to_string(&path).unwrap(), "new");
    }
}
