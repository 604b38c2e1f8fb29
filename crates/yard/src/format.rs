//! Which form the state directory has: a number in its file `format`, beside the version that wrote it.
//!
//! A version reads the forms from [`OLDEST`] to [`FORMAT`] and refuses any other, before it touches anything.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use ptyard_core::ErrorCode;
use ptyard_terminal::{Outlives, replace_file};

use crate::error::YardError;
use crate::state::unwritable;

/// The form this version writes. Any change that the version before could not read changes it.
pub(crate) const FORMAT: u32 = 1;

/// The oldest form this version reads.
pub(crate) const OLDEST: u32 = 1;

const VERSION: &str = env!("CARGO_PKG_VERSION");

fn file(root: &Path) -> PathBuf {
    root.join("format")
}

/// The form of a directory; `None` when it has none yet.
pub(crate) fn check(root: &Path) -> Result<Option<u32>, YardError> {
    let text = match fs::read_to_string(file(root)) {
        Ok(text) => text,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(unwritable(&file(root), &error)),
    };
    let mut words = text.split_whitespace();
    let number = words.next().and_then(|word| word.parse::<u32>().ok());
    match number {
        // A file that was being written when the disk was full, or the machine stopped.
        None if text.trim().is_empty() => Ok(None),
        Some(number) if (OLDEST..=FORMAT).contains(&number) => Ok(Some(number)),
        _ => {
            let theirs = words.next().unwrap_or("unknown");
            let message = format!(
                "{} has state of ptyard {theirs}, format {}; ptyard {VERSION} knows {OLDEST} to {FORMAT}",
                root.display(),
                text.split_whitespace().next().unwrap_or("unknown"),
            );
            Err(YardError::State { code: ErrorCode::IncompatibleState, message })
        }
    }
}

/// Says that the directory has this version's form now.
pub(crate) fn write(root: &Path) -> Result<(), YardError> {
    let text = format!("{FORMAT} {VERSION}\n");
    replace_file(&file(root), text.as_bytes(), Outlives::Process)
        .map_err(|error| unwritable(&file(root), &error))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_form_of_another_version_is_refused_with_both_versions() {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path();
        assert_eq!(check(root).unwrap(), None);
        write(root).unwrap();
        assert_eq!(check(root).unwrap(), Some(FORMAT));
        for other in
            [format!("{} 9.8.7\n", FORMAT + 1), format!("{} 0.0.1\n", OLDEST - 1), "what\n".to_owned()]
        {
            fs::write(file(root), &other).unwrap();
            let refused = check(root).unwrap_err();
            assert_eq!(refused.code(), ErrorCode::IncompatibleState);
            let text = refused.to_string();
            assert!(text.contains(VERSION), "{text}");
            assert!(other.split(' ').nth(1).is_none_or(|version| text.contains(version.trim())), "{text}");
        }
    }
}
