//! What outlives the server of an attempt: written beside the log before its first byte is typed.

use std::fs;
use std::io;
use std::path::Path;

use ptyard_core::turn::{AttemptId, Epoch};
use serde::{Deserialize, Serialize};

use crate::whole_file::{Outlives, replace_file};

const FILE: &str = "attempt";

/// There while the turn that runs was stopped already for urgent mail.
const STOPPED: &str = "stopped";

/// That the text of an attempt was about to be typed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Note {
    /// Which attempt.
    pub attempt: AttemptId,
    /// The turn that it was to begin.
    pub epoch: Epoch,
    /// The end of the log then.
    pub from: u64,
    /// What was seen right before. Of a note of an earlier version, nothing is known of that.
    #[serde(default)]
    pub before: Before,
}

/// What was seen right before a text was typed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Before {
    /// How often the beginning of the text stood on the screen, if it can be told from other texts.
    pub shown: Option<u32>,
    /// How often all of it did: texts that begin alike are told apart by it.
    #[serde(default)]
    pub whole: Option<u32>,
    /// The composer was empty, and the paste stands in brackets: what is seen folded there is this text, and whole.
    pub folds: bool,
}

/// Writes it down, and forgets that the turn before was stopped. It survives the death of the server, not that of the
/// machine, which the agent would not survive either.
pub(crate) fn write(directory: &Path, note: Note) -> io::Result<()> {
    // That of the attempt before is of no more use, and some file systems flush to the disk what takes another's place.
    erase(directory)?;
    replace_file(&directory.join(FILE), &serde_json::to_vec(&note)?, Outlives::Process)?;
    remove(&directory.join(STOPPED))
}

/// Writes down that the turn that runs is about to be stopped.
pub(crate) fn write_stopped(directory: &Path) -> io::Result<()> {
    replace_file(&directory.join(STOPPED), b"", Outlives::Process)
}

/// Whether that is on record.
pub(crate) fn is_stopped(directory: &Path) -> bool {
    directory.join(STOPPED).exists()
}

/// Takes it back: nothing was typed.
pub(crate) fn erase(directory: &Path) -> io::Result<()> {
    remove(&directory.join(FILE))
}

fn remove(file: &Path) -> io::Result<()> {
    match fs::remove_file(file) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        done => done,
    }
}

/// What is on record in `directory`.
pub(crate) fn read(directory: &Path) -> Option<Note> {
    serde_json::from_slice(&fs::read(directory.join(FILE)).ok()?).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_note_of_an_earlier_version_is_read() {
        let directory = tempfile::tempdir().unwrap();
        let note = Note {
            attempt: AttemptId::new(7),
            epoch: Epoch(3),
            from: 9,
            before: Before { shown: None, whole: None, folds: false },
        };
        let mut earlier = serde_json::to_value(note).unwrap();
        earlier.as_object_mut().unwrap().remove("before");
        fs::write(directory.path().join(FILE), earlier.to_string()).unwrap();
        assert_eq!(read(directory.path()), Some(note));
    }

    #[test]
    fn a_note_is_read_as_it_was_written_and_can_be_taken_back() {
        let directory = tempfile::tempdir().unwrap();
        assert_eq!(read(directory.path()), None);
        erase(directory.path()).unwrap();
        let note = Note {
            attempt: AttemptId::new(7),
            epoch: Epoch(3),
            from: 4_000_000_000_000,
            before: Before { shown: Some(2), whole: Some(1), folds: true },
        };
        write(directory.path(), note).unwrap();
        assert_eq!(read(directory.path()), Some(note));
        erase(directory.path()).unwrap();
        assert_eq!(read(directory.path()), None);
        // Of the turn of the attempt before nothing holds for the next.
        write_stopped(directory.path()).unwrap();
        assert!(is_stopped(directory.path()));
        write(directory.path(), note).unwrap();
        assert!(!is_stopped(directory.path()));
    }
}
