//! Manifests in files.

use std::io;
use std::path::Path;

use super::Found;
use crate::manifest::Origin;

/// Largest file that is read, in bytes; a larger one is refused when it is parsed.
const MOST: u64 = 1 << 20;

/// The manifests of a directory, by file name: `ID.toml` each. A directory that is not there has none.
///
/// # Errors
///
/// When the directory or a file of it cannot be read.
pub fn read_directory(directory: &Path, origin: Origin) -> io::Result<Vec<Found>> {
    let entries = match std::fs::read_dir(directory) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(error),
    };
    let mut paths = entries.map(|entry| Ok(entry?.path())).collect::<io::Result<Vec<_>>>()?;
    paths.retain(|path| path.extension().is_some_and(|extension| extension == "toml"));
    paths.sort();
    paths.iter().map(|path| read_file(path, origin)).collect()
}

/// One manifest.
///
/// # Errors
///
/// When it cannot be read, or is no text.
pub fn read_file(path: &Path, origin: Origin) -> io::Result<Found> {
    use io::Read as _;
    let mut source = String::new();
    std::fs::File::open(path)?.take(MOST).read_to_string(&mut source)?;
    Ok(Found { place: path.display().to_string(), source, origin })
}

/// The id that a file's name says.
pub(super) fn id_of(place: &str) -> &str {
    let name = place.rsplit('/').next().unwrap_or(place);
    name.strip_suffix(".toml").unwrap_or(name)
}
