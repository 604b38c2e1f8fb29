//! Other programs' configuration files: read, and replaced as a whole or not at all.

use std::ffi::OsString;
use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use ptyard_core::ErrorCode;

use crate::failure::Failure;

/// Why a file cannot be edited.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Uneditable {
    /// It is not what the program itself could read.
    #[error("it is not {language}: {why}")]
    Unreadable { language: &'static str, why: String },
    /// Something else stands where entries belong.
    #[error("`{key}` in it is not a table of {what}")]
    Shape { key: String, what: &'static str },
    /// The program reads one of them, and nobody knows which.
    #[error("`{key}` stands in it twice")]
    Twice { key: String },
}

/// A variable of the environment that names a directory; an empty one names none.
pub(crate) fn variable(name: &str) -> Option<PathBuf> {
    std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from)
}

/// The home directory of this user.
pub(crate) fn home() -> Result<PathBuf, Failure> {
    variable("HOME").ok_or_else(|| Failure::new(ErrorCode::InvalidArgument, "HOME is not set").with_hint(""))
}

/// The path of this program, as text for a file.
pub(crate) fn this_program() -> Result<PathBuf, Failure> {
    std::env::current_exe().map_err(|error| Failure::new(ErrorCode::Internal, error.to_string()))
}

/// A path or a word, as text for a file.
pub(crate) fn utf8(word: impl Into<OsString>) -> Result<String, Failure> {
    word.into().into_string().map_err(|word| {
        Failure::new(ErrorCode::InvalidArgument, format!("{} is no UTF-8 path", word.display()))
    })
}

/// The file itself: where configurations are links into a repository, what stands behind the link is meant.
pub(crate) fn itself(file: PathBuf) -> PathBuf {
    fs::canonicalize(&file).unwrap_or(file)
}

/// What a file holds; nothing when there is none.
pub(crate) fn read(file: &Path) -> Result<String, Failure> {
    match fs::read_to_string(file) {
        Ok(text) => Ok(text),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(String::new()),
        Err(error) => Err(failed("read", file, &error)),
    }
}

/// Puts `text` in the place of a file: all of it or nothing.
pub(crate) fn replace(file: &Path, text: &str) -> Result<(), Failure> {
    written(file, text).map_err(|error| failed("write", file, &error))
}

/// Removes a file.
pub(crate) fn remove(file: &Path) -> Result<(), Failure> {
    fs::remove_file(file).map_err(|error| failed("remove", file, &error))
}

fn written(file: &Path, text: &str) -> io::Result<()> {
    let dir = file.parent().ok_or(io::ErrorKind::InvalidInput)?;
    fs::create_dir_all(dir)?;
    let mut new = tempfile::NamedTempFile::new_in(dir)?;
    new.write_all(text.as_bytes())?;
    if let Ok(found) = fs::metadata(file) {
        new.as_file().set_permissions(found.permissions())?;
    }
    new.as_file().sync_all()?;
    new.persist(file)?;
    Ok(())
}

fn failed(what: &str, file: &Path, error: &io::Error) -> Failure {
    Failure::new(ErrorCode::InvalidArgument, format!("cannot {what} {}: {error}", file.display()))
        .with_hint("the file is as it was")
}
