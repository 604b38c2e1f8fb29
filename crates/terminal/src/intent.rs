//! What was done to a program that may end it, written down beside its log: if the server dies on the way, the next one
//! still knows that the end was ours.

use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use ptyard_core::Limit;

use crate::actor::KilledBy;

const FILE: &str = "ending";

/// Everybody who kills, limits aside.
const KILLERS: [KilledBy; 4] = [KilledBy("kill"), KilledBy("prune"), KilledBy("stop"), KilledBy("remove")];

fn killers() -> impl Iterator<Item = KilledBy> {
    KILLERS.into_iter().chain(Limit::ALL.map(|limit| KilledBy(limit.by())))
}

/// What was done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Intent {
    /// Its tree is being killed.
    Kill(KilledBy),
    /// It was sent this signal.
    Signal(i32),
}

impl Intent {
    /// Writes it into the terminal's directory, in the place of the one before.
    pub(crate) fn note(&self, directory: &Path) -> io::Result<()> {
        let text = match self {
            Self::Kill(by) => by.0.to_owned(),
            Self::Signal(signal) => signal.to_string(),
        };
        let mut options = OpenOptions::new();
        options.write(true).create(true).truncate(true).mode(0o600);
        options.open(directory.join(FILE))?.write_all(text.as_bytes())
    }

    /// Reads it; `None` when nothing was done.
    pub(crate) fn of(directory: &Path) -> Option<Self> {
        let text = fs::read_to_string(directory.join(FILE)).ok()?;
        match text.parse() {
            Ok(signal) => Some(Self::Signal(signal)),
            Err(_) => killers().find(|by| by.0 == text).map(Self::Kill),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_intent_counts_and_none_is_none() {
        let directory = tempfile::tempdir().unwrap();
        assert_eq!(Intent::of(directory.path()), None);
        for intent in
            [Intent::Signal(15), Intent::Kill(KilledBy("stop")), Intent::Kill(KilledBy(Limit::Wall.by()))]
        {
            intent.note(directory.path()).unwrap();
            assert_eq!(Intent::of(directory.path()), Some(intent));
        }
    }
}
