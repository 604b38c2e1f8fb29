//! Since when a program was idle, written down beside its log, so that a server that starts anew need not count from zero.
//!
//! Not written for every byte. A note says: at this moment the log ended here, and nothing was typed since. It holds as
//! long as the log still ends there; whoever types takes it back first.

use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::time::Duration;

const FILE: &str = "idle";

/// A program was idle from here on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct IdleSince {
    /// The time since the machine booted, as [`Clock::since_boot`](crate::Clock::since_boot) counts it.
    pub(crate) since_boot: Duration,
    /// The end of the log then.
    pub(crate) end: u64,
}

impl IdleSince {
    /// Writes it into the terminal's directory, in the place of the one before.
    pub(crate) fn note(self, directory: &Path) -> io::Result<()> {
        let mut options = OpenOptions::new();
        options.write(true).create(true).truncate(true).mode(0o600);
        let text = format!("{} {}", self.since_boot.as_nanos(), self.end);
        options.open(directory.join(FILE))?.write_all(text.as_bytes())
    }

    /// Takes the note back: something is about to be typed.
    pub(crate) fn forget(directory: &Path) -> io::Result<()> {
        match fs::remove_file(directory.join(FILE)) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            _ => Ok(()),
        }
    }

    /// Reads it; `None` when nothing is known.
    pub(crate) fn of(directory: &Path) -> Option<Self> {
        let text = fs::read_to_string(directory.join(FILE)).ok()?;
        let (nanos, end) = text.split_once(' ')?;
        Some(Self { since_boot: Duration::from_nanos(nanos.parse().ok()?), end: end.parse().ok()? })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_note_comes_back_until_it_is_forgotten() {
        let directory = tempfile::tempdir().unwrap();
        assert_eq!(IdleSince::of(directory.path()), None);
        IdleSince::forget(directory.path()).unwrap();
        for end in [0, u64::MAX] {
            let since = IdleSince { since_boot: Duration::from_nanos(123_456_789_012), end };
            since.note(directory.path()).unwrap();
            assert_eq!(IdleSince::of(directory.path()), Some(since));
        }
        IdleSince::forget(directory.path()).unwrap();
        assert_eq!(IdleSince::of(directory.path()), None);
    }
}
