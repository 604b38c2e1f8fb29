//! Where profiles are found.

use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use serde::Serialize;

use super::{BUILT_IN, MOST_BYTES, Notice, Parsed, ProfileError, ProfileName, parse};

/// Most files that are looked at in one directory.
const MOST_FILES: usize = 1_000;

/// Where a profile came from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Origin {
    /// It is part of the program.
    BuiltIn,
    /// This file.
    File(PathBuf),
}

/// A profile that was looked for.
#[derive(Debug, Clone, PartialEq)]
pub struct Found {
    /// It.
    pub parsed: Parsed,
    /// Where it came from.
    pub origin: Origin,
}

/// One line of a list of profiles.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Listed {
    /// Its name; the file's when it cannot be read.
    pub name: String,
    /// What it is for.
    pub description: String,
    /// The provider it wants.
    pub provider: Option<String>,
    /// Where it is.
    pub origin: Origin,
    /// Why it cannot be used.
    pub error: Option<String>,
    /// What its reader should know.
    pub notices: Vec<Notice>,
    /// A file of the same name comes first.
    pub shadowed: bool,
}

/// Why a profile was not found.
#[derive(Debug, thiserror::Error)]
pub enum LibraryError {
    /// No place has one of this name.
    #[error("there is no profile {name:?}; there are: {}", known.join(", "))]
    Unknown {
        /// The name.
        name: String,
        /// The names there are.
        known: Vec<String>,
    },
    /// There is one, and it cannot be used.
    #[error("{}: {error}", path.display())]
    Broken {
        /// The file.
        path: PathBuf,
        /// Why.
        error: ProfileError,
    },
}

/// The places where profiles are, the first one wins; the built-in ones come last.
#[derive(Debug, Clone, Default)]
pub struct Library {
    directories: Vec<PathBuf>,
}

/// A file that ends like a profile.
struct Candidate {
    stem: String,
    path: PathBuf,
}

impl Library {
    /// The places in their order: the directories of `PTYARD_PROFILES`, the state directory's own, the project's.
    /// `variable` is the value of `PTYARD_PROFILES`, `project` the directory the work is in.
    #[must_use]
    pub fn of(variable: Option<&OsStr>, state: &Path, project: Option<&Path>) -> Self {
        let named = variable.map(std::env::split_paths).into_iter().flatten();
        let named = named.filter(|path| !path.as_os_str().is_empty());
        let own = [state.join("profiles")];
        let project = project.map(|project| project.join(".ptyard/profiles"));
        Self { directories: named.chain(own).chain(project).collect() }
    }

    /// The profile of this name or alias.
    ///
    /// # Errors
    /// When there is none, or the one there is cannot be used: a broken file is never passed over for one behind it.
    pub fn find(&self, name: &str) -> Result<Found, LibraryError> {
        for candidate in self.directories.iter().flat_map(|directory| candidates(directory)) {
            match read(&candidate) {
                Ok(parsed) if answers(&parsed, name) => {
                    return Ok(Found { parsed, origin: Origin::File(candidate.path) });
                }
                Err(error) if candidate.stem == name => {
                    return Err(LibraryError::Broken { path: candidate.path, error });
                }
                Ok(_) | Err(_) => {}
            }
        }
        let built_in = built_in().find(|parsed| answers(parsed, name));
        built_in.map(|parsed| Found { parsed, origin: Origin::BuiltIn }).ok_or_else(|| {
            LibraryError::Unknown {
                name: name.to_owned(),
                known: self
                    .list()
                    .into_iter()
                    .filter(|listed| listed.error.is_none())
                    .map(|listed| listed.name)
                    .collect(),
            }
        })
    }

    /// All profiles, in the order in which they win.
    #[must_use]
    pub fn list(&self) -> Vec<Listed> {
        let files = self.directories.iter().flat_map(|directory| candidates(directory)).map(|candidate| {
            let origin = Origin::File(candidate.path.clone());
            match read(&candidate) {
                Ok(parsed) => listed(parsed, origin),
                Err(error) => Listed {
                    name: candidate.stem,
                    description: String::new(),
                    provider: None,
                    origin,
                    error: Some(error.to_string()),
                    notices: Vec::new(),
                    shadowed: false,
                },
            }
        });
        let mut all: Vec<Listed> =
            files.chain(built_in().map(|parsed| listed(parsed, Origin::BuiltIn))).collect();
        for at in 1..all.len() {
            all[at].shadowed = all[..at].iter().any(|before| before.name == all[at].name);
        }
        all
    }
}

fn built_in() -> impl Iterator<Item = Parsed> {
    BUILT_IN.iter().filter_map(|(stem, text)| parse(text, Some(stem)).ok())
}

fn answers(parsed: &Parsed, name: &str) -> bool {
    let profile = &parsed.profile;
    std::iter::once(&profile.name).chain(&profile.aliases).any(|known: &ProfileName| known.as_str() == name)
}

fn listed(parsed: Parsed, origin: Origin) -> Listed {
    let Parsed { profile, notices } = parsed;
    Listed {
        name: profile.name.to_string(),
        description: profile.description,
        provider: profile.provider,
        origin,
        error: None,
        notices,
        shadowed: false,
    }
}

/// `NAME.md` and `NAME/agent.md` of a directory, by name. A directory that is not there has none.
fn candidates(directory: &Path) -> Vec<Candidate> {
    let entries = std::fs::read_dir(directory).into_iter().flatten().flatten().take(MOST_FILES);
    let mut candidates: Vec<Candidate> = entries
        .filter_map(|entry| {
            let path = entry.path();
            if path.extension().is_some_and(|ending| ending == "md") {
                Some(Candidate { stem: path.file_stem()?.to_str()?.to_owned(), path })
            } else {
                let (stem, path) = (path.file_name()?.to_str()?.to_owned(), path.join("agent.md"));
                path.is_file().then_some(Candidate { stem, path })
            }
        })
        .collect();
    candidates.sort_by(|a, b| a.path.cmp(&b.path));
    candidates
}

fn read(candidate: &Candidate) -> Result<Parsed, ProfileError> {
    let unreadable = |error: io::Error| ProfileError::Yaml { line: 1, message: error.to_string() };
    let mut bytes = Vec::new();
    let file = File::open(&candidate.path).map_err(unreadable)?;
    file.take(MOST_BYTES as u64 + 1).read_to_end(&mut bytes).map_err(unreadable)?;
    parse(&String::from_utf8_lossy(&bytes), Some(&candidate.stem))
}
